// What fit() does with the saves its callbacks ask for: one copy of the state for all of them, handed to the writer;
// what became of them is told to those who asked, and to the user once when the disk fails.
#pragma once

#include "isochron/train/history.h"
#include "isochron/train/train_run.h"
#include "isochron/train/train_state.h"

namespace isochron {

class Saver {
 public:
  Saver(Model& model, TrainingState& state) : model_(model), state_(state) {}

  void expect(bool weights_only);
  bool busy() const { return writer_.busy(); }
  void request(SaveRequest request) { requests_.push_back(std::move(request)); }
  void remove(std::vector<std::string> paths);

  // Between steps, after the callbacks: takes the copy that was asked for, if any. `complete` adds what is fit's own.
  template <class F>
  void take(CheckpointInfo info, F&& complete) {
    if (requests_.empty()) return;
    StateDict rest;
    complete(rest);
    take_copy(std::move(info), rest);
  }
  // Tells the outcomes of saves to those who asked.
  void deliver();
  // Waits for the writer, and delivers. The last word: whether the last state is on disk (where it should be and is
  // not, summary().problem is not empty); empty when nothing was saved.
  std::string finish();
  const CheckpointSummary& summary() const { return summary_; }

 private:
  void take_copy(CheckpointInfo info, const StateDict& rest);
  NamedTensors tensors(bool weights_only, const StateDict& rest);
  void tell(const SaveOutcome& outcome);

  Model& model_;
  TrainingState& state_;
  std::vector<SaveRequest> requests_;
  struct Open {
    SaveRequest request;
    bool failed = false;
  };
  std::map<int64_t, Open> open_;  // by id
  NamedVariables variables_;      // of the whole state, found once
  int64_t last_id_ = 0;
  std::vector<std::string> written_;  // and not removed since, the newest last
  std::string last_;                  // of them all, removed or not
  bool failing_ = false, told_stall_ = false;
  CheckpointSummary summary_;
  AsyncWriter writer_;  // last: it ends first
};

}  // namespace isochron
