// What fit() returns: metrics by epoch, and where each epoch's time went.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "isochron/checkpoint/state_dict.h"
#include "isochron/nn/model.h"
#include "isochron/report/epoch_report.h"
#include "isochron/timeline/run_record.h"

namespace isochron {

// What the callbacks of one fit() saved.
struct CheckpointSummary {
  int64_t saved = 0, failed = 0;  // a save that failed and succeeded later counts as both
  int64_t bytes = 0;              // written
  double stall_seconds = 0;       // of training, for all of them
  double write_seconds = 0;       // in the writer's thread
  std::string newest;             // path of the last one on disk
  bool last_on_disk = true;       // the last save that was asked for
  std::string problem;            // why it is not; empty where keep_best did not want it
};

class History {
 public:
  // history["loss"], history["val_accuracy"]: one value an epoch; ValueError with a suggestion for unknown names.
  const std::vector<double>& operator[](const std::string& name) const;
  const std::map<std::string, std::vector<double>>& metrics() const { return metrics_; }
  const std::vector<int>& epochs() const { return epochs_; }  // from 0, as in Keras
  // Steps left out because their loss was NaN or infinite (NanPolicy::skip).
  int64_t skipped_steps() const { return skipped_steps_; }
  // Of the first step whose loss was NaN or infinite (NanPolicy::warn and skip): which, and what made it so. Else
  // empty.
  const std::string& bad_loss() const { return bad_loss_; }

  // What was saved, and whether the last save is on disk.
  const CheckpointSummary& checkpoints() const { return checkpoints_; }
  // Whether epochs became slower while training went on, and why: a sentence, or empty.
  const std::string& slowdown() const { return slowdown_; }

  // Where each epoch's time went, the first one explained.
  EpochReport epoch_report() const { return EpochReport(record_); }
  const RunRecord& record() const { return record_; }
  // A page for people (report/run_report.h), and JSON for `isochron report`, `compare` and `doctor`; FileError.
  void save_html(const std::string& path) const;
  void save_record(const std::string& path) const;

 private:
  friend class Trainer;
  StateDict state() const;
  void restore(const StateDict& state);

  std::map<std::string, std::vector<double>> metrics_;
  std::vector<int> epochs_;
  int64_t skipped_steps_ = 0;
  std::string bad_loss_, slowdown_;
  CheckpointSummary checkpoints_;
  RunRecord record_;
};

}  // namespace isochron
