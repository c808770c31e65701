#include "isochron/observe/watch_session.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "isochron/base/clock.h"
#include "isochron/base/error.h"
#include "isochron/base/try_print.h"
#include "isochron/observe/proc_text.h"

namespace isochron::observe {
namespace {

constexpr auto kTick = std::chrono::milliseconds(100);
constexpr int kTicksPerSecond = 10;
constexpr double kShortSilence = 4;  // silence worth explaining when the user ends the command
constexpr double kGrace = 10;        // seconds a stuck command gets to end before it is killed

std::string folder_of_process(int pid) {
  char buffer[4096];
  const ssize_t got = readlink(fmt::format("/proc/{}/cwd", pid).c_str(), buffer, sizeof buffer);
  return got > 0 ? std::string(buffer, static_cast<size_t>(got)) : ".";
}

// Where the command may write: its working folder and folders among its arguments.
std::vector<std::string> likely_folders(int pid, const std::vector<std::string>& command) {
  const std::string working = folder_of_process(pid);
  std::vector<std::string> folders{working};
  for (const std::string& word : command) {
    const std::string path = word.starts_with("/") ? word : working + "/" + word;
    if (word.starts_with("/") && access((path + "/.").c_str(), X_OK) == 0) folders.push_back(path);
  }
  return folders;
}

sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  return set;
}

std::string exit_text(int status) {
  return std::to_string(WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
}

}  // namespace

WatchSession::WatchSession(WatchOptions options) : options_(std::move(options)), start_ns_(monotonic_ns()) {
  const sigset_t set = ending_signals();
  if (options_.pid)
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
  else
    Relay::block_signals();
}

WatchSession::~WatchSession() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopping_.notify_all();
  if (thread_.joinable()) thread_.join();
}

double WatchSession::seconds() const { return running_ ? seconds_between(start_ns_, monotonic_ns()) : end_; }

int WatchSession::run() { return options_.pid ? run_attached() : run_command(); }

void WatchSession::start_sampling(int pid, const SamplerOptions& options) {
  own_cpu_at_start_ = own_cpu_seconds();
  auto sampler = std::make_unique<Sampler>(pid, options);
  const std::lock_guard lock(mutex_);  // others may ask for a record already
  sampler_ = std::move(sampler);
}

int WatchSession::run_command() {
  const Child child = launch(options_.command, [&](int pid) {
    start_ns_ = monotonic_ns();
    counters_.attach(pid);
  });
  command_pid_ = child.pid;
  start_sampling(child.pid, {.folders = likely_folders(child.pid, options_.command),
                             .own_files = options_.own_files,
                             .counters = &counters_});
  relay_ = std::make_unique<Relay>(child, [&](Relay::Stream, std::string_view bytes) { on_output(bytes); });
  relay_->on_end_requested = [&](int signal) {
    take_stock(seconds());
    const std::lock_guard lock(mutex_);
    if (!std::exchange(ended_by_us_, true))
      facts_.push_back({"ended.by", fmt::format("signal {}", signal), "watch", seconds()});
  };
  thread_ = std::thread([&] { sample_until_stopped(); });
  const int status = relay_->run();
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopping_.notify_all();
  thread_.join();
  const std::lock_guard lock(mutex_);
  end_ = seconds();
  running_ = false;
  facts_.push_back({"exit", exit_text(status), "wait status"});
  return shell_status(status);
}

int WatchSession::run_attached() {
  const int process = static_cast<int>(syscall(SYS_pidfd_open, options_.pid, 0));
  if (process < 0) fail<ValueError>("watch", "no process with pid {}", options_.pid);
  start_ns_ = monotonic_ns();
  command_pid_ = options_.pid;
  start_sampling(options_.pid, {.folders = {folder_of_process(options_.pid)}});
  const sigset_t ending = ending_signals();
  thread_ = std::thread([&] { sample_until_stopped(); });
  // Until the process ends, or we are told to leave it alone.
  const timespec moment{0, 100'000'000};
  pollfd ended{process, POLLIN, 0};
  while (poll(&ended, 1, 0) == 0 && sigtimedwait(&ending, nullptr, &moment) < 0) {
  }
  close(process);
  take_stock(seconds());
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopping_.notify_all();
  thread_.join();
  const std::lock_guard lock(mutex_);
  end_ = seconds();
  running_ = false;
  ended_by_us_ = true;  // its exit status is not ours to see
  return 0;
}

void WatchSession::on_output(std::string_view bytes) {
  const double now = seconds();
  const std::lock_guard lock(mutex_);
  longest_silence_ = std::max(longest_silence_, now - last_output_);
  last_output_ = now;
  console_.feed(bytes, now);
}

void WatchSession::sample_until_stopped() {
  auto next = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  for (int tick = 0; !stop_; ++tick) {
    sampler_->tick(seconds());
    if (tick % kTicksPerSecond == 0) follow_epochs();
    if (watch_silence(seconds()) && on_stall) {
      lock.unlock();
      try {
        on_stall();
      } catch (const std::exception& error) {  // such as a full disk, which may be why nothing goes on
        note(fmt::format("isochron: {}\n", error.what()));
      }
      lock.lock();
    }
    const auto pause = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        kTick * pace_for_cost(own_cpu_seconds() - own_cpu_at_start_, seconds()));
    next = std::max(next + pause, std::chrono::steady_clock::now());
    stopping_.wait_until(lock, next, [&] { return stop_; });
  }
}

void WatchSession::follow_epochs() {
  const RunRecord so_far = console_.snapshot();
  for (; epochs_pinned_ < so_far.epochs.size(); ++epochs_pinned_) {
    const Epoch& epoch = so_far.epochs[epochs_pinned_];
    sampler_->pin(epoch.start);
    sampler_->pin(epoch.start + epoch.seconds);
  }
}

bool WatchSession::watch_silence(double now) {
  if (asked_to_end_ && now - *asked_to_end_ > kGrace)
    for (const int pid : sampler_->pids()) kill(pid, SIGKILL);
  if (asked_to_end_ || ended_by_us_) return false;  // what it says now are its last words: it does not go on
  // A process that was running before us has no output we could see: its CPU and disk use speak for it.
  const double silence = now - last_output_;
  if (silence < options_.stall_seconds) {
    if (stall_ && stall_silence_ >= options_.stall_seconds) {
      facts_.push_back({"stall.passed", fmt::format("{:.0f} s: {}", stall_silence_, stall_->summary), "watch", now});
      if (relay_) relay_->note(fmt::format("isochron: it goes on, after {:.0f} s of silence\n", stall_silence_));
    }
    stall_.reset();
    next_report_ = options_.stall_seconds;
    return false;
  }
  if (silence < next_report_) return false;
  stall_ = sampler_->explain(now, silence);
  stall_silence_ = silence;
  if (options_.pid && !stall_->stuck) {
    next_report_ = silence + options_.stall_seconds;
    return false;
  }
  const std::string text = stall_text(*stall_, silence, estimate(now));
  if (relay_)
    relay_->note(text);
  else
    try_print(stderr, "{}", text);
  next_report_ = silence * 2;
  if (options_.end_when_stuck && stall_->stuck && relay_) {
    asked_to_end_ = now;
    facts_.push_back({"ended.by", "watch, because it was stuck", "watch", now});
    // Workers too: they would wait for ever for a master that has gone.
    for (const int pid : sampler_->pids()) kill(pid, SIGTERM);
  }
  return true;
}

void WatchSession::take_stock(double now) {
  const std::lock_guard lock(mutex_);
  const double silence = now - last_output_;
  if (silence < std::max(kShortSilence, 2 * longest_silence_)) return;
  stall_ = sampler_->explain(now, silence);
  stall_silence_ = silence;
}

std::string WatchSession::estimate(double now) const {
  const RunRecord so_far = console_.snapshot();
  if (!so_far.open_epoch) return "";
  const OpenEpoch& open = *so_far.open_epoch;
  const double spent = now - open.start;
  if (open.step && open.steps && *open.step > 0 && *open.steps > *open.step)
    return fmt::format("epoch {} is at step {} of {} after {:.0f} s", open.index, *open.step, *open.steps, spent);
  if (!so_far.epochs.empty())
    return fmt::format("epoch {} has taken {:.0f} s; the last one took {:.1f} s", open.index, spent,
                       so_far.epochs.back().seconds);
  return fmt::format("epoch {} has taken {:.0f} s", open.index, spent);
}

RunRecord WatchSession::record() const {
  const std::lock_guard lock(mutex_);
  RunRecord run = console_.snapshot();
  complete(run);
  return run;
}

std::vector<RunRecord> WatchSession::records() {
  const std::lock_guard lock(mutex_);
  std::vector<RunRecord> runs = console_.finish();
  for (RunRecord& run : runs) complete(run);
  return runs;
}

void WatchSession::complete(RunRecord& run) const {
  run.source = "watch";
  run.seconds = seconds();
  const bool ended = std::any_of(facts_.begin(), facts_.end(),
                                 [](const Fact& fact) { return fact.key == "exit" && fact.value == "0"; });
  if (sampler_) sampler_->fill(run, ended);
  run.facts.insert(run.facts.end(), facts_.begin(), facts_.end());
  const auto add = [&](const char* key, std::string value) { run.facts.push_back({key, std::move(value), "watch"}); };
  add("watch.cpu_seconds", fmt::format("{:.2f}", own_cpu_seconds()));
  add("silence", fmt::format("{:.1f}", seconds() - last_output_));
  if (stall_) {
    add("stall.seconds", fmt::format("{:.1f}", stall_silence_));
    add("stall.state", stall_->stuck ? "stuck" : "slow");
    if (!stall_->cause.empty()) add("stall.cause", stall_->cause);
    add("stall.summary", stall_->summary);
    for (const std::string& line : stall_->evidence) add("stall.evidence", line);
    for (const std::string& line : stall_->stack) add("stall.stack", line);
  }
  if (!(stall_ && stall_->stuck) && (running_ || ended_by_us_))
    add("finished", running_ ? "still running" : "ended by a signal while it was at work");
}

void WatchSession::note(const std::string& text) {
  if (relay_) relay_->note(text);
}

Activity WatchSession::now_doing() const {
  const std::lock_guard lock(mutex_);
  return sampler_ ? sampler_->now_doing() : Activity{};
}

std::optional<StallFinding> WatchSession::stall() const {
  const std::lock_guard lock(mutex_);
  return stall_;
}

std::string stall_text(const StallFinding& finding, double silence, const std::string& estimate) {
  std::string text = fmt::format("isochron: no output for {:.0f} s. {}\n", silence, finding.summary);
  if (!estimate.empty()) text += "  " + estimate + "\n";
  for (size_t i = 0; i < std::min<size_t>(finding.evidence.size(), 6); ++i) text += "  - " + finding.evidence[i] + "\n";
  if (!finding.stack.empty()) {
    text += "  Python stack, innermost first:\n";
    for (size_t i = 0; i < std::min<size_t>(finding.stack.size(), 8); ++i) text += "    " + finding.stack[i] + "\n";
  }
  return text;
}

}  // namespace isochron::observe
