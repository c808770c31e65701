// The program's own source, as far as its text says what stacks do not: a loop that fills `buffer` or writes to
// `self.cache` looks like any other wait for data.
//
//   source_line("train.py", 41);            // "for x, y in loader:"
//   SourceLines source;
//   source.store_named(thread.frames);      // Store::shuffle_buffer where a running line of the user's names one
//   source.refine(activity, thread.frames); // "pickle.dump(state, f)" saves: such calls leave no frame of their own
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isochron/observe/activity.h"
#include "isochron/observe/python_stack.h"
#include "isochron/observe/source_blocks.h"

namespace isochron::observe {

// What identifiers of a line name: "buf.append(next(it))" a shuffle buffer, "self.cache[i] = decode(i)" a cache.
Store store_named_in(std::string_view line);

// What a line does by a call of a library in C: {Phase::input, "zlib.decompress"}; Phase::other if none is known.
struct LineCall {
  Phase phase = Phase::other;
  std::string_view what;
};
LineCall call_in(std::string_view line);

// Whether a line gives weights their values: "layer.weight.copy_(orthonormal(shape))", "model.set_weights(best)".
bool sets_weights(std::string_view line);

// Without its indentation, at most 100 characters; empty where there is none to read.
std::string source_line(const std::string& path, int line);

class SourceLines {
 public:
  // What the lines of the user's own that run now name, the innermost first.
  Store store_named(const std::vector<PythonFrame>& frames);
  // Whether a line of the user's own that runs now lies in a validation written into the training loop. What a variable
  // of a frame holds, `value_of` is asked where it depends on that.
  using ValueOf = std::function<std::optional<std::string>(const PythonFrame&, const std::string&)>;
  bool validates(const std::vector<PythonFrame>& frames, const ValueOf& value_of);
  // The variable of the program's own that counts epochs in a frame, by its loop: it is named so, goes through what is
  // (`for i in range(n_epochs)`), or each turn is known to train for one (`each_turn`). Empty where there is none.
  const std::string& epoch_counter(const PythonFrame& frame, bool each_turn);
  // The loop that frames lie in, from one on outwards; nullopt where their source cannot be read.
  std::optional<Loop> loop_around(std::span<const PythonFrame> frames);
  // An activity nothing else tells, by the line that runs, if that is one of the user's own, or by one that calls it to
  // make weights.
  void refine(Activity& activity, const std::vector<PythonFrame>& frames);

 private:
  struct Line {
    Store store = Store::none;
    LineCall call;
    bool sets_weights = false;
    bool validates = false;
    std::string split;         // the variable that tells training from validation,
    GradientSwitch gradients;  // or the one that switches gradients
    std::string counter;       // the one that counts epochs,
    std::string turn;          // and that of the innermost loop
    std::optional<Loop> loop;
  };
  const Line& line_of(const PythonFrame& frame);

  std::map<std::pair<std::string, int>, Line> lines_;
};

}  // namespace isochron::observe
