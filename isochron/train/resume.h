// Going on where another training stopped: which checkpoint, what it says, and the state of callbacks in it.
#pragma once

#include "isochron/checkpoint/store.h"
#include "isochron/train/callback.h"

namespace isochron {

class Resume {
 public:
  explicit Resume(const FitOptions& options) : options_(options) {}

  // Reads the newest valid checkpoint: of a callback that looks for one (BackupAndRestore), else where the options say.
  // Damaged ones that are passed over are told in the log. FileError when the options name a place without any.
  void find();
  bool found() const { return found_.has_value(); }
  // Of the checkpoint, also after take(): whole epochs done, and steps of the one under way.
  int epoch() const { return info_.epoch; }
  int64_t step() const { return info_.step; }
  Checkpoint take();
  // "resumed from run/ckpt-0006: epoch 7, step 412, 3 ms", after the state has been restored and `step` steps of that
  // epoch, of `steps` if that is known, need not be done again.
  std::string sentence(int epochs, int64_t step, std::optional<int64_t> steps, bool stopped) const;

 private:
  bool look_in(const std::string& path, bool must);
  const FitOptions& options_;
  std::optional<Checkpoint> found_;
  CheckpointInfo info_;
  int64_t begin_ns_ = 0, spent_ns_ = 0;
};

// By the classes of callbacks, counted; a callback that was not there when the state was saved starts anew.
void put_callback_states(StateDict& state, const std::vector<std::shared_ptr<Callback>>& callbacks);
void restore_callback_states(const StateDict& state, const std::vector<std::shared_ptr<Callback>>& callbacks);

}  // namespace isochron
