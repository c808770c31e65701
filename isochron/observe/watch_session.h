// Runs a foreign command under observation, from its first instruction to its end.
//
//   WatchSession session({.command = {"python", "train.py"}, .stall_seconds = 60});
//   int status = session.run();             // the command's own exit status, as a shell would show it
//   for (const RunRecord& run : session.records()) …
//
// The command runs as it would without us (see launch.h); a thread samples it ten times a second, and
// what it prints is read for epochs. record() may be called from any thread while it runs. Blocks signals
// in the thread that makes it and in those it starts later: make the session before other threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "isochron/observe/hardware_counters.h"
#include "isochron/observe/relay.h"
#include "isochron/observe/sampler.h"
#include "isochron/readers/console_reader.h"

namespace isochron::observe {

struct WatchOptions {
  std::vector<std::string> command;
  int pid = 0;                           // watch this running process instead of starting a command
  double stall_seconds = 60;             // silence after which we look why
  std::vector<std::string> own_files{};  // absolute paths of reports we write meanwhile
  bool end_when_stuck = false;           // end a command that was found stuck, so that a caller gets a status
};

class WatchSession {
 public:
  explicit WatchSession(WatchOptions options);
  ~WatchSession();
  WatchSession(const WatchSession&) = delete;
  WatchSession& operator=(const WatchSession&) = delete;

  // Called when a stall was found, from the sampling thread, which waits.
  std::function<void()> on_stall;

  // Throws FileError when the command can't be run or the process is not there.
  int run();

  // All that is known by now of the training under way.
  RunRecord record() const;
  // After run(): one record for every training the output showed, at least one.
  std::vector<RunRecord> records();
  // Text beside the command's output, on lines of its own on stderr.
  void note(const std::string& text);
  // What the trainer does at the moment, for a status display.
  Activity now_doing() const;
  double seconds() const;
  // The stall under way, if there is one.
  std::optional<StallFinding> stall() const;

 private:
  int run_command();
  int run_attached();
  void sample_until_stopped();
  bool watch_silence(double now);  // true: there is a stall to report
  void follow_epochs();
  void on_output(std::string_view bytes);
  void take_stock(double now);
  std::string estimate(double now) const;
  void complete(RunRecord& run) const;
  void start_sampling(int pid, const SamplerOptions& options);

  WatchOptions options_;
  std::atomic<int64_t> start_ns_;
  double own_cpu_at_start_ = 0;
  HardwareCounters counters_;
  std::unique_ptr<Relay> relay_;
  std::unique_ptr<Sampler> sampler_;
  ConsoleReader console_{"output"};
  int command_pid_ = 0;

  mutable std::mutex mutex_;  // sampler_, console_, stall_
  std::condition_variable stopping_;
  bool stop_ = false;
  std::atomic<bool> running_{true};
  bool ended_by_us_ = false;  // or by whom we passed the signal on for
  double end_ = 0;
  std::thread thread_;
  std::atomic<double> last_output_{0};
  double longest_silence_ = 0;  // between two outputs so far
  double next_report_ = 0;
  size_t epochs_pinned_ = 0;
  std::optional<StallFinding> stall_;
  std::optional<double> asked_to_end_;  // when a stuck command got its first signal
  double stall_silence_ = 0;
  std::vector<Fact> facts_;
};

// The text shown beside the output for a stall.
std::string stall_text(const StallFinding& finding, double silence, const std::string& estimate);

}  // namespace isochron::observe
