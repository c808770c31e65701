#include "isochron/readers/notices.h"

#include <algorithm>
#include <array>
#include <utility>

#include "isochron/readers/needle_index.h"
#include "isochron/readers/scan.h"

namespace isochron {
namespace {

struct Row {
  std::string_view key;
  std::string_view first;  // in lower case; all parts given must stand in the line
  std::string_view second = "";
  bool fatal = false;
};

constexpr auto kRows = std::to_array<Row>({
    {"retracing", "triggered tf.function retracing"},
    {"recompile", "torch._dynamo hit config.", "limit"},
    {"recompile", "[__recompiles]"},
    {"shuffle.fill", "filling up shuffle buffer"},
    {"shuffle.filled", "shuffle buffer filled"},
    {"profiler.start", "profiler_start"},
    {"profiler.stop", "profiler_stop"},
    {"profiler.start", "profiler session started"},
    {"profiler.start", "starting profiler"},
    {"profiler.start", "profiler started"},
    {"profiler.start", "profiling started"},
    {"profiler.stop", "stopping profiler"},
    {"profiler.stop", "profiler stopped"},
    {"profiler.stop", "profiling stopped"},
    {"profiler.stop", "profiler session tear down"},
    {"profiler.stop", "profiler session collecting"},
    {"graph.compile", "compiled cluster using xla"},
    {"graph.compile", "compiling the model"},
    {"graph.compile", "compiling model"},
    {"graph.compile", "with torch.compile"},
    {"callback.slow", "is slow compared to the batch time"},
    {"callback.slow", "callback method", "is slow"},
    {"input.workers", "does not have many workers"},
    {"input.workers", "consider increasing the value of the `num_workers`"},
    {"input.persistent", "persistent_workers=true"},
    {"input.ran-out", "your input ran out of data"},
    {"input.cache", "partially cached contents of the dataset"},
    {"input.cache", "feature cache"},
    {"input.cache", "building cache"},
    {"input.cache", "filling cache"},
    {"input.cache", "populating cache"},
    {"disk.full", "no space left on device", "", true},
    {"disk.full", "errno = 28", "", true},
    {"disk.full", "[errno 28]", "", true},
    {"disk.full", "disk quota exceeded", "", true},
    {"disk.full", "[errno 122]", "", true},
    {"disk.full", "basic_ios::clear: iostream error", "", true},
    {"disk.full", "inline_container.cc", "unexpected pos", true},
    {"disk.full", "pytorchstreamwriter failed writing", "", true},
    {"disk.full", "resourceexhaustederror", "no space", true},
    {"disk.full", " requested and ", " written", true},  // NumPy, of a file that took only a part
    {"disk.full", "database or disk is full", "", true},
    {"shared-memory", "insufficient shared memory", "", true},
    {"shared-memory", "unable to write to file </torch", "", true},
    {"oom", "can't allocate memory", "", true},
    {"oom", "cannot allocate memory", "", true},
    {"oom", "cuda out of memory", "", true},
    {"oom", "torch.outofmemoryerror", "", true},
    {"oom", "outofmemoryerror", "", true},
    {"oom", "oom when allocating", "", true},
    {"oom", "unable to allocate", "array", true},
    {"oom", "std::bad_alloc", "", true},
    {"oom", "memoryerror", "", true},
    {"oom", "failed to allocate", "bytes", true},
    {"oom", "out of memory: killed process", "", true},
    {"oom", "detected 1 oom", "", true},
    {"oom", "oom_kill", "", true},
    {"oom", "oom-kill", "", true},
    {"oom", "oomkilled", "", true},
    {"oom", "not enough memory", "", true},
    {"oom", "out of memory while trying to allocate", "", true},
    {"oom", "resourceexhaustederror", "", true},
    {"oom", "cannot parse tensor from proto", "", true},         // TensorFlow had no room for what the text describes
    {"memory.tight", "allocation of", "of free system memory"},  // a warning that most runs survive
    {"killed", "slurmstepd: error:", "cancelled at", true},
    {"killed", "exit code 137", "", true},
    {"killed", "interrupted by signal", "sigkill", true},
    {"oom", "out-of-memory", "", true},
    {"worker.died", "dataloader worker", "exited unexpectedly", true},
    {"worker.died", "dataloader worker", "killed by signal", true},
    {"worker.died", "brokenprocesspool", "", true},
    {"peer.lost", "watchdog caught collective operation timeout", "", true},
    {"peer.lost", "connection closed by peer", "", true},
    {"peer.lost", "timed out waiting", "ranks", true},
    {"peer.lost", "timed out waiting", "rendezvous", true},
    {"peer.lost", "timed out waiting", "clients", true},
    {"peer.lost", "gloo", "timed out", true},
    {"peer.lost", "nccl", "timeout", true},
    {"peer.lost", "wait timeout after", "ms", true},
    {"worker.timeout", "dataloader timed out after", "", true},
    {"crash", "segmentation fault", "", true},
    {"crash", "core dumped", "", true},
    {"crash", "llvm error:", "", true},
    {"crash", "check failed:", "", true},
    {"crash", "exit code 134", "", true},
    {"crash", "exit code 139", "", true},
    {"crash", "fatal python error", "", true},
    {"crash", "terminate called after throwing", "", true},
    {"crash", "bus error", "", true},
    {"crash", "illegal instruction", "", true},
    {"interrupted", "keyboardinterrupt", "", true},
    {"finished", "`trainer.fit` stopped"},
    {"finished", "early stopping"},
    {"finished", "earlystopping"},
    {"finished", "stopping early"},
    {"finished", "early stop"},
    {"finished", "training complete"},
    {"finished", "training finished"},
    {"finished", "finished training"},
    {"finished", "training done"},
    {"finished", "done training"},
    {"finished", "end of training"},
    {"finished", "restoring model weights from the end of the best epoch"},
    {"resume", "resuming from"},
    {"resume", "resume from"},
    {"resume", "resuming training"},
    {"resume", "resumed"},
    {"resume", "restoring states from the checkpoint"},
    {"resume", "loaded checkpoint", "resum"},
    {"resume", "loading checkpoint", "resum"},
    {"resume", "checkpoint loaded", "resum"},
    {"resume", "restored", "resum"},
    {"weights.loaded", "loaded checkpoint"},
    {"weights.loaded", "loading checkpoint"},
    {"weights.loaded", "checkpoint loaded"},
    {"weights.loaded", "restoring parameters from"},
    {"weights.loaded", "restored"},
    {"weights.loaded", "loaded", ".pt"},
    {"weights.loaded", "loaded", ".ckpt"},
    {"weights.loaded", "loaded", ".h5"},
    {"weights.loaded", "loaded", ".keras"},
    {"resume.skip", "skipping", "batches"},
    {"resume.skip", "skipping the first"},
    {"resume.skip", "will skip the first"},
    {"resume.skip", "fast-forward"},
    {"resume.skip", "fast forward"},
    {"work.changed", "unfreez"},
    {"work.changed", "unfroze"},
    {"work.changed", "fine-tun"},
    {"work.changed", "finetun"},
    {"work.changed", "image size"},
    {"work.changed", "resolution"},
    {"work.changed", "sequence length"},
    {"work.changed", "seq_len"},
    {"work.changed", "context length"},
    {"work.changed", "batch size"},
    {"work.changed", "curriculum"},
    {"validation", "running validation"},
    {"validation", "validation:"},
    {"validation", "validating"},
    {"validation", "evaluating"},
    {"validation", "[val]"},
    {"validation", "[valid]"},
    {"validation", "[eval]"},
    {"validation", "***** running evaluation"},
});

struct Hint {
  std::string_view part;
  std::string_view framework;
};
constexpr auto kHints = std::to_array<Hint>({
    {"site-packages/lightning/", "lightning"},
    {"pytorch_lightning", "lightning"},
    {"`trainer.fit`", "lightning"},
    {"lightning.pytorch", "lightning"},
    {"site-packages/keras/", "keras"},
    {"keras/src/", "keras"},
    {".keras", "keras"},
    {"tensorflow", "tensorflow"},
    {"tf.function", "tensorflow"},
    {"tf.data", "tensorflow"},
    {"absl::initializelog", "tensorflow"},
    {"site-packages/torch/", "torch"},
    {"torch.", "torch"},
    {"syncactivityprofilerhandler", "torch"},
    {"dataloader worker", "torch"},
    {"pytorch", "torch"},
});

constexpr std::string_view kSaves[] = {"saving", "saved",   "save ",   "writing", "written",  "wrote ",
                                       "dumped", "dumping", "stored ", "storing", "exported", "exporting"};
constexpr std::string_view kCheckpoint = "checkpoint";

// Rows first, then hints, then words of saving.
const NeedleIndex& notice_index() {
  static const NeedleIndex index = [] {
    std::vector<std::string_view> needles;
    for (const Row& row : kRows) needles.push_back(row.first);
    for (const Hint& hint : kHints) needles.push_back(hint.part);
    needles.insert(needles.end(), std::begin(kSaves), std::end(kSaves));
    needles.push_back(kCheckpoint);
    return NeedleIndex(needles);
  }();
  return index;
}

// "saved out/model.pt", "=> writing weights", "-> checkpoint 3": a verb and what it is done to, or the word alone where
// nobody loads one.
bool tells_of_saving(std::string_view line) {
  constexpr size_t kLongest = 400;
  if (line.size() > kLongest) return false;
  const bool saves = std::any_of(std::begin(kSaves), std::end(kSaves),
                                 [&](std::string_view word) { return line.find(word) != std::string_view::npos; });
  if (has_any(line, {"not saved", "to be saved", "will be saved", "would be saved", "run data is saved"})) return false;
  if (saves && has_any(line, {"model", "checkpoint", "ckpt", "snapshot", "weights", "state", ".pt", ".h5", ".keras",
                              ".ckpt", ".npz", ".safetensors", ".onnx", ".pkl", ".bin"}))
    return true;
  return line.find(kCheckpoint) != std::string_view::npos &&
         !has_any(line,
                  {"load", "restor", "resum", "from", "no checkpoint", "gradient", "every", "warn", "import", "find",
                   "found", "callback", "activation", "checkpoint=", "checkpoint:", "checkpoint_", "checkpointing"});
}

// "done", "Finished!", "[22:10:41] INFO - all done": what programs say when they end, behind a logger's prefix or
// alone.
bool is_last_word(std::string_view words) {
  constexpr size_t kLongest = 64;  // with what stands before it
  while (!words.empty() && (words.back() == '.' || words.back() == '!')) words.remove_suffix(1);
  if (!words.ends_with("ed") && !words.ends_with("done")) return false;  // none of those below
  words = words.substr(words.size() - std::min(words.size(), kLongest));
  for (const std::string_view prefix : {"]: ", "] ", " - ", "| ", "info ", "info: ", "info:root:"})
    if (const size_t at = words.rfind(prefix); at != std::string_view::npos) words.remove_prefix(at + prefix.size());
  return is_one_of(words, {"done", "finished", "completed", "all done", "training ended", "training is done"});
}

}  // namespace

LineNotices match_notices(std::string_view line_lower) {
  LineNotices out;
  size_t best = kRows.size(), hint = kHints.size();
  bool may_save = false;
  notice_index().find(line_lower, [&](size_t needle) {
    if (needle >= kRows.size() + kHints.size()) {
      may_save = true;
    } else if (needle >= kRows.size()) {
      hint = std::min(hint, needle - kRows.size());
    } else if (needle < best) {
      const Row& row = kRows[needle];
      if (row.second.empty() || line_lower.find(row.second) != std::string_view::npos) best = needle;
    }
    return true;
  });
  if (hint < kHints.size()) out.framework = kHints[hint].framework;
  if (best < kRows.size()) {
    out.notice = Notice{kRows[best].key, kRows[best].fatal};
    return out;
  }
  const std::string_view words = trimmed(line_lower);
  if (may_save && tells_of_saving(words)) {
    out.notice = Notice{"checkpoint", false};
    return out;
  }
  if (is_last_word(words)) out.notice = Notice{"finished", false};
  // A shell names the command behind it: "run.sh: line 3:  4711 Killed    python train.py", "zsh: killed     python".
  const bool by_shell = words.starts_with("zsh: killed") || (words.find(": line ") != std::string_view::npos &&
                                                             words.find(" killed  ") != std::string_view::npos);
  if (words == "killed" || words == "terminated" || words.ends_with(" killed") || words.ends_with(": killed") ||
      by_shell)
    out.notice = Notice{"killed", true};
  return out;
}

// The line before a traceback says whose it is, unless it is the main thread's: "Process SpawnProcess-1:".
TracebackReader::Raiser TracebackReader::announced_by(std::string_view line) {
  if (line.starts_with("Exception in thread")) return Raiser::thread;
  if (line.starts_with("Exception ignored in")) return Raiser::destructor;
  return line.starts_with("Process ") && line.ends_with(':') ? Raiser::process : Raiser::main;
}

std::optional<TracebackReader::Raised> TracebackReader::feed(std::string_view line) {
  // Launchers put "[rank0]: " before every line of a rank.
  if (line.starts_with("[rank")) {
    const size_t close = line.find("]: ");
    if (close != std::string_view::npos) line.remove_prefix(close + 3);
  }
  // A progress bar, which has no end of line, may stand before it.
  if (line.starts_with("Traceback (most recent call last)") || line.ends_with("Traceback (most recent call last):")) {
    inside_ = true;
    return std::nullopt;
  }
  if (!inside_) raiser_ = announced_by(line);
  if (!inside_ || line.empty() || is_space(line[0])) return std::nullopt;
  if (line.starts_with("During handling") || line.starts_with("The above exception")) return std::nullopt;
  size_t end = 0;
  while (end < line.size() && (is_word(line[end]) || line[end] == '.')) ++end;
  if (end == 0 || (end < line.size() && line[end] != ':')) return std::nullopt;
  inside_ = false;
  const Raiser raiser = std::exchange(raiser_, Raiser::main);
  if (raiser == Raiser::destructor) return std::nullopt;
  const std::string_view key = raiser == Raiser::process  ? "process.exception"
                               : raiser == Raiser::thread ? "thread.exception"
                                                          : "exception";
  return Raised{key, std::string(line.substr(0, 300))};
}

}  // namespace isochron
