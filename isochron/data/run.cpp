#include "isochron/data/run.h"

#include <time.h>

#include <exception>

#include "isochron/base/clock.h"
#include "isochron/data/parallel.h"

namespace isochron::data {
namespace {

// Calls shorter than this are timed only now and then; longer than the second also by the CPU they burn.
constexpr int64_t kShortNs = 1'000, kLongNs = 50'000;
constexpr int64_t kSparse = 31;

int64_t thread_cpu_ns() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

void StageCounters::fold(const StageCounters& other) {
  for (auto member :
       {&StageCounters::elements, &StageCounters::busy_ns, &StageCounters::cpu_ns, &StageCounters::cpu_measured_ns,
        &StageCounters::bytes, &StageCounters::skipped, &StageCounters::retried})
    add(this->*member, (other.*member).load(std::memory_order_relaxed));
}

Worker::Worker(Run& run) : run_(run), counters_(static_cast<size_t>(run.stages())) {
  std::lock_guard lock(run.mutex_);
  run.workers_.push_back(this);
}

Worker::~Worker() {
  std::lock_guard lock(run_.mutex_);
  run_.workers_.remove(this);
  if (run_.gone_.empty()) run_.gone_ = std::vector<StageCounters>(counters_.size());
  for (size_t i = 0; i < counters_.size(); ++i) run_.gone_[i].fold(counters_[i]);
}

int Run::add(const Stage& stage) {
  if (options.nested && !names_.empty()) return 0;
  names_.push_back(stage.describe());
  return static_cast<int>(names_.size()) - 1;
}

std::unique_ptr<Stream> Run::stream(const StagePtr& stage) {
  if (!stage->is_indexed()) return stage->stream(*this);
  return walk(*this, stage);
}

StageCounters Run::totals(int stage) {
  StageCounters sum;
  std::lock_guard lock(mutex_);
  if (!gone_.empty()) sum.fold(gone_[static_cast<size_t>(stage)]);
  for (Worker* worker : workers_) sum.fold(worker->counters(stage));
  return sum;
}

Fault Run::fault_of(const Worker& worker, std::exception_ptr error) const {
  Fault fault;
  fault.stage = worker.failed_stage >= 0 ? name(worker.failed_stage) : "";
  fault.element = worker.failed_element;
  fault.file = worker.failed_file;
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    fault.message = e.what();
  } catch (...) {
    fault.message = "an exception that is no std::exception";
  }
  return fault;
}

UserCode::UserCode(Worker& worker, int stage, int64_t element)
    : worker_(worker),
      counters_(worker.counters(stage)),
      stage_(stage),
      before_(worker.stage.load(std::memory_order_relaxed)),
      element_(element),
      exceptions_(std::uncaught_exceptions()) {
  worker.element.store(element, std::memory_order_relaxed);
  worker.stage.store(stage, std::memory_order_relaxed);
  if ((counters_.calls++ & counters_.mask) != 0) return;
  if (counters_.slow) cpu_ns_ = thread_cpu_ns();
  begin_ns_ = monotonic_ns();
}

UserCode::~UserCode() {
  worker_.stage.store(before_, std::memory_order_relaxed);
  add(counters_.elements, 1);
  if (begin_ns_) {
    const int64_t took = monotonic_ns() - begin_ns_;
    add(counters_.busy_ns, took * (counters_.mask + 1));
    const bool slow = took > kLongNs;
    if (slow && cpu_ns_) {
      add(counters_.cpu_ns, thread_cpu_ns() - cpu_ns_);
      add(counters_.cpu_measured_ns, took);
    }
    counters_.slow = slow;
    counters_.mask = took < kShortNs ? kSparse : 0;
  }
  if (std::uncaught_exceptions() > exceptions_ && worker_.failed_stage < 0) {
    worker_.failed_stage = stage_;
    worker_.failed_element = element_;
  }
}

}  // namespace isochron::data
