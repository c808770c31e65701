#include "isochron/train/watchdog.h"

#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

#include "isochron/base/log.h"
#include "isochron/base/native_stack.h"
#include "isochron/base/signals_blocked.h"
#include "isochron/train/stall_report.h"

namespace isochron {
namespace {

constexpr auto kLook = std::chrono::milliseconds(250);
// From then on every look is a close one.
constexpr double kCloseLookAfter = 0.5;

}  // namespace

// One training, as the watching thread sees it.
struct Watchdog::Watched {
  Watched(Timeline& t, const std::atomic<int64_t>& p, WatchdogOptions o)
      : timeline(t), progress(p), options(std::move(o)), tid(this_thread_id()) {
    seen = progress.load(std::memory_order_relaxed);
    seen_ns = monotonic_ns();
  }

  double limit() const {
    if (steps == 0) return options.first_step_limit;
    return std::max({options.least_limit, options.times_usual * usual_step, 3 * longest_gap});
  }

  void look(int64_t now) {
    const int64_t count = progress.load(std::memory_order_relaxed);
    if (count != seen) {
      const double gap = seconds_between(seen_ns, now);
      // What is under way now began after the last of these steps, maybe long ago.
      const int64_t next_began = timeline.activity().since_ns;
      const int64_t last_ended = next_began > seen_ns && next_began < now ? next_began : now;
      const double step = seconds_between(seen_ns, last_ended) / static_cast<double>(count - seen);
      usual_step = steps == 0 ? step : usual_step + (step - usual_step) / 4;
      if (reports == 0 && steps > 0) longest_gap = std::max(longest_gap, gap - 0.25);
      steps += count - seen;
      seen = count;
      seen_ns = last_ended;
      reports = 0;
      next_report = 0;
      stall.reset();
    } else if (const double waited = seconds_between(seen_ns, now); waited > kCloseLookAfter) {
      if (!stall) stall.emplace(tid, timeline, seen_ns);
      stall->look(now);
      if (stall->known() && waited > std::max(limit(), next_report)) tell(now, waited);
    }
  }

  void tell(int64_t now, double waited) {
    const StallPlace place{epoch.load(),       epochs.load(), seen - epoch_begin.load(),
                           epoch_steps.load(), steps,         usual_step};
    const std::string text = stall->report(now, place, options.action);
    next_report = waited * 4;
    ++reports;
    {
      std::lock_guard lock(report_mutex);
      last_report = text;
    }
    if (reports == 1) timeline.fact("watchdog", text.substr(0, text.find('\n')), "watchdog");
    if (!hand_over(text)) log_line(LogLevel::warning, "watchdog", text);
    if (options.action == OnStall::abort) give_up.store(true);
  }

  // To the user's function. What it throws would end the process from here: it is told, and so is the report.
  bool hand_over(const std::string& text) const {
    if (!options.on_report) return false;
    try {
      options.on_report(text);
      return true;
    } catch (const std::exception& error) {
      log_line(LogLevel::warning, "watchdog", fmt::format("on_report threw: {}", error.what()));
    } catch (...) {
      log_line(LogLevel::warning, "watchdog", "on_report threw what is no std::exception");
    }
    return false;
  }

  Timeline& timeline;
  const std::atomic<int64_t>& progress;
  const WatchdogOptions options;
  const int tid;
  std::atomic<int> epoch{0}, epochs{0};
  std::atomic<int64_t> epoch_steps{0}, epoch_begin{0};
  std::atomic<bool> give_up{false};

  // Of the watching thread.
  int64_t seen, seen_ns, steps = 0;
  double usual_step = 0, longest_gap = 0, next_report = 0;
  int reports = 0;
  std::optional<Stall> stall;

  std::mutex report_mutex;
  std::string last_report;
};

// Never ends: a training may begin at any time, and starting a thread costs more than a small one.
class Watchdog::Thread {
 public:
  static Thread& global() {
    static Thread* thread = new Thread;
    return *thread;
  }
  void add(std::shared_ptr<Watched> watched) {
    std::lock_guard lock(mutex_);
    all_.push_back(std::move(watched));
    if (!runs_) {
      const SignalsBlocked signals;
      try {
        std::thread([this] { run(); }).detach();
        runs_ = true;
      } catch (const std::system_error&) {
        return;  // no thread to be had: nobody looks on
      }
    }
    more_.notify_one();
  }
  // Returns when nobody looks at it any more.
  void remove(const std::shared_ptr<Watched>& watched) {
    std::lock_guard lock(mutex_);
    all_.remove(watched);
  }

 private:
  void run() {
    pthread_setname_np(pthread_self(), "isochron-watch");
    std::unique_lock lock(mutex_);
    for (;;) {
      more_.wait(lock, [&] { return !all_.empty(); });
      more_.wait_for(lock, kLook, [&] { return all_.empty(); });
      const int64_t now = monotonic_ns();
      for (const auto& watched : all_) watched->look(now);
    }
  }
  std::mutex mutex_;
  std::condition_variable more_;
  std::list<std::shared_ptr<Watched>> all_;
  bool runs_ = false;
};

Watchdog::Watchdog(Timeline& timeline, const std::atomic<int64_t>& progress, WatchdogOptions options) {
  watched_ = std::make_shared<Watched>(timeline, progress, std::move(options));
  if (watched_->options.action != OnStall::off) Thread::global().add(watched_);
}

Watchdog::~Watchdog() {
  if (watched_->options.action != OnStall::off) Thread::global().remove(watched_);
}

void Watchdog::begin_epoch(int epoch, int epochs, int64_t steps) {
  watched_->epoch.store(epoch, std::memory_order_relaxed);
  watched_->epochs.store(epochs, std::memory_order_relaxed);
  watched_->epoch_steps.store(steps, std::memory_order_relaxed);
  watched_->epoch_begin.store(watched_->progress.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

std::atomic<bool>& Watchdog::gives_up() { return watched_->give_up; }

std::string Watchdog::report() const {
  std::lock_guard lock(watched_->report_mutex);
  return watched_->last_report;
}

}  // namespace isochron
