#include "isochron/data/run.h"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "isochron/base/clock.h"
#include "isochron/base/native_stack.h"
#include "isochron/base/thread_clock.h"
#include "isochron/data/parallel.h"

namespace isochron::data {
namespace {

// Calls shorter than this are timed only now and then; longer than the second also by the CPU they burn.
constexpr int64_t kShortNs = 1'000, kLongNs = 50'000;
constexpr int64_t kSparse = 31;

}  // namespace

void StageCounters::fold(const StageCounters& other) {
  for (auto member : {&StageCounters::elements, &StageCounters::busy_ns, &StageCounters::cpu_ns,
                      &StageCounters::cpu_measured_ns, &StageCounters::bytes, &StageCounters::skipped,
                      &StageCounters::retried, &StageCounters::disk_bytes, &StageCounters::major_faults})
    add(this->*member, (other.*member).load(std::memory_order_relaxed));
}

Worker::Worker(Run& run, bool is_consumer)
    : thread_id(this_thread_id()),
      consumer(is_consumer),
      run_(run.root()),
      counters_(static_cast<size_t>(run.stages())) {
  note_disk_reads();
  std::lock_guard lock(run_.mutex_);
  run_.workers_.push_back(this);
}

bool Worker::unwanted() const { return run_.ended_.load(std::memory_order_relaxed); }

void Worker::begin_pass() {
  thread_id.store(this_thread_id(), std::memory_order_relaxed);
  read_in_thread_ = 0;  // what it read before is none of ours
  note_disk_reads();
}

void Worker::note_disk_reads() {
  const DiskReads now = disk_reads_of_this_thread(), more = now - std::exchange(disk_seen_, now);
  // A pass may be handed to another thread, whose figures have nothing to do with those of the one before.
  const int thread = this_thread_id();
  if (std::exchange(read_in_thread_, thread) != thread || counters_.empty()) return;
  // Rows copied out of mapped files run no code of their source, which is the first stage then.
  StageCounters& reader = counters(std::max(0, last_stage_));
  add(reader.disk_bytes, more.bytes);
  add(reader.major_faults, more.major_faults);
}

Worker::~Worker() {
  std::lock_guard lock(run_.mutex_);
  run_.workers_.remove(this);
  if (run_.gone_.empty()) run_.gone_ = std::vector<StageCounters>(counters_.size());
  for (size_t i = 0; i < counters_.size(); ++i) run_.gone_[i].fold(counters_[i]);
}

StageId Run::add(const Stage& stage) {
  const uint64_t seed = element_seed(seed_, 0, ++added_);
  if (parent_) return {stage_, seed};
  names_.push_back(stage.describe());
  return {static_cast<int>(names_.size()) - 1, seed};
}

std::unique_ptr<Stream> Run::stream(const StagePtr& stage) {
  if (!stage->is_indexed()) return stage->stream(*this);
  return walk(*this, stage);
}

std::unique_ptr<Indexed> Run::indexed_for_one_thread(const StagePtr& stage) {
  one_thread_ = true;
  std::unique_ptr<Indexed> made = stage->indexed(*this);
  one_thread_ = false;
  return made;
}

StageCounters Run::totals(int stage) {
  StageCounters sum;
  std::lock_guard lock(mutex_);
  if (!gone_.empty()) sum.fold(gone_[static_cast<size_t>(stage)]);
  for (Worker* worker : workers_) sum.fold(worker->counters(stage));
  return sum;
}

Fault Run::fault_of(Worker& worker, std::exception_ptr error) const {
  Fault fault;
  const int stage = std::exchange(worker.failed_stage, -1);
  const std::string inner = stage < 0 ? last_fault().message : "";
  fault.stage = stage >= 0 ? name(stage) : "";
  fault.element = std::exchange(worker.failed_element, -1);
  fault.file = std::exchange(worker.failed_file, {});
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    fault.message = e.what();
  } catch (...) {
    fault.message = "an exception that is no std::exception";
  }
  // It came through threads of another group, which knew more.
  if (stage < 0 && !inner.empty() && inner == fault.message) return last_fault();
  return fault;
}

void Run::watch(AheadProbe* probe) {
  if (parent_) return;
  std::lock_guard lock(mutex_);
  probes_.push_back(probe);
}
void Run::unwatch(AheadProbe* probe) {
  if (parent_) return;
  std::lock_guard lock(mutex_);
  std::erase(probes_, probe);
}
std::vector<AheadReport> Run::ahead() {
  std::vector<AheadReport> reports;
  std::lock_guard lock(mutex_);
  for (AheadProbe* probe : probes_) reports.push_back(probe->report());
  return reports;
}

Tuning Run::tuning(const std::string& name) const {
  const auto found = tunings.find(name);
  return found == tunings.end() ? Tuning{} : found->second;
}
void Run::learn(const std::string& name, const Tuning& tuning) { learnt[name] = tuning; }

namespace {
struct ThreadFault {
  Fault fault;
  int64_t count = 0;
};
ThreadFault& fault_of_this_thread() {
  thread_local ThreadFault fault;
  return fault;
}
}  // namespace
const Fault& last_fault() { return fault_of_this_thread().fault; }
int64_t fault_count() { return fault_of_this_thread().count; }
void set_last_fault(Fault fault) {
  ++fault_of_this_thread().count;
  fault_of_this_thread().fault = std::move(fault);
}

void UserCode::begin_timing() {
  stands_for_ = counters_.calls - std::exchange(counters_.told, counters_.calls);
  if (counters_.slow) cpu_ns_ = thread_cpu_ns();
  begin_ns_ = monotonic_ns();
  worker_.since_ns.store(begin_ns_, std::memory_order_relaxed);
}

void UserCode::end_timing() {
  const int64_t took = monotonic_ns() - begin_ns_;
  add(counters_.busy_ns, took * stands_for_);
  const bool slow = took > kLongNs;
  worker_.last_stage_ = stage_;
  if (slow) worker_.note_disk_reads();  // who reads from a disk is slow
  if (slow && cpu_ns_) {
    add(counters_.cpu_ns, thread_cpu_ns() - cpu_ns_);
    add(counters_.cpu_measured_ns, took);
  }
  counters_.slow = slow;
  counters_.mask = took < kShortNs ? kSparse : 0;
}

void UserCode::note_exception() {
  if (std::uncaught_exceptions() <= worker_.exceptions || worker_.failed_stage >= 0) return;
  worker_.failed_stage = stage_;
  worker_.failed_element = element_;
}

}  // namespace isochron::data
