#include "isochron/observe/stall.h"

#include <fmt/core.h>

#include <algorithm>

#include "isochron/observe/open_files.h"
#include "isochron/observe/proc_text.h"
#include "isochron/observe/source_lines.h"
#include "isochron/observe/waiting.h"

namespace isochron::observe {
namespace {

constexpr double kIdleCores = 0.05;        // less CPU than this is no work
constexpr double kReadingRate = 1 << 20;   // bytes a second from storage that count as work
constexpr double kSwappingRate = 4 << 20;  // bytes a second from swap that explain a standstill
constexpr double kStarving = 0.2;          // share of the time a thread wanted a core and had none
constexpr size_t kShownFrames = 12;

bool matches(const PythonFrame& frame, std::string_view file, std::string_view function) {
  return frame.code->file.find(file) != std::string::npos && frame.code->function.find(function) != std::string::npos;
}

bool on_stack(const PythonThread& thread, std::string_view file, std::string_view function = "") {
  return std::any_of(thread.frames.begin(), thread.frames.end(),
                     [&](const PythonFrame& f) { return matches(f, file, function); });
}

// Called by the innermost user code, so that the wait is the library's and not the user's own.
bool called(const PythonThread& thread, std::string_view file, std::string_view function = "") {
  for (const PythonFrame& frame : thread.frames) {
    if (is_user_file(frame.code->file)) return false;
    if (matches(frame, file, function)) return true;
  }
  return false;
}

bool waits_for_processes(const PythonThread& thread) {
  return called(thread, "torch/utils/data/", "_MultiProcessing") || called(thread, "multiprocessing/queues.py") ||
         called(thread, "multiprocessing/pool.py") || called(thread, "multiprocessing/connection.py") ||
         called(thread, "multiprocessing/synchronize.py") || called(thread, "multiprocessing/process.py", "join") ||
         called(thread, "concurrent/futures/process.py") || called(thread, "joblib/");
}

// A lock shared by processes, taken by the program itself and not by a queue or a pool.
bool waits_for_shared_lock(const PythonThread& thread) {
  return called(thread, "multiprocessing/synchronize.py", "__enter__") &&
         !called(thread, "multiprocessing/queues.py") && !called(thread, "multiprocessing/pool.py");
}

// Libraries that wait for a lock by looking for it again and again (filelock, portalocker, fasteners).
bool polls_a_lock(const PythonThread& thread) {
  for (const PythonFrame& frame : thread.frames) {
    if (is_user_file(frame.code->file)) return false;
    const std::string& path = frame.code->file;  // of which "filelock/_api.py" counts
    const size_t slash = path.rfind('/'), folder = slash == std::string::npos ? slash : path.rfind('/', slash - 1);
    if (path.find("lock", folder == std::string::npos ? 0 : folder) != std::string::npos) return true;
    if (matches(frame, "", "acquire")) return true;
  }
  return false;
}

bool waits_for_threads(const PythonThread& thread) {
  return called(thread, "threading.py", "wait") || called(thread, "threading.py", "join") ||
         called(thread, "threading.py", "acquire") || called(thread, "queue.py", "get") ||
         called(thread, "queue.py", "put") || called(thread, "concurrent/futures/");
}

const PythonFrame* user_frame(const PythonThread& thread) {
  for (const PythonFrame& frame : thread.frames)
    if (is_user_file(frame.code->file)) return &frame;
  return nullptr;
}

std::string place_of(const PythonThread& thread) {
  const PythonFrame* frame = user_frame(thread);
  if (!frame) return thread.frames.empty() ? "" : describe(thread.frames[0]);
  const std::string text = source_line(frame->code->file, frame->line);
  return describe(*frame) + (text.empty() ? "" : ": " + text);
}

std::string describe(const Waiting& waiting) {
  std::string text(name_of(waiting.kind));
  if (!waiting.on.empty()) text += " (" + waiting.on + ")";
  return text;
}

// One stalled command, looked at from all sides.
class Examination {
 public:
  Examination(const StallSituation& situation, const ProcessTree& tree, Trainer& trainer)
      : situation_(situation), tree_(tree), trainer_(trainer) {
    // The topmost interpreter, unless it only waits for the processes it launched to end.
    const int top = trainer.topmost(tree);
    examine(top ? top : busiest());
    if (main_ && only_launched(main_->frames)) examine_ranks(trainer.launched(tree));
  }

  StallFinding run() {
    const double seconds = std::max(situation_.recent.seconds, 0.1);
    const double cores = situation_.recent.cpu_seconds / seconds;
    if (situation_.recent.swapped_in_bytes / seconds > kSwappingRate)
      slow("memory.swap", fmt::format("it waits for memory that was swapped out ({:.0f} MB/s come back)",
                                      situation_.recent.swapped_in_bytes / seconds / 1e6));
    else if (cores >= kIdleCores)
      busy(cores);
    else if (situation_.recent.read_bytes / seconds > kReadingRate)
      slow("input.cold-read",
           fmt::format("it reads from the disk, {:.0f} MB/s", situation_.recent.read_bytes / seconds / 1e6));
    else if (main_wait_.kind == WaitKind::running || situation_.recent.delay_seconds > kStarving * seconds)
      slow("machine.contention",
           "it wants to run, but other programs have the cores" + (main_ ? ", at " + place_of(*main_) : ""));
    else if (main_wait_.kind == WaitKind::disk && situation_.recent.major_faults > 0)
      slow("input.cold-read", "it waits for pages of its files from the disk");
    else
      idle();
    finding_.evidence.insert(
        finding_.evidence.begin(),
        fmt::format("no output for {:.0f} s; the last {:.0f} s used {:.2f} CPU cores, read {:.1f} MB",
                    situation_.silence, seconds, cores, situation_.recent.read_bytes / 1e6));
    add_reading_file();
    add_stack();
    return std::move(finding_);
  }

 private:
  int busiest() const {
    int best = tree_.root();
    double most = -1;
    for (const auto& [pid, process] : tree_.alive())
      if (process.counters.cpu_seconds > most) most = process.counters.cpu_seconds, best = pid;
    return best;
  }

  void examine(int pid) {
    pid_ = pid;
    main_wait_ = waiting_of(pid_, pid_);
    threads_.clear();
    // A stack that changes while it is read, as of a program at work, is read again.
    constexpr int kAttempts = 10;
    PythonProcess* python = trainer_.python(pid_);
    const auto read = [&] { return !threads_.empty() && threads_[0].main; };
    for (int attempt = 0; python && attempt < kAttempts && !read(); ++attempt) threads_ = python->threads();
    main_ = read() ? &threads_[0] : nullptr;
  }

  // Of the processes a launcher started the one that waits for the others tells most; `busiest` if none does.
  void examine_ranks(int busiest) {
    for (const int pid : ranks()) {
      examine(pid);
      if (waits_for_peer()) return;
    }
    if (busiest) examine(busiest);
  }

  void slow(std::string cause, const std::string& what) {
    finding_.cause = std::move(cause);
    finding_.summary = "slow, not stuck: " + what;
  }
  void stuck(std::string cause, const std::string& what) {
    finding_.stuck = true;
    finding_.cause = std::move(cause);
    finding_.summary = "stuck: " + what;
  }

  void busy(double cores) {
    const Activity activity = main_ ? activity_of(main_->frames) : Activity{};
    const std::string where = main_ ? " in " + place_of(*main_) : "";
    std::string cause;
    switch (activity.phase) {
      case Phase::start:
        cause = "startup.import";
        break;
      case Phase::build:
      case Phase::trace:
      case Phase::compile:
        cause = "startup.graph";
        break;
      case Phase::init:
        cause = "startup.init";
        break;
      case Phase::input:
        cause = "input.bound";
        break;
      case Phase::validate:
        cause = "train.validation";
        break;
      case Phase::callback:
        cause = "train.callback";
        break;
      case Phase::checkpoint:
        cause = "disk.checkpoint";
        break;
      default:
        break;
    }
    slow(cause, fmt::format("it computes on {:.1f} CPU cores{}{}", cores,
                            activity.what.empty() ? "" : ", " + activity.what, where));
  }

  void idle() {
    const std::string place = main_ ? place_of(*main_) : "";
    const std::string at = place.empty() ? "" : " at " + place;
    if (main_wait_.kind == WaitKind::stopped) {
      stuck("", "the process is stopped by a signal; `kill -CONT` lets it go on");
    } else if (waits_for_peer()) {
      stuck("wait.peer", "it waits for the other processes of a distributed run" + at);
      add_ranks();
    } else if (main_ && waits_for_shared_lock(*main_)) {
      stuck("wait.lock", "another process holds a lock that the main process wants" + at);
    } else if (main_ && waits_for_processes(*main_)) {
      stuck("wait.worker", "the main process waits for its workers" + at);
      add_workers();
    } else if (waits_for_autotune()) {
      slow("wait.lock", "TensorFlow waits for the thread that tunes its input pipeline to wake up, at most 41 s" + at);
    } else if (main_ && (waits_for_threads(*main_) || feeds_step())) {
      thread_wait(at);
    } else {
      by_system_call(at);
    }
    finding_.evidence.push_back(
        fmt::format("the main thread (pid {}) waits for {}{}", pid_, describe(main_wait_),
                    main_wait_.channel.empty() ? "" : ", in the kernel's " + main_wait_.channel));
    for (size_t i = 0; i < threads_.size() && finding_.evidence.size() < 12; ++i)
      if (!threads_[i].main && user_frame(threads_[i]))
        finding_.evidence.push_back(fmt::format("thread {} waits for {} at {}", threads_[i].tid,
                                                describe(waiting_of(pid_, threads_[i].tid)), place_of(threads_[i])));
  }

  // TensorFlow ends an iterator only when the thread that tunes its pipeline has slept its time out.
  bool waits_for_autotune() const {
    constexpr double kLongest = 45;
    if (!main_ || situation_.silence > kLongest || main_wait_.kind != WaitKind::lock) return false;
    if (!on_stack(*main_, "tensorflow/") && !on_stack(*main_, "keras/")) return false;
    for (const auto& thread : tree_.alive().at(pid_).thread_list) {
      const bool native =
          std::none_of(threads_.begin(), threads_.end(), [&](const PythonThread& t) { return t.tid == thread.tid; });
      if (native && waiting_of(pid_, thread.tid).kind == WaitKind::sleep) return true;
    }
    return false;
  }

  // TensorFlow's executor waits for the next batch, which other threads make.
  bool feeds_step() const {
    return trainer_.last_activity().executing && trainer_.last_activity().phase == Phase::input;
  }

  bool waits_for_peer() const {
    if (!main_) return false;
    if (activity_of(main_->frames).phase == Phase::sync || called(*main_, "torch/distributed/")) return true;
    if (trainer_.last_activity().executing && on_stack(*main_, "tensorflow/python/distribute/collective")) return true;
    // A reduction inside backward() has no Python frame of its own: ranks hold TCP connections to each other.
    if (!called(*main_, "torch/autograd/") && !called(*main_, "torch/nn/parallel/")) return false;
    return ranks().size() > 1;
  }

  // Python processes other than workers and helpers of the multiprocessing module.
  std::vector<int> ranks() const {
    std::vector<int> out;
    for (const auto& [pid, process] : tree_.alive()) {
      if (trainer_.workers().contains(pid)) continue;
      std::string command;
      for (const std::string& word : process.command) command += word + " ";
      if (command.find("resource_tracker") != std::string::npos || command.find("forkserver") != std::string::npos)
        continue;
      if (PythonProcess* python = trainer_.python(pid))
        if (const auto main = python->main_thread(); main && on_stack(*main, "torch/")) out.push_back(pid);
    }
    return out;
  }

  void add_ranks() {
    for (const int pid : ranks()) {
      PythonProcess* python = trainer_.python(pid);
      const auto main = python ? python->main_thread() : std::nullopt;
      if (main) finding_.evidence.push_back(fmt::format("process {} is at {}", pid, place_of(*main)));
    }
  }

  void add_workers() {
    int alive = 0, locked = 0;
    for (const auto& [pid, process] : tree_.alive()) {
      if (process.parent != pid_) continue;
      PythonProcess* python = trainer_.python(pid);
      const auto main = python ? python->main_thread() : std::nullopt;
      if (main && on_stack(*main, "resource_tracker")) continue;
      ++alive;
      const Waiting waiting = waiting_of(pid, pid);
      locked += waiting.kind == WaitKind::lock;
      finding_.evidence.push_back(
          fmt::format("worker {} waits for {}{}", pid, describe(waiting), main ? " at " + place_of(*main) : ""));
    }
    for (const int pid : situation_.dead_workers)
      finding_.evidence.push_back(fmt::format("worker {} has ended during the silence", pid));
    if (alive == 0)
      finding_.summary += "; no worker is alive";
    else if (locked == alive)
      finding_.summary += "; they wait for a lock that nobody gives back";
  }

  // The main thread waits for another thread of its own process: that one's wait is the reason.
  void thread_wait(const std::string& at) {
    for (const PythonThread& thread : threads_) {
      if (thread.main || !user_frame(thread)) continue;
      const Waiting waiting = waiting_of(pid_, thread.tid);
      if (waiting.kind == WaitKind::socket || waiting.kind == WaitKind::pipe || waiting.kind == WaitKind::file) {
        stuck("wait.io",
              fmt::format("a thread waits for {} and the main thread for that thread{}", describe(waiting), at));
        return;
      }
      if (waits_for_processes(thread)) {
        stuck("wait.worker", "a thread waits for worker processes and the main thread for that thread" + at);
        add_workers();
        return;
      }
    }
    if (feeds_step())
      stuck("wait.io", "the input pipeline gives no batch" + at);
    else
      stuck("wait.lock", "the main thread waits for another thread" + at);
  }

  void by_system_call(const std::string& at) {
    switch (main_wait_.kind) {
      case WaitKind::lock:
        stuck("wait.lock", "the main thread waits for a lock" + at);
        break;
      case WaitKind::socket:
        stuck("wait.io", fmt::format("nothing comes from {}{}", main_wait_.on, at));
        break;
      case WaitKind::pipe:
        pipe_wait(at);
        break;
      case WaitKind::file:
      case WaitKind::disk:
        stuck("wait.io", fmt::format("it waits for {}{}", describe(main_wait_), at));
        break;
      case WaitKind::file_lock:
        stuck("wait.lock", fmt::format("someone else holds the lock of {}{}", main_wait_.on, at));
        break;
      case WaitKind::child:
        stuck("wait.worker", "it waits for a child process" + at);
        add_workers();
        break;
      case WaitKind::sleep:
        sleep_wait(at);
        break;
      default:
        stuck("", "it uses no CPU and waits for something unknown" + at);
    }
  }

  void pipe_wait(const std::string& at) {
    for (const auto& [pid, process] : tree_.alive()) {
      if (pid == pid_) continue;
      for (const OpenFile& file : open_files(pid, false))
        if (file.target == main_wait_.target) {
          stuck("wait.worker",
                fmt::format("the child process {} ({}) writes nothing into the pipe{}", pid, process.name, at));
          add_workers();
          return;
        }
    }
    stuck("wait.io", fmt::format("nothing comes through {}{}", main_wait_.on, at));
  }

  // A loop that sleeps and looks again: its library or the source says for what.
  void sleep_wait(const std::string& at) {
    if (main_ && polls_a_lock(*main_)) {
      stuck("wait.lock", "it looks again and again whether a lock is free" + at);
      return;
    }
    if (const std::string database = open_database(); !database.empty() && at.find("sleep") == std::string::npos) {
      stuck("wait.lock", fmt::format("someone else holds the lock of the database {}{}", database, at));
      return;
    }
    std::string words = at;
    std::transform(words.begin(), words.end(), words.begin(), [](unsigned char c) { return std::tolower(c); });
    const auto has = [&](std::string_view word) { return words.find(word) != std::string::npos; };
    const char* cause = has("lock")                                    ? "wait.lock"
                        : has("rank") || has("peer") || has("barrier") ? "wait.peer"
                                                                       : "wait.io";
    stuck(cause, "it sleeps and looks again, for something that does not come" + at);
  }

  // SQLite sleeps between looks at a locked database.
  std::string open_database() const {
    constexpr std::string_view kMagic = "SQLite format 3";
    for (const OpenFile& file : open_files(pid_, true))
      if (file.regular() && read_small_file(file.target, 16).starts_with(kMagic)) return file.target;
    return "";
  }

  void add_reading_file() {
    for (const OpenFile& file : open_files(pid_, true)) {
      if (!file.regular() || file.writable || file.size < 1 << 20 || file.position <= 0 || file.position >= file.size)
        continue;
      finding_.evidence.push_back(fmt::format("{} is open, {:.0f} % of its {:.0f} MB read", file.target,
                                              100 * file.position / file.size, file.size / 1e6));
      if (finding_.evidence.size() > 12) return;
    }
  }

  void add_stack() {
    if (!main_) {
      const std::string why = trainer_.python(pid_) ? "none could be read at this moment" : trainer_.why_no_stacks();
      if (!why.empty()) finding_.evidence.push_back("no Python stack: " + why);
      return;
    }
    for (size_t i = 0; i < std::min(main_->frames.size(), kShownFrames); ++i)
      finding_.stack.push_back(observe::describe(main_->frames[i]));
  }

  const StallSituation& situation_;
  const ProcessTree& tree_;
  Trainer& trainer_;
  int pid_ = 0;
  Waiting main_wait_;
  std::vector<PythonThread> threads_;
  const PythonThread* main_ = nullptr;
  StallFinding finding_;
};

}  // namespace

StallFinding explain_stall(const StallSituation& situation, const ProcessTree& tree, Trainer& trainer) {
  return Examination(situation, tree, trainer).run();
}

}  // namespace isochron::observe
