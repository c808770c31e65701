// What one log line says about the progress of training, whichever framework wrote it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isochron/readers/scan.h"

namespace isochron {

struct LogEvent {
  enum class Kind : uint8_t {
    epoch_begin,  // "Epoch 3/10"
    progress,     // a state of a progress bar
    step,         // a line about one step or a few
    epoch_end,    // an epoch is over, or its time is told
    run_end,      // the whole run is over, or its time is told
  };
  // What a progress bar counts.
  enum class Role : uint8_t { train, validation, epochs, other };

  Kind kind = Kind::epoch_end;
  Role role = Role::train;
  std::string_view framework;  // where the form of the line tells it
  int64_t line = 0;            // of the file
  bool labelled = false;       // a bar that says what it is
  bool inclusive = false;      // "0/5" means that 5 comes too
  bool within = false;         // tells only of an epoch that is under way
  bool vague = false;          // counts epochs unless others on other lines are called so
  bool bare = false;           // and its number is all there is: only counting on makes it one
  bool loose = false;          // a line about a step that counts only where nothing is told of epochs
  bool train_part = false;     // its time seems to be that of training alone,
  bool valid_part = false;     // or that of validation
  std::optional<int64_t> epoch;
  std::optional<int64_t> epochs;         // planned
  std::optional<double> epoch_position;  // "4.42"
  std::optional<int64_t> step;
  std::optional<int64_t> steps;         // in this epoch
  std::optional<int64_t> window_steps;  // steps `window_time` covers
  std::optional<Measured> epoch_time;
  std::optional<Measured> clock;  // since some beginning: the run's or this epoch's, the words do not say
  std::optional<Measured> validation_time;
  std::optional<Measured> run_time;
  std::optional<Measured> run_input_time;  // waited for data in all epochs
  std::optional<Measured> elapsed;         // of a progress bar, or since the epoch began
  std::optional<Measured> left;
  std::optional<Measured> step_time;
  std::optional<Measured> mean_step_time;  // over the epoch so far
  std::optional<Measured> beside_step;     // of the step, the steps since the last such line, the epoch or the run
  std::optional<Measured> data_time;
  std::optional<Measured> mean_data_time;
  std::optional<Measured> window_time;
  std::optional<Measured> rate;           // steps per second
  std::optional<Measured> examples_rate;  // examples per second
  std::optional<double> examples;
  std::optional<double> tokens;  // seen since the run began
  std::vector<std::pair<std::string, double>> metrics;
};

}  // namespace isochron
