// What training would take, told before it starts.
//
//   fmt::print("{}", model.estimate(x, y, {.epochs = 10, .batch_size = 64}).to_string());
//
//   model "sequential": 101,770 parameters
//                              all
//     weights               407 kB   101,770 parameters
//     …
//     available            22.9 GB   to this process, by the machine
//   start 3.1 ms (trace and compile 1.4 ms, weights and optimizer state 1.7 ms)
//   step 0.11 ms, epoch of 938 steps 103 ms, 10 epochs 1.03 s
//
// Memory is that of the compiled plan. Times are measured: the training is rehearsed on scratch copies of what it
// updates (rehearsal.h), for ten times as long as it takes and two seconds at most. Nothing is timed when it would not
// fit. Callbacks, validation and progress are not counted.
#pragma once

#include <optional>
#include <string>

#include "isochron/train/preflight.h"

namespace isochron {

class Estimate {
 public:
  std::string model;
  int64_t parameters = 0;
  MemoryNeed memory;
  MemoryRoom room;
  bool fits = true;
  double compile_seconds = 0;           // tracing and compiling the step
  double init_seconds = 0;              // filling weights and optimizer state
  std::optional<double> step_seconds;   // one full batch, with its input; empty: not measured
  std::optional<double> input_seconds;  // of it, making a batch, where a data set makes it
  std::optional<int64_t> steps;         // an epoch has; empty: unknown
  std::optional<double> epoch_seconds;
  int epochs = 1;

  std::string to_string() const;
};

}  // namespace isochron
