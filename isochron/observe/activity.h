// What a training program is doing, told from the Python stack of its main thread.
//
//   Activity now = activity_of(thread.frames);      // {Phase::input, "DataLoader", "train.py:41 train_epoch"}
//
// Frames of the frameworks (TensorFlow, Keras, PyTorch, Lightning, Hugging Face, JAX) and of Python
// itself say what goes on; where several match, the one that explains the time best wins: an import
// inside a forward pass is an import, a forward pass inside validation is validation.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isochron/observe/python_stack.h"
#include "isochron/timeline/phase.h"

namespace isochron::observe {

// What stages of an input pipeline are doing when they fill up; rules look for these spans.
inline constexpr char kCacheFill[] = "filling a cache";
inline constexpr char kShuffleFill[] = "filling a shuffle buffer";

// What lines of the program's own name while they make input: filled first or kept, they cost once.
enum class Store : uint8_t { none, shuffle_buffer, cache };

struct Activity {
  Phase phase = Phase::other;
  std::string what;        // "import tensorflow", "tf.function tracing", "torch.save", …; empty for plain user code
  std::string user;        // innermost frame of the user's own files, "train.py:41 train_epoch"; empty: none
  bool executing = false;  // inside one call of TensorFlow's executor, which hides input and compute alike
  Store store = Store::none;  // named by the lines that wait for input

  bool operator==(const Activity&) const = default;
};

Activity activity_of(const std::vector<PythonFrame>& frames);

// The framework whose code is on the stack: "lightning", "keras", "tensorflow", "torch"; the most special one.
std::string_view framework_of(const std::vector<PythonFrame>& frames);
// The one that trains, by the looks that found each: Lightning's and Keras' code is on the stack together with torch's
// and TensorFlow's, so a few looks at it are enough for the more special name, but the other family may merely have
// been called for something. Empty: too few looks.
std::string_view training_framework(const std::map<std::string, int>& looks);

// The one whose library a process has loaded, for programs that are seldom seen in its code; empty: none, or two.
std::string_view loaded_framework(std::span<const std::string> files);

// What a data-loader worker of PyTorch does: not yet in its loop, in what its loop begins with (worker_init_fn), or
// loading.
enum class WorkerStage : uint8_t { none, starting, loading };
WorkerStage worker_stage(const std::vector<PythonFrame>& frames);
// Whether it is creating such workers.
bool starts_workers(const std::vector<PythonFrame>& frames);

// Waits for processes it launched to end: torch's spawn and elastic launchers, subprocess, Process.join.
bool only_launched(const std::vector<PythonFrame>& frames);

// "train.py:41 train_epoch"
std::string describe(const PythonFrame& frame);

}  // namespace isochron::observe
