#include "isochron/base/threads.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "isochron/base/cgroup.h"
#include "isochron/base/clock.h"
#include "isochron/base/error.h"
#include "isochron/base/flush_denormals.h"
#include "isochron/base/signals_blocked.h"
#include "isochron/base/thread_signal.h"

namespace isochron {
namespace {

constexpr int kMaxThreads = 1024;
// Longer than the serial gaps inside a step, shorter than anyone else on the machine would notice.
constexpr int64_t kSpinNs = 70'000;
// With more threads than CPUs the one waited for may need this very CPU.
constexpr int64_t kCrowdedSpinNs = 1'000;
// No more often than the scheduler itself would move threads.
constexpr int64_t kPartedNs = 4'000'000;

using Body = void (*)(void* context, int thread, int threads);

// One cache line carries a job to one worker.
struct alignas(64) Mailbox {
  ThreadSignal ticket;  // counts jobs
  int threads = 0, caller_cpu = -1;
  Body body = nullptr;  // nullptr: stop
  void* context = nullptr;
  int64_t parted_ns = 0;  // when the worker last moved away from its caller
};

class Workers {
 public:
  std::mutex in_use;  // held during a run and a resize

  void run(int threads, Body body, void* context);
  int ensure(int workers);
  void shrink(int workers);
  int64_t barrier(bool leave);

 private:
  struct Worker {
    Mailbox mail;
    std::thread thread;
  };

  void post(Mailbox& mail, int threads, Body body, void* context, int caller_cpu = -1);
  void loop(Mailbox& mail, int thread);
  void part_from_caller(Mailbox& mail, int thread);
  void call(Body body, void* context, int thread, int threads) noexcept;

  std::vector<std::unique_ptr<Worker>> workers_;
  const int cpus_ = available_cpus();
  std::atomic<int64_t> spin_ns_{kSpinNs};
  std::exception_ptr error_;
  std::atomic<bool> failed_{false};

  struct alignas(64) {
    std::atomic<uint32_t> members;  // high half: threads still in the run; low half: those that arrived
    ThreadSignal phase;             // counts completed barriers
  } barrier_;
  struct alignas(64) {
    ThreadSignal signal;  // workers that have not finished
  } running_;
};

std::atomic<Workers*> g_workers{nullptr};
std::atomic<int> g_size{0};             // 0: not yet known
thread_local int t_threads_in_run = 0;  // 0: outside run()

void forget_workers_in_child() {
  // The parent's threads do not exist here, and its locks may be held: leave all of it behind.
  g_workers.store(nullptr);
  if (t_threads_in_run > 1) t_threads_in_run = 1;
}

Workers& workers() {
  Workers* existing = g_workers.load(std::memory_order_acquire);
  if (existing) return *existing;
  static const int registered = pthread_atfork(nullptr, nullptr, forget_workers_in_child);
  (void)registered;
  // Never destroyed: threads may wait in it until the process ends.
  auto fresh = std::make_unique<Workers>();
  if (g_workers.compare_exchange_strong(existing, fresh.get())) return *fresh.release();
  return *existing;
}

void check_size(const char* who, std::string_view given, int64_t threads) {
  if (threads < 1 || threads > kMaxThreads)
    fail<ValueError>(who, "the number of threads must be from 1 to {}, got {}", kMaxThreads, given);
}

int default_size() {
  const char* text = std::getenv("OMP_NUM_THREADS");
  if (!text || !*text) return std::min(available_cpus(), kMaxThreads);
  // OpenMP allows a list, one number per nesting level; the first is ours.
  const std::string_view first = std::string_view(text).substr(0, std::strcspn(text, ","));
  int64_t threads = 0;
  const auto [end, error] = std::from_chars(first.data(), first.data() + first.size(), threads);
  if (error != std::errc() || end != first.data() + first.size()) threads = 0;
  check_size("OMP_NUM_THREADS", fmt::format("\"{}\"", text), threads);
  return static_cast<int>(threads);
}

// Marks this thread as inside a run, with denormals flushed.
class InRun {
 public:
  explicit InRun(int threads) : before_(t_threads_in_run) { t_threads_in_run = threads; }
  ~InRun() { t_threads_in_run = before_; }

 private:
  FlushDenormals flush_;
  int before_;
};

void Workers::call(Body body, void* context, int thread, int threads) noexcept {
  try {
    InRun inside(threads);
    body(context, thread, threads);
  } catch (...) {
    if (!failed_.exchange(true)) error_ = std::current_exception();
    barrier(/*leave=*/true);  // or the others would wait for this thread for ever
  }
}

void Workers::post(Mailbox& mail, int threads, Body body, void* context, int caller_cpu) {
  mail.threads = threads;
  mail.caller_cpu = caller_cpu;
  mail.body = body;
  mail.context = context;
  mail.ticket.value.fetch_add(1);
  mail.ticket.wake();
}

// Moves this thread to a core of its own, counted from that of its maker or caller, and leaves it free to move. The
// scheduler likes to start a thread beside its maker, and then takes a tenth of a second to part two that both spin.
void move_apart(int other_cpu, int thread) {
  cpu_set_t allowed;
  if (other_cpu < 0 || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  if (thread >= CPU_COUNT(&allowed)) return;
  int cpu = other_cpu;
  for (int passed = 0; passed < thread;) {
    cpu = (cpu + 1) % CPU_SETSIZE;
    if (CPU_ISSET(cpu, &allowed)) ++passed;
  }
  cpu_set_t own;
  CPU_ZERO(&own);
  CPU_SET(cpu, &own);
  if (sched_setaffinity(0, sizeof own, &own) == 0) sched_setaffinity(0, sizeof allowed, &allowed);
}

// A thread that was woken while its CPU was busy for a moment may have come to the caller's, and would stay: each gives
// it up to the other again and again, so that both seem to sleep much.
void Workers::part_from_caller(Mailbox& mail, int thread) {
  if (sched_getcpu() != mail.caller_cpu || mail.threads > cpus_) return;
  const int64_t now = monotonic_ns();
  if (now < mail.parted_ns + kPartedNs) return;
  mail.parted_ns = now;
  move_apart(mail.caller_cpu, thread);
}

void Workers::loop(Mailbox& mail, int thread) {
  for (uint32_t done = 0;; ++done) {
    mail.ticket.wait([&](uint32_t ticket) { return ticket != done; }, spin_ns_);
    if (!mail.body) return;
    part_from_caller(mail, thread);
    call(mail.body, mail.context, thread, mail.threads);
    if (running_.signal.value.fetch_sub(1) == 1) running_.signal.wake();
  }
}

int Workers::ensure(int count) {
  if (static_cast<int>(workers_.size()) >= count) return count;
  const SignalsBlocked signals;
  const int maker_cpu = sched_getcpu();
  while (static_cast<int>(workers_.size()) < count) {
    const int thread = static_cast<int>(workers_.size()) + 1;
    auto worker = std::make_unique<Worker>();
    Mailbox* mail = &worker->mail;
    try {
      workers_.reserve(workers_.size() + 1);
      worker->thread = std::thread([this, mail, thread, maker_cpu] {
        move_apart(maker_cpu, thread);
        loop(*mail, thread);
      });
    } catch (const std::exception&) {
      break;  // no more threads to be had: the run takes the ones there are
    }
    pthread_setname_np(worker->thread.native_handle(), fmt::format("isochron-{}", thread).c_str());
    workers_.push_back(std::move(worker));
  }
  return std::min(count, static_cast<int>(workers_.size()));
}

void Workers::shrink(int count) {
  while (static_cast<int>(workers_.size()) > count) {
    post(workers_.back()->mail, 0, nullptr, nullptr);
    workers_.back()->thread.join();
    workers_.pop_back();
  }
}

void Workers::run(int threads, Body body, void* context) {
  const int count = ensure(threads - 1);
  threads = count + 1;
  const int64_t spin = threads > cpus_ ? kCrowdedSpinNs : kSpinNs;
  if (spin_ns_.load(std::memory_order_relaxed) != spin) spin_ns_.store(spin, std::memory_order_relaxed);
  barrier_.members.store(static_cast<uint32_t>(threads) << 16, std::memory_order_relaxed);
  running_.signal.value.store(static_cast<uint32_t>(count), std::memory_order_relaxed);
  const int cpu = sched_getcpu();
  for (int i = 0; i < count; ++i) post(workers_[i]->mail, threads, body, context, cpu);
  call(body, context, 0, threads);
  running_.signal.wait([](uint32_t left) { return left == 0; }, spin_ns_);
  if (failed_.load(std::memory_order_relaxed)) {
    failed_.store(false, std::memory_order_relaxed);
    std::rethrow_exception(std::exchange(error_, nullptr));
  }
}

// The one who completes the barrier starts the next one; all others wait, so none can interfere with the reset.
int64_t Workers::barrier(bool leave) {
  const uint32_t phase = barrier_.phase.value.load(std::memory_order_relaxed);
  const uint32_t members =
      leave ? barrier_.members.fetch_sub(1u << 16) - (1u << 16) : barrier_.members.fetch_add(1) + 1;
  const uint32_t arrived = members & 0xffff;
  if (arrived == members >> 16) {
    barrier_.members.store(members & 0xffff0000, std::memory_order_relaxed);
    barrier_.phase.value.store(phase + 1);
    barrier_.phase.wake();
  } else if (!leave) {
    return barrier_.phase.wait([&](uint32_t now) { return now != phase; }, spin_ns_);
  }
  return 0;
}

}  // namespace

ThreadTeam& ThreadTeam::global() {
  static ThreadTeam team;
  return team;
}

int ThreadTeam::size() const {
  int size = g_size.load(std::memory_order_relaxed);
  if (size != 0) return size;
  const int fresh = default_size();
  return g_size.compare_exchange_strong(size, fresh) ? fresh : size;
}

void ThreadTeam::resize(int threads) {
  check_size("set_num_threads", std::to_string(threads), threads);
  if (t_threads_in_run != 0) fail<StateError>("set_num_threads", "called from inside a parallel run; call it before");
  Workers& team = workers();
  std::lock_guard lock(team.in_use);
  team.shrink(threads - 1);
  g_size.store(threads);
}

void ThreadTeam::start() {
  if (size() == 1 || t_threads_in_run != 0) return;
  Workers& team = workers();
  std::lock_guard lock(team.in_use);
  team.ensure(size() - 1);
}

void ThreadTeam::run(int threads, void (*body)(void* context, int thread, int threads), void* context) {
  ISO_CHECK(threads >= 1);
  if (threads > 1 && t_threads_in_run == 0) {
    Workers& team = workers();
    if (std::unique_lock lock(team.in_use, std::try_to_lock); lock.owns_lock())
      return team.run(std::min(threads, size()), body, context);
  }
  InRun inside(1);
  body(context, 0, 1);
}

int64_t ThreadTeam::barrier() { return t_threads_in_run > 1 ? workers().barrier(/*leave=*/false) : 0; }

void set_num_threads(int threads) { ThreadTeam::global().resize(threads); }
int get_num_threads() { return ThreadTeam::global().size(); }

int available_cpus() {
  int cpus = static_cast<int>(std::thread::hardware_concurrency());
  for (int capacity = 1024; capacity <= 1 << 20; capacity *= 4) {  // the kernel's mask may exceed cpu_set_t
    const size_t bytes = CPU_ALLOC_SIZE(capacity);
    std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(capacity), [](cpu_set_t* s) { CPU_FREE(s); });
    if (set && sched_getaffinity(0, bytes, set.get()) == 0) {
      cpus = CPU_COUNT_S(bytes, set.get());
      break;
    }
  }
  // Rounded down: threads that spin beyond the quota get all of them throttled.
  if (const auto quota = cgroup_cpu_limit()) cpus = std::min(cpus, static_cast<int>(*quota));
  return std::max(cpus, 1);
}

}  // namespace isochron
