// Progress bars in a line of console output: Keras, tqdm, Rich, fastprogress, ultralytics.
//
//   for (const Bar& bar : find_bars("Epoch 1/5:  20%|██   | 3/15 [00:02<00:09,  1.31batch/s, loss=1.5]")) …
//
// A line holds several bars when its carriage returns were lost.
#pragma once

#include <string_view>
#include <vector>

#include "isochron/readers/log_event.h"

namespace isochron {

struct Bar {
  enum class Style : uint8_t { keras, tqdm, rich };
  Style style = Style::tqdm;
  LogEvent event;          // kind progress; step, steps, elapsed, left, rate, step_time, metrics
  std::string_view label;  // the text before it
  std::string_view unit;   // of its items: "it", "batch", "epoch", …
  size_t end = 0;          // where the bar ends in the line
};

std::vector<Bar> find_bars(std::string_view line);

}  // namespace isochron
