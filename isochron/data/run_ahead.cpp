#include "isochron/data/run_ahead.h"

#include <fcntl.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>

#include "isochron/base/clock.h"
#include "isochron/base/interrupt.h"
#include "isochron/base/log.h"
#include "isochron/base/memory_info.h"
#include "isochron/base/signals_blocked.h"
#include "isochron/base/thread_clock.h"
#include "isochron/base/threads.h"
#include "isochron/timeline/timeline.h"

namespace isochron::data {
namespace {

constexpr int64_t kChunkNs = 100'000;    // a claim should be worth its lock
constexpr int64_t kHelpNs = 1'000'000;   // the consumer does not start what takes longer
constexpr int64_t kAheadNs = 1'000'000;  // cheap elements: so much work lies ready
constexpr int64_t kMostSlots = 256;
constexpr int64_t kAssumedBytes = int64_t{4} << 20;  // of a slot, before the first one tells how large they are
constexpr int64_t kUsualBytes = int64_t{32} << 20;   // of slots, unless threads sleep
constexpr int kThreadsAsked = 8;                     // at most, for what they do
constexpr int64_t kSecond = 1'000'000'000;

int64_t cpu_of(pthread_t thread) {
  clockid_t clock;
  timespec t;
  if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &t) != 0) return 0;
  return t.tv_sec * kSecond + t.tv_nsec;
}

// Whether a thread sleeps or waits for a device. One that is ready and gets no CPU does neither.
bool asleep(int thread_id) {
  const int file = open(fmt::format("/proc/self/task/{}/stat", thread_id).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;
  std::array<char, 128> text;
  const ssize_t bytes = read(file, text.data(), text.size());
  close(file);
  const std::string_view stat(text.data(), static_cast<size_t>(std::max<ssize_t>(bytes, 0)));
  const size_t name_end = stat.rfind(')');
  return name_end == stat.npos || name_end + 2 >= stat.size() || stat[name_end + 2] != 'R';
}

// Slots of threads that sleep may hold a sixteenth of what this process may still take.
int64_t memory_budget() {
  static const int64_t budget = std::max<int64_t>(available_memory_bytes() / 16, int64_t{16} << 20);
  return budget;
}

int64_t stuck_after_ns() {
  const char* text = std::getenv("ISOCHRON_STUCK_SECONDS");
  const double seconds = text ? std::atof(text) : 0;
  return static_cast<int64_t>((seconds > 0 ? seconds : 30) * 1e9);
}

}  // namespace

RunAhead::RunAhead(Run& run, RunAheadOptions options)
    : run_(run), options_(std::move(options)), cpus_(available_cpus()) {
  report_.name = options_.name;
  const Tuning learnt = run.tuning(options_.name);
  wanted_threads_ = std::clamp(learnt.threads > 0   ? learnt.threads
                               : options_.user_code ? cpus_
                                                    : 1,
                               1, options_.max_threads);
  part_ns_ = learnt.part_ns;
  window_ = options_.window > 0 ? options_.window : std::clamp<int64_t>(learnt.window, 4, kMostSlots);
  window_ = std::max<int64_t>(window_, wanted_threads_);
  run_.watch(this);
}

RunAhead::~RunAhead() {
  stop();
  run_.unwatch(this);
}

void RunAhead::stop() {
  {
    std::lock_guard lock(mutex_);
    if (!stopping_ && options_.user_code && report_.delivered > 0)
      run_.learn(options_.name, {wanted_threads_, window_, part_ns_.load()});
    stopping_ = true;
  }
  threads_wake_.notify_all();
  for (const auto& thread : threads_)
    if (thread->thread.joinable()) thread->thread.join();
}

RunAhead::Quiet::Quiet(RunAhead& ahead) : ahead_(ahead), lock_(ahead.mutex_) {
  ++ahead.paused_;
  try {
    while (!ahead.quiet_.wait_for(lock_, std::chrono::milliseconds(100), [&] { return ahead.active_ == 0; }))
      check_interrupt("pipeline");
  } catch (...) {
    --ahead.paused_;
    throw;
  }
}

RunAhead::Quiet::~Quiet() {
  --ahead_.paused_;
  lock_.unlock();
  ahead_.threads_wake_.notify_all();
}

void RunAhead::add_threads(int count) {
  const SignalsBlocked signals;
  for (int i = 0; i < count; ++i) {
    auto fresh = std::make_unique<Thread>();
    Thread* self = fresh.get();
    try {
      threads_.reserve(threads_.size() + 1);
      // Waits for the lock, which is held here, before it touches anything.
      self->thread = std::thread([this, self] { thread_main(*self); });
    } catch (const std::system_error&) {
      break;  // no more to be had: go on with the ones there are
    }
    pthread_setname_np(self->thread.native_handle(), "isochron-data");
    threads_.push_back(std::move(fresh));
  }
}

void RunAhead::thread_main(Thread& self) {
  Worker worker(run_);
  // Ops in user code run in this thread alone: the team of the engine belongs to training.
  ThreadTeam::global().parallel(1, [&](int, int) {
    std::unique_lock lock(mutex_);
    self.worker = &worker;
    while (!stopping_) {
      Job job = paused_ || active_ >= wanted_threads_ ? Job{} : claim();
      if (!job) {
        ++idle_;
        threads_wake_.wait(lock);
        --idle_;
        continue;
      }
      ++active_;
      lock.unlock();
      const int64_t begin = monotonic_ns();
      worker.since_ns.store(begin, std::memory_order_relaxed);
      perform(job, worker);
      job = {};
      if (monotonic_ns() - begin > kChunkNs) worker.note_disk_reads();
      lock.lock();
      worker.since_ns.store(0, std::memory_order_relaxed);
      if (--active_ == 0 && paused_) quiet_.notify_all();
    }
    self.worker = nullptr;
  });
}

int64_t RunAhead::chunk(int64_t parts) const {
  const int64_t cost = part_ns_.load(std::memory_order_relaxed);
  if (cost == 0) return options_.user_code ? 1 : parts;
  return std::clamp<int64_t>(kChunkNs / cost, 1, parts);
}

namespace {
void smooth(std::atomic<int64_t>& cost, int64_t fresh) {
  const int64_t before = cost.load(std::memory_order_relaxed);
  cost.store(std::max<int64_t>(1, before == 0 ? fresh : before + (fresh - before) / 4), std::memory_order_relaxed);
}
}  // namespace
void RunAhead::note_cost(int64_t part_ns) { smooth(part_ns_, part_ns); }
void RunAhead::note_completion(int64_t ns) { smooth(complete_ns_, ns); }

bool RunAhead::consumer_may_help() const {
  if (!options_.user_code) return true;
  if (stoppable_thread() || !next_job_is_near()) return false;
  const int64_t part = part_ns_.load(std::memory_order_relaxed), rest = complete_ns_.load(std::memory_order_relaxed);
  return part > 0 && rest > 0 && part + rest < kHelpNs;
}

// Further ahead the consumer could get stuck in an element that nobody needs yet, with finished ones before it.
bool RunAhead::next_job_is_near() const {
  constexpr size_t kNear = 2;
  if (ring_.size() < kNear) return true;
  return std::any_of(ring_.begin(), ring_.begin() + kNear,
                     [](const auto& slot) { return !slot->ready && slot->claimed < slot->parts; });
}

void RunAhead::wake_threads() {
  if (idle_ > 0) threads_wake_.notify_all();
}

bool RunAhead::finish(Job& job, std::exception_ptr error, Worker& worker) {
  std::lock_guard lock(mutex_);
  Slot& slot = *job.slot;
  if (error && !slot.error) {
    slot.fault = run_.fault_of(worker, error);
    slot.error = std::move(error);
  }
  slot.done += job.last - job.first;
  return slot.done == slot.parts;
}

void RunAhead::publish(const std::shared_ptr<Slot>& slot) {
  std::lock_guard lock(mutex_);
  slot->ready = true;
  if (!slot->end && !slot->error) {
    slot_bytes_ = std::max({slot_bytes_, slot->element.bytes(), int64_t{1}});
    if (options_.window < 0) {
      const int64_t cost = std::max<int64_t>(1, part_ns_.load(std::memory_order_relaxed) * slot->parts);
      window_ = std::max(window_, std::min(kAheadNs / cost, most_slots(false)));
      // What was learnt may be too much for these elements, or for the memory of this process.
      const int64_t least = std::min(wanted_threads_, cpus_) + 1;
      window_ = std::min(window_, std::max(memory_budget() / slot_bytes_, least));
    }
  }
  if (!ring_.empty() && (ring_.front() == slot || !options_.ordered)) consumer_wakes_.notify_one();
}

void RunAhead::begin(uint64_t epoch) {
  {
    std::lock_guard lock(mutex_);
    const bool goes_on = ended_ && options_.next_pass && epoch == epoch_ + 1 && !closed_ && report_.delivered > 0;
    epoch_ = epoch;
    delivered_ = 0;
    ended_ = false;
    if (goes_on) return;
    if (!needs_quiet_reset()) {
      ring_.clear();
      reset(epoch);
      threads_wake_.notify_all();
      return;
    }
  }
  Quiet still(*this);
  ring_.clear();
  reset(epoch);
}

std::shared_ptr<Slot> RunAhead::take_ready() {
  for (size_t i = 0; i < ring_.size(); ++i) {
    if (i > 0 && (options_.ordered || ring_[i]->epoch != epoch_ || ring_[i]->end)) break;
    if (!ring_[i]->ready) continue;
    std::shared_ptr<Slot> slot = std::move(ring_[i]);
    ring_.erase(ring_.begin() + static_cast<std::ptrdiff_t>(i));
    return slot;
  }
  return nullptr;
}

bool RunAhead::next(Worker& worker, Element& out) {
  std::unique_lock lock(mutex_);
  if (ended_) return false;
  std::shared_ptr<Slot> slot;
  int64_t waiting_since = 0;
  while (!(slot = take_ready())) {
    if (static_cast<int>(threads_.size()) < wanted_threads_)
      add_threads(wanted_threads_ - static_cast<int>(threads_.size()));
    if (consumer_may_help()) {
      if (Job job = claim()) {
        ++active_;
        lock.unlock();
        perform(job, worker);
        lock.lock();
        --active_;
        continue;
      }
    }
    const int64_t now = monotonic_ns();
    if (!waiting_since) {
      waiting_since = last_tune_ns_ = now;
      waiting_for_.store(delivered_, std::memory_order_relaxed);
      waiting_thread_.store(worker.thread_id.load(std::memory_order_relaxed), std::memory_order_relaxed);
      waiting_since_ns_.store(now, std::memory_order_release);
    }
    // Threads went to sleep while this one helped, and it helps no more: what it does has become too slow for that.
    if (active_ == 0) wake_threads();
    if (consumer_wakes_.wait_for(lock, std::chrono::milliseconds(1)) == std::cv_status::timeout)
      tune(monotonic_ns() - waiting_since);
    check_interrupt("input");  // leaves what is waited for in pipeline_activity(): it goes on to be made
  }
  if (waiting_since) {
    waiting_since_ns_.store(0, std::memory_order_relaxed);
    report_.wait_ns += monotonic_ns() - waiting_since;
    ++report_.waits;
    next_warning_ns_ = 0;
  }
  // One call wakes the threads for several slots: when the window has half run dry.
  if (static_cast<int64_t>(ring_.size()) <= window_ / 2) wake_threads();
  if (slot->end) {
    ended_ = true;
    return false;
  }
  ++delivered_;
  ++report_.delivered;
  int64_t ready = 0;
  for (const auto& other : ring_) ready += other->ready;
  report_.depth_sum += ready;
  if (slot->error) {
    set_last_fault(slot->fault);
    std::rethrow_exception(std::exchange(slot->error, nullptr));
  }
  out = std::move(slot->element);
  return true;
}

void RunAhead::tune(int64_t waited_ns) {
  const int64_t now = monotonic_ns();
  const int64_t wall = now - std::exchange(last_tune_ns_, now);
  int asked = 0, sleeping = 0;
  for (const auto& thread : threads_) {
    const int64_t used = cpu_of(thread->thread.native_handle());
    const int64_t cpu = used - std::exchange(thread->cpu_seen_ns, used);
    if (asked == kThreadsAsked || !thread->worker || thread->worker->since_ns == 0) continue;
    ++asked;
    sleeping += cpu * 2 < wall && asleep(thread->worker->thread_id);
  }
  if (waited_ns > stuck_after_ns()) tell_stuck(waited_ns);
  if (asked == 0 || waited_ns < wall + wall / 2) return;  // the first reading only sets the marks
  // Twice in a row: everybody waits for a lock or a page now and then.
  asleep_before_ = sleeping * 2 > asked ? asleep_before_ + 1 : 0;
  report_.sleeping = asleep_before_ >= 2;
  if (asleep_before_ == 1) return;
  if (active_ < wanted_threads_) {
    // Threads have nothing to claim: the oldest slot takes long, and the window is full behind it.
    if (window_full() && options_.window < 0) window_ = std::max(window_, most_slots(report_.sleeping, window_ * 2));
  } else {
    const int most = std::min(cpus_, options_.max_threads);
    if (report_.sleeping)
      wanted_threads_ = std::min(wanted_threads_ * 2, options_.max_threads);
    else
      wanted_threads_ = wanted_threads_ < most ? wanted_threads_ + 1 : std::max(most, wanted_threads_ * 3 / 4);
    window_ = std::max(window_, most_slots(report_.sleeping, wanted_threads_ + 1));
    if (const int missing = wanted_threads_ - static_cast<int>(threads_.size()); missing > 0) add_threads(missing);
  }
  wake_threads();
}

int64_t RunAhead::most_slots(bool sleeping, int64_t wanted) const {
  const int64_t bytes = slot_bytes_ > 0 ? slot_bytes_ : kAssumedBytes;
  const int64_t most = sleeping ? std::min(kMostSlots, memory_budget() / bytes)
                                : std::max<int64_t>(std::min<int64_t>(64, kUsualBytes / bytes), wanted_threads_ + 1);
  return std::min(wanted, most);
}

void RunAhead::tell_stuck(int64_t waited_ns) {
  if (waited_ns < next_warning_ns_) return;
  next_warning_ns_ = waited_ns * 2;
  const auto since = [](const Worker& worker) { return worker.since_ns.load(std::memory_order_relaxed); };
  const Worker* oldest = nullptr;
  for (const auto& thread : threads_)
    if (const Worker* worker = thread->worker; worker && since(*worker) && (!oldest || since(*worker) < since(*oldest)))
      oldest = worker;
  if (!oldest) return;
  const int stage = oldest->stage.load(std::memory_order_relaxed);
  report_.stuck = Activity{.stage = stage >= 0 ? run_.name(stage) : options_.name,
                           .element = oldest->element.load(std::memory_order_relaxed),
                           .seconds = seconds_between(since(*oldest), monotonic_ns()),
                           .thread_id = oldest->thread_id.load(std::memory_order_relaxed)}
                      .to_string();
  // Where a watchdog looks on, it tells.
  if (!watched_thread()) log_line(LogLevel::warning, "input", "the pipeline waits: " + report_.stuck);
  if (Timeline* timeline = Timeline::current()) timeline->fact("input.stuck", report_.stuck, "pipeline");
}

void RunAhead::save(StateWriter& state) {
  std::optional<Quiet> still;
  std::unique_lock lock(mutex_, std::defer_lock);
  if (needs_quiet_reset())
    still.emplace(*this);
  else
    lock.lock();  // numbers are enough: nobody has to wait for elements that are being made
  state.put(epoch_);
  state.put(delivered_);
  state.put(ended_);
  save_ring(state);
}

void RunAhead::restore(StateReader& state) {
  Quiet still(*this);
  epoch_ = state.get<uint64_t>();
  delivered_ = state.get_count(most_delivered());
  ended_ = state.get<bool>();
  ring_.clear();
  restore_ring(state);
}

AheadProbe::Waiting RunAhead::waiting() {
  const int64_t since = waiting_since_ns_.load(std::memory_order_acquire);
  return {options_.name, since, waiting_for_.load(std::memory_order_relaxed),
          waiting_thread_.load(std::memory_order_relaxed)};
}

AheadReport RunAhead::report() {
  std::lock_guard lock(mutex_);
  AheadReport out = report_;
  out.threads = static_cast<int>(threads_.size());
  out.window = window_;
  out.slot_bytes = slot_bytes_;
  for (const auto& thread : threads_) {
    out.cpu_ns += cpu_of(thread->thread.native_handle());
    if (thread->worker) out.delay_ns += run_delay_ns(thread->worker->thread_id);
  }
  return out;
}

}  // namespace isochron::data
