#include "isochron/observe/trainer.h"

#include <algorithm>

#include "isochron/observe/waiting.h"

namespace isochron::observe {
namespace {

constexpr double kYoung = 90;           // seconds in which a child's role may still be unclear
constexpr double kLongestRetry = 2;     // seconds between attempts to find an interpreter
constexpr double kClearlyBusier = 1.5;  // CPU time that moves the title of trainer to another process

// TensorFlow functions that say what a step waits for; their signatures have not changed since 2.2.
#define TF_DATA(path) "_ZN10tensorflow4data" path
#define GET_NEXT "15GetNextInternalEPNS0_15IteratorContextEPSt6vectorINS_6TensorESaIS7_EEPb"
constexpr char kGetNext[] =
    TF_DATA("16IteratorResource7GetNextEPNS_15OpKernelContextEPSt6vectorINS_6TensorESaIS5_EEPb");
constexpr char kShuffleFillCall[] =
    TF_DATA("20ShuffleDatasetOpBase18ShuffleDatasetBase8Iterator10FillBufferEPNS0_15IteratorContextE");
constexpr char kCacheWrite[] = TF_DATA(
    "14CacheDatasetOp17MemoryDatasetBase14MemoryIterator20MemoryWriterIterator"
    "15GetNextInternalEPNS0_15IteratorContextEPSt6vectorINS_6TensorESaIS8_EEPb");
constexpr char kFileCacheWrite[] = TF_DATA(
    "14CacheDatasetOp15FileDatasetBase12FileIterator18FileWriterIterator"
    "15GetNextInternalEPNS0_15IteratorContextEPSt6vectorINS_6TensorESaIS8_EEPb");
constexpr char kMap[] = TF_DATA("12MapDatasetOp7Dataset8Iterator" GET_NEXT);
constexpr char kParallelMap[] = TF_DATA("20ParallelMapDatasetOp7Dataset8Iterator" GET_NEXT);
constexpr char kGenerator[] = TF_DATA("18GeneratorDatasetOp7Dataset8Iterator" GET_NEXT);
#undef GET_NEXT
#undef TF_DATA

// A function of the program's own that is named so (`run_epoch`), or fit(epochs=1).
bool trains_one_epoch(const PythonFrame& frame, PythonProcess& python) {
  const std::string& name = frame.code->function;
  if (!frame.code->user) return name.ends_with("Trainer.fit") && python.integer_variable(frame, "epochs") == 1;
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  return has("epoch") && !has("epochs") && !has("on_epoch");
}

}  // namespace

PythonProcess* Trainer::python(int pid) {
  Candidate& candidate = candidates_[pid];
  if (!candidate.python) candidate.python = PythonProcess::attach(pid, nullptr);
  return candidate.python ? &*candidate.python : nullptr;
}

std::string Trainer::python_version() const {
  const auto found = candidates_.find(pid_);
  return found != candidates_.end() && found->second.python ? found->second.python->version() : "";
}

void Trainer::attach_new(const ProcessTree& tree, double now) {
  std::erase_if(candidates_, [&](const auto& item) { return !tree.contains(item.first); });
  std::erase_if(workers_, [&](int pid) { return !tree.contains(pid); });
  for (const auto& [pid, process] : tree.alive()) {
    Candidate& candidate = candidates_[pid];
    if (candidate.python || now < candidate.next_attempt) continue;
    candidate.python = PythonProcess::attach(pid, &why_not_);
    candidate.next_attempt = now + candidate.delay;
    candidate.delay = std::min(candidate.delay * 2, kLongestRetry);
  }
}

void Trainer::find_workers(const ProcessTree& tree, double now) {
  for (auto& [pid, candidate] : candidates_) {
    if (candidate.role_known || pid == tree.root()) continue;
    const ProcessReading& process = tree.alive().at(pid);
    if (process.name == "pt_data_worker") {
      workers_.insert(pid);
      candidate.role_known = true;
    } else if (candidate.python) {
      if (const auto main = candidate.python->main_thread(); main && worker_stage(main->frames) != WorkerStage::none) {
        workers_.insert(pid);
        candidate.role_known = true;
      }
    }
    if (now - process.first_seen > kYoung) candidate.role_known = true;
  }
}

int Trainer::topmost(const ProcessTree& tree) const {
  for (int pid = tree.root(); pid;) {
    const auto found = candidates_.find(pid);
    if (found != candidates_.end() && found->second.python) return pid;
    int next = 0;  // a shell, a launcher script: on to its first child that leads to an interpreter
    for (const auto& [child, candidate] : candidates_)
      if (candidate.python && tree.contains(child)) {
        int above = child;
        while (tree.contains(above) && tree.alive().at(above).parent != pid) above = tree.alive().at(above).parent;
        if (tree.contains(above)) {
          next = above;
          break;
        }
      }
    pid = next;
  }
  return 0;
}

int Trainer::launched(const ProcessTree& tree) const {
  const int top = topmost(tree);
  int best = 0;
  double most = 0;
  for (const auto& [pid, candidate] : candidates_) {
    if (pid == top || !candidate.python || workers_.contains(pid) || !tree.contains(pid)) continue;
    if (const double cpu = tree.alive().at(pid).counters.cpu_seconds; cpu > most) most = cpu, best = pid;
  }
  return best;
}

void Trainer::choose(const ProcessTree& tree) {
  const auto cpu = [&](int pid) { return tree.contains(pid) ? tree.alive().at(pid).counters.cpu_seconds : -1; };
  const auto clearly_busier = [&](int a, int b) { return cpu(a) > kClearlyBusier * cpu(b) + 1; };
  const int top = topmost(tree);
  int best = top;
  for (const auto& [pid, candidate] : candidates_)
    if (candidate.python && !workers_.contains(pid) && (best == 0 || cpu(pid) > cpu(best))) best = pid;
  const bool keeps =
      tree.contains(pid_) && !workers_.contains(pid_) && clearly_busier(pid_, top) && !clearly_busier(best, pid_);
  if (keeps) return;
  pid_ = top == 0 || clearly_busier(best, top) ? best : top;
}

std::optional<Trainer::Look> Trainer::look(const ProcessTree& tree, double now) {
  attach_new(tree, now);
  find_workers(tree, now);
  choose(tree);
  const auto found = candidates_.find(pid_);
  if (found == candidates_.end() || !found->second.python) return std::nullopt;
  auto main = found->second.python->main_thread();
  if (main && only_launched(main->frames))
    if (const int rank = launched(tree)) {
      pid_ = rank;
      main = candidates_.at(rank).python->main_thread();
    }
  if (!main) return std::nullopt;
  Look look{activity_of(main->frames), main->epoch, "", main->profiled};
  if (look.activity.phase != Phase::start) look.framework = framework_of(main->frames);
  look.epoch = epoch_of(*main);
  if (look.epoch && !within_epochs(*main, look.activity.phase == Phase::start)) look.epoch.reset();
  count_passes(*main, look);
  refine_validation(look.activity, main->frames);
  if (!look.activity.executing) running_looks_ = 0;
  if (look.activity.executing) refine_executing(look.activity, tree.alive().at(pid_).state, now);
  if (look.activity.executing && look.activity.phase == Phase::input) refine_fed(look.activity);
  if (look.activity.phase == Phase::input && !look.activity.executing)
    look.activity.store = source_.store_named(main->frames);
  if (look.activity.phase == Phase::input && look.activity.what == "DataLoader")
    refine_loader(look.activity, tree, now);
  if (look.activity.phase == Phase::input && starts_workers(main->frames)) look.activity.what = kWorkerStart;
  source_.refine(look.activity, main->frames);
  if (tree.alive().at(pid_).state != 'R') refine_disk(look.activity);
  last_ = look.activity;
  return look;
}

// A variable called epoch counts them, the innermost one. A library's own (Keras' fit has one) tells little where the
// program calls it in a loop that counts epochs, or for one epoch in each turn.
std::optional<int64_t> Trainer::epoch_of(PythonThread& main) {
  if (main.epoch && main.frames[main.epoch_frame].code->user) return main.epoch;
  PythonProcess& python = *candidates_.at(pid_).python;
  bool each_turn = false;  // of a loop around the call below trains for one epoch
  for (size_t i = 0; i < main.frames.size(); ++i) {
    const PythonFrame& frame = main.frames[i];
    if (frame.code->user) {
      const std::string& counter = source_.epoch_counter(frame, each_turn);
      const auto value = counter.empty() ? std::nullopt : python.integer_variable(frame, counter);
      if (value) {
        main.epoch_frame = i;
        return value;
      }
      each_turn = false;
    }
    each_turn = each_turn || trains_one_epoch(frame, python);
  }
  return main.epoch;
}

// The variable outlives its loop: what comes after it, a last test or an export, is no part of the last epoch. While a
// library is loaded, others may be called epoch, too (versions have one): then it must be around the import.
bool Trainer::within_epochs(const PythonThread& main, bool importing) {
  const auto loop = source_.loop_around(std::span(main.frames).subspan(main.epoch_frame));
  if (importing && (!main.frames[main.epoch_frame].code->user || loop.value_or(Loop::none) == Loop::none)) return false;
  if (!loop) return true;
  closest_loop_ = std::max(closest_loop_, *loop);
  return *loop == closest_loop_;
}

// Lightning keeps its epoch in an object and on a pipe prints nothing before the end. Its batches are counted in a
// local variable: where they begin anew, so does an epoch.
void Trainer::count_passes(const PythonThread& main, Look& look) {
  if (main.batch) {
    if (last_batch_ && *main.batch < *last_batch_) ++passes_;
    last_batch_ = main.batch;
  }
  const auto in_loop = [](const PythonFrame& f) { return f.code->file.ends_with("loops/fit_loop.py"); };
  if (!look.epoch && last_batch_ && std::any_of(main.frames.begin(), main.frames.end(), in_loop)) look.epoch = passes_;
}

// Validation that is no function of its own, but a loop within the one that trains.
void Trainer::refine_validation(Activity& activity, const std::vector<PythonFrame>& frames) {
  constexpr Phase kMayValidate[] = {Phase::forward, Phase::metrics, Phase::input, Phase::other};
  if (std::find(std::begin(kMayValidate), std::end(kMayValidate), activity.phase) == std::end(kMayValidate)) return;
  const auto value_of = [&](const PythonFrame& frame, const std::string& name) {
    PythonProcess& python = *candidates_.at(pid_).python;
    auto text = python.text_variable(frame, name);
    if (!text)
      if (const auto number = python.integer_variable(frame, name)) text = std::to_string(*number);
    return text;
  };
  if (!source_.validates(frames, value_of)) return;
  activity.phase = Phase::validate;
  activity.what = "a validation loop";
}

// One call of the executor covers a whole step: waiting for the batch, compiling the graph at the first
// call, and the computation. The native stacks of its threads tell them apart.
void Trainer::refine_executing(Activity& activity, char main_state, double now) {
  if (activity.phase != Phase::forward && activity.phase != Phase::validate) return;
  if (tensorflow_pid_ != pid_ || (!tensorflow_ && now >= next_scanner_attempt_)) {
    const std::vector<std::string> names = {kGetNext, kShuffleFillCall, kCacheWrite, kFileCacheWrite,
                                            kMap,     kParallelMap,     kGenerator};
    tensorflow_ = StackScanner::find(pid_, "libtensorflow_cc.so", names);
    if (!tensorflow_) tensorflow_ = StackScanner::find(pid_, "_pywrap_tensorflow_internal.so", names);
    tensorflow_pid_ = pid_;
    next_scanner_attempt_ = now + kLongestRetry;
  }
  running_looks_ = main_state == 'R' ? running_looks_ + 1 : 0;
  if (running_looks_ > 1) {  // steps run on the executor's own threads; its caller only prepares them
    if (activity.phase == Phase::forward)
      activity = {Phase::compile, "TensorFlow graph optimisation", activity.user, true};
    return;
  }
  if (!tensorflow_ || activity.phase != Phase::forward) return;
  const std::set<std::string> found = tensorflow_->look();
  if (!found.contains(kGetNext)) return;
  activity.phase = Phase::input;
  if (found.contains(kCacheWrite) || found.contains(kFileCacheWrite))
    activity.what = kCacheFill;
  else if (found.contains(kShuffleFillCall))
    activity.what = kShuffleFill;
  else if (found.contains(kGenerator))
    activity.what = "tf.data generator";
  else if (found.contains(kMap) || found.contains(kParallelMap))
    activity.what = "tf.data map";
  else
    activity.what = "tf.data";
}

// Functions of the program's own that tf.data calls run on threads of its own. What such a one imports is no input.
void Trainer::refine_fed(Activity& activity) {
  for (const PythonThread& thread : candidates_.at(pid_).python->threads()) {
    const Activity inside = thread.main ? Activity{} : activity_of(thread.frames);
    if (inside.user.empty()) continue;
    activity.user = inside.user;
    if (inside.phase == Phase::start) activity = {Phase::start, inside.what, inside.user, true};
    return;
  }
}

// Python's own file objects leave no frame behind: the system call says that user code writes. Small files are logs,
// and those that are appended to.
void Trainer::refine_disk(Activity& activity) const {
  constexpr double kLargestLog = 4e6;
  if (activity.phase != Phase::other) return;
  const auto file = written_now(pid_, pid_);
  if (!file) return;
  const bool log = file->appended || file->size < kLargestLog;
  activity.phase = log ? Phase::log : Phase::checkpoint;
  activity.what = log ? "writing a log" : "writing a file";
}

// Waiting for workers that are not there yet is not waiting for data.
void Trainer::refine_loader(Activity& activity, const ProcessTree& tree, double now) {
  bool loading = false, starting = false, busy = false;
  std::optional<Activity> importing;
  for (const auto& [pid, process] : tree.alive()) {
    if (process.parent != pid_) continue;
    const auto found = candidates_.find(pid);
    if (workers_.contains(pid) && found != candidates_.end() && found->second.python) {
      const auto main = found->second.python->main_thread();
      if (!main) continue;
      if (worker_stage(main->frames) == WorkerStage::loading) {
        loading = true;
        const Activity inside = activity_of(main->frames);
        if (!inside.user.empty()) activity.user = inside.user;
        if (activity.store == Store::none) activity.store = source_.store_named(main->frames);
        if (inside.phase == Phase::start) importing = inside;
        busy = busy || (inside.phase != Phase::start && !inside.user.empty());
      } else {
        starting = true;
      }
    } else if (now - process.first_seen < kYoung && !workers_.contains(pid) && process.command.size() > 1 &&
               process.command.back().find("resource_tracker") == std::string::npos) {
      starting = true;
    }
  }
  if (starting && !loading) activity.what = kWorkerStart;
  if (importing && !busy) activity = *importing;
}

}  // namespace isochron::observe
