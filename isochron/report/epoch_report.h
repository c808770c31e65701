// Where each epoch's time went, and whether and why the first one differed.
//
//   history.epoch_report().print();
//
//   Epochs by phase, ms
//      epoch   total  compile  allocate  input  forward  other
//          1    5.41     0.42      0.21   0.30     4.20   0.28
//          2    5.26        -         -   0.31     4.70   0.25
//      …
//   Epoch 1 took 1.03x the median of the others: +0.42 ms compile, +0.21 ms allocate.
//
// Built from a RunRecord alone, so it serves our own runs and watched ones alike. Many epochs are shown by the
// first and last few and by minimum, median and maximum of all but the first.
#pragma once

#include <string>

#include "isochron/report/epoch_files.h"
#include "isochron/timeline/run_record.h"

namespace isochron {

class EpochReport {
 public:
  explicit EpochReport(const RunRecord& run);

  // The table, the time outside epochs, the first epoch's extra time by phase, and the sentence.
  std::string to_string() const;
  void print() const;  // to standard output

  // Whether and why the first epoch differed from the others, and which callback takes a large part of each.
  std::string sentence() const;
  // Who made training wait for its input, in one sentence each.
  const std::vector<std::string>& input() const { return input_; }

 private:
  struct CallbackTime {
    std::string name;
    double seconds, share;  // of an epoch, in the mean over all but the first
  };
  std::string first_epoch_sentence() const;

  std::vector<Epoch> epochs_;
  std::optional<OpenEpoch> open_epoch_;
  PhaseSeconds outside_{};
  std::vector<std::string> input_;
  std::string checkpoints_;  // how many, how large, and what they cost
  EpochFiles files_;         // what was written and kept
  std::string slowdown_;
  std::vector<CallbackTime> callbacks_;  // the heaviest first
  Epoch typical_;                        // medians of all epochs but the first
};

}  // namespace isochron
