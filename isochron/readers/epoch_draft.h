// An epoch in the making: all that log lines said about it, and how long it took by the best of that.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isochron/readers/log_event.h"
#include "isochron/readers/progress_bar.h"

namespace isochron {

// One progress bar, as far as it was drawn.
struct BarState {
  LogEvent::Role role = LogEvent::Role::train;
  bool keras = false;
  int64_t step = 0;
  int64_t line = 0;             // where it was drawn last
  std::optional<int64_t> from;  // the first step it showed
  std::optional<int64_t> steps;
  std::optional<Measured> elapsed, left, rate, step_time;
  std::optional<Measured> first_step;           // from the bar's start to the end of its first step
  std::optional<double> first_time, last_time;  // on the log's clock
  bool inside = false;                          // its time is part of the enclosing bar's

  bool complete() const { return steps ? step >= *steps : false; }
  void update(const LogEvent& event, std::optional<double> time);
  std::optional<Measured> seconds() const;
  // The log's clock went as the bar's own: its lines came when they were drawn, not all at once.
  bool in_time() const;
};

// Times that stand beside the steps of an epoch without a word on what they are the times of.
struct BesideSteps {
  std::optional<Measured> first;
  int64_t first_step = 0, last_step = 0;
  Measured last, sum;

  void add(int64_t step, const Measured& time);
};

struct EpochDraft {
  int64_t index = 0;
  bool numbered = false;
  bool header = false;  // a line said that it begins
  bool ended = false;
  bool bare = false;                  // counted by numbers without a word
  bool vague = false;                 // what is counted may be something else
  bool told_below = false;            // `printed` stood by itself, below the line about it
  bool train_part = false;            // `printed` seems to be the time of training alone
  int64_t covers = 1;                 // epochs since the last one the log mentions
  std::optional<double> begin, end;   // on the log's clock
  double clock_resolution = 0;        // which may only show whole seconds
  std::optional<Measured> printed;    // its time, as the log gives it
  std::optional<int64_t> printed_at;  // the step beside it, which was perhaps what it is the time of
  std::optional<Measured> clock;      // a clock's reading at its end
  std::optional<Measured> validation;
  std::optional<BarState> train;
  std::vector<BarState> inner;       // validation and other bars within it
  std::optional<double> after_bars;  // what passed between them and the next epoch, where a clock tells
  // From lines about steps:
  std::optional<int64_t> first_step, last_step, steps;
  int64_t steps_before = 0;                               // where steps are counted on from epoch to epoch
  int64_t stride = 0;                                     // between the last two such lines
  std::optional<double> first_step_time, last_step_time;  // on the log's clock
  double step_seconds = 0, input_seconds = 0;             // summed over the steps such lines cover
  int64_t steps_covered = 0, inputs_covered = 0;
  std::optional<Measured> mean_step, mean_input;  // over the epoch so far
  bool mean_of_run = false;                       // printed means are those of all epochs so far
  std::optional<double> input;                    // waited for data in all, as told at the epoch's end
  std::optional<Measured> elapsed;                // since its beginning, as step lines say
  std::optional<double> examples, tokens;
  BesideSteps beside;
  int64_t lines = 0;  // behind the one that began it
  std::map<std::string, double> metrics;

  void add_step(const LogEvent& event, std::optional<double> time);
  // How many steps the last line about one is on from the epoch's beginning.
  std::optional<int64_t> steps_told() const;
  // The last step was told, or would have been by the next line about one.
  bool steps_done() const;
  // When its last bar was drawn last, if the log's clock went as that of its bars.
  std::optional<double> bars_end() const;
  // How many steps it has, if anything says so.
  std::optional<int64_t> step_count() const;
  // The time of its bars, its steps, or by the clock; printed times come first.
  std::optional<Measured> seconds() const;
  std::optional<double> first_step_seconds() const;
  std::optional<double> waited_for_input() const;
  std::optional<double> validation_seconds() const;

 private:
  std::optional<Measured> by_bars() const;
  std::optional<Measured> by_steps() const;
};

}  // namespace isochron
