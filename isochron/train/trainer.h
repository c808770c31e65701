// One call of fit(): the loop around the step, and the run that its callbacks see (train_run.h). The loop is in
// trainer.cpp; what is saved of it, and how it goes on from there, in trainer_state.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isochron/train/callback_list.h"
#include "isochron/train/dataset_feed.h"
#include "isochron/train/history.h"
#include "isochron/train/progress.h"
#include "isochron/train/rehearsal.h"
#include "isochron/train/resume.h"
#include "isochron/train/saver.h"
#include "isochron/train/training.h"
#include "isochron/train/watchdog.h"

namespace isochron {

class Trainer : public TrainRun {
 public:
  Trainer(Model& model, Columns train, std::optional<Columns> validation, FitOptions options);
  Trainer(Model& model, const data::Dataset& train, FitOptions options);

  // Told of epochs and steps from now on; ends the training when it has seen enough, and nothing is left behind.
  void rehearse(Rehearsal& rehearsal) { rehearsal_ = &rehearsal; }
  void use_validation(Columns columns) { validation_ = std::move(columns); }
  void use_validation(const data::Dataset& dataset);

  History run();

 private:
  int epoch() const override { return epoch_; }
  int64_t step() const override { return step_; }
  int64_t total_steps() const override { return total_steps_; }
  bool epoch_ended() const override { return epoch_ended_; }
  bool training_ends() const override { return model_.stop_training || (epoch_ended_ && epoch_ >= options_.epochs); }
  Logs logs() const override { return epoch_ended_ ? logs_ : state_.logs(); }
  void expect_saves(bool weights_only) override { saver_.expect(weights_only); }
  bool saving() const override { return saver_.busy(); }
  void save(SaveRequest request) override { saver_.request(std::move(request)); }
  void remove(std::vector<std::string> paths) override { saver_.remove(std::move(paths)); }

  void run_epochs(Timeline& timeline);
  Logs run_epoch(int epoch, Timeline& timeline);
  void run_steps(int epoch, Timeline& timeline);
  void after_step(int64_t step);
  void validate(Logs& logs);
  // Of an epoch, where that can be known.
  std::optional<int64_t> planned_steps() const;
  // The next batch of the data set into train_; false where the epoch ends. With steps_per_epoch passes follow each
  // other.
  bool next_batch(int64_t step);
  // Batch `step` of the epoch. With steps_per_epoch the passes over the data go on from epoch to epoch.
  void run_step(int epoch, int64_t step, Timeline& timeline);
  void pick_rows(int64_t pass, int64_t first, int64_t count);
  // A loss that is NaN or infinite, by the policy of the model.
  template <class F>
  void guarded(int epoch, int64_t step, Timeline& timeline, F&& f);
  // The watchdog has ended it: threads that make the input may never return, and are left to themselves.
  [[noreturn]] void abort(const std::string& report);
  // The plan of the step tells what there will be to save.
  void check_disk();

  void let_callbacks_save(bool epoch_ended);
  void take_saves();
  // What a checkpoint needs beside the model: the place of this run.
  void put_state(StateDict& state) const;
  // Goes on where the checkpoint was taken, if there is one.
  void restore();
  void check_fits(const Checkpoint& checkpoint) const;
  void restore_feeds(const Checkpoint& checkpoint);
  // What the order of the rows follows from, and so what a run in mid-epoch must be resumed with.
  std::string data_text() const;
  void complete_record(RunRecord record);

  Model& model_;
  TrainingState& state_;
  TrainingState::InUse in_use_{state_};
  Columns train_;  // all of it, or the batch of a data set that is being trained on
  std::optional<Columns> validation_;
  std::unique_ptr<DatasetFeed> feed_, validation_feed_;
  FitOptions options_;
  CallbackList callbacks_;
  ProgressLine progress_;
  Watchdog* watchdog_ = nullptr;  // while it runs
  Rehearsal* rehearsal_ = nullptr;
  History history_;
  std::vector<int64_t> indices_;
  int epoch_ = 0;  // whole ones done
  int64_t step_ = 0, total_steps_ = 0;
  bool epoch_ended_ = false, disk_checked_ = false, weights_looked_for_ = false;
  Logs logs_;             // of the last whole epoch
  int64_t examples_ = 0;  // of this epoch so far
  uint64_t seed_ = 0;
  Resume resume_{options_};
  Saver saver_{model_, state_};
};

}  // namespace isochron
