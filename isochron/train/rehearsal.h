// A training that leaves nothing behind, to see how long one takes: fit's own loop over the same plan and data, on
// scratch copies of what the plan updates, again and again until it has been watched for long enough.
//
//   Rehearsal rehearsal(/*steps=*/31.25);
//   while (!rehearsal.over()) rehearse_fit(model, columns, options, rehearsal);
//   rehearsal.epoch_seconds()
//
// It is watched for ten times as long as one training takes, at most for two seconds. Machines have more than one speed
// (a neighbour on the other half of a core, a clock that changes), and nobody knows which of them training will meet:
// what is told is the middle of the speeds seen, which is off by least at either end.
#pragma once

#include <cstdint>
#include <vector>

#include "isochron/base/clock.h"
#include "isochron/nn/model.h"
#include "isochron/train/training.h"

namespace isochron {

// The mean of the speeds at the tenth and the ninetieth percentile of these times, as a time; 0 of none. The slower one
// counts for at most 1.8 times the quicker: no machine's speeds lie further apart, other programs' doing does.
double middle_of(std::vector<double> seconds);

class Rehearsal {
 public:
  // steps: of a whole epoch, a ragged one in proportion; 0: unknown.
  explicit Rehearsal(double steps, int64_t (*clock)() = monotonic_ns);

  // Called by fit. step_done() says that enough was seen.
  void epoch_begins();
  void steps_begin();
  bool step_done();
  void epoch_ends();
  void training_ends();
  bool over() const;

  // A step; a usual epoch after the first, 0 where the number of its steps is unknown.
  double step_seconds() const;
  double epoch_seconds() const;

 private:
  double beside_steps() const;

  double steps_;
  int64_t (*clock_)();
  int64_t begin_, long_enough_, training_begin_, epoch_begin_ = 0, last_step_ = 0;
  int64_t block_ns_ = 0, block_steps_ = 0, steps_ns_ = 0, steps_done_ = 0;
  bool warm_ = false, first_epoch_ = true, cut_ = false;
  int64_t whole_epochs_ = 0;
  std::vector<double> epochs_here_;  // of this training, after the first
  std::vector<double> trainings_;    // the usual epoch of each that was seen to its end
  std::vector<double> epochs_;       // the most recent of all trainings
  std::vector<double> blocks_;       // a step, by so many of them that they last some milliseconds
  std::vector<double> rests_;        // of an epoch, what is no step
};

// One training, or its part until it is over(). Random numbers are drawn, metrics reset.
void rehearse_fit(Model& model, const Columns& columns, FitOptions options, Rehearsal& rehearsal);
void rehearse_fit(Model& model, const data::Dataset& dataset, FitOptions options, Rehearsal& rehearsal);

}  // namespace isochron
