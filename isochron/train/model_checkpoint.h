// Saving while training, with Keras' names and options. Writing happens in another thread; training stands still only
// for a copy in memory.
//
//   // Weights every five epochs, and the whole state of the run every epoch, the last three kept:
//   model.fit(x, y, {.epochs = 100, .validation_split = 0.1, .callbacks = {
//       std::make_shared<ModelCheckpoint>("weights-{epoch:04d}.safetensors",
//                                         ModelCheckpoint::Options{.save_weights_only = true, .period = 5}),
//       std::make_shared<ModelCheckpoint>("run/ckpt-{epoch:04d}-{val_loss:.2f}",
//                                         ModelCheckpoint::Options{.keep_last = 3})}});
//   model.fit(x, y, {.epochs = 100, .resume = "run"});                 // goes on at the newest of them
//   std::make_shared<ModelCheckpoint>("best.iso", ModelCheckpoint::Options{.save_best_only = true});  // as
//   model.save()
//
//   // Or without a thought: a run that is killed goes on when it is started again.
//   model.fit(x, y, {.epochs = 100, .callbacks = {std::make_shared<BackupAndRestore>("backup")}});
//
// A path that ends in .iso is a file for load_model(): the model, its weights and its optimizer. A whole state is a
// folder (checkpoint/store.h): weights, optimizer, random numbers, metrics, callbacks, history, epoch, step and place
// in the data, so that going on gives the same losses to the bit. docs/checkpoints.md tells more.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isochron/checkpoint/async_writer.h"
#include "isochron/train/callbacks.h"
#include "isochron/train/checkpoint_path.h"

namespace isochron {

// "epoch", or a number of steps.
class SaveFreq {
 public:
  SaveFreq(const char* epoch);  // ValueError for other words
  SaveFreq(int64_t steps);      // ValueError below 1
  SaveFreq(int steps) : SaveFreq(static_cast<int64_t>(steps)) {}
  bool by_epoch() const { return steps_ == 0; }
  int64_t steps() const { return steps_; }

 private:
  int64_t steps_ = 0;
};

class ModelCheckpoint : public Callback {
 public:
  struct Options {
    std::string monitor = "val_loss";
    int verbose = 0;
    bool save_best_only = false;
    bool save_weights_only = false;  // to a file: .safetensors, .npz or .weights.h5
    MonitorMode mode = MonitorMode::automatic;
    SaveFreq save_freq = "epoch";
    int period = 1;                                      // epochs between saves, with save_freq "epoch"
    std::optional<double> initial_value_threshold = {};  // to be passed by the first "best" one
    int keep_last = 0, keep_best = 0;                    // 0: all; both: those that either keeps
    // In the training thread, when a save is on the disk.
    std::function<void(const CheckpointInfo&)> on_saved = {};
  };
  // In `filepath`, {epoch} (from 1), {batch} and the names of metrics are filled in, each with a format if wanted:
  // {epoch:04d}, {val_loss:.2f}. ValueError for a format that does not fit, or an ending that is none of a file of
  // weights.
  explicit ModelCheckpoint(std::string filepath) : ModelCheckpoint(std::move(filepath), Options{}) {}
  ModelCheckpoint(std::string filepath, Options options);

  void on_train_begin(const Logs& logs) override;
  void between_steps(TrainRun& run) override;
  // Saves what there is, as "aborted" beside the others where names tell more than is known then.
  void on_abort(TrainRun& run, const std::string& report) override;
  DiskNeed disk_need() const override;
  void save_state(StateDict& state) const override;
  void load_state(const StateDict& state) override;

  std::optional<double> best() const { return best_; }

 private:
  struct Generation {
    enum class State { asked_for, kept, unwanted };
    std::string path;
    double value;  // of the monitored metric; NaN: unknown
    State state;
  };
  bool to_file() const;
  bool due(const TrainRun& run);
  void save(TrainRun& run, const std::string& path, double value);
  void done(TrainRun& run, const SaveOutcome& outcome, int epoch);
  std::vector<std::string> surplus();
  void find_generations(const std::map<std::string, double>& values);

  const std::string filepath_;
  const Options options_;
  std::optional<Monitor> monitor_;  // where one is needed
  std::optional<double> best_;
  int64_t since_last_ = 0;               // epochs or steps
  int64_t began_ns_ = 0;                 // the run, by save_clock_ns(), whatever it has been resumed from
  std::vector<Generation> generations_;  // oldest first
  bool expected_ = false;
};

// Saves the state of the run and goes on from it when fit() is called again after a crash. When training ends well the
// backup is removed.
class BackupAndRestore : public Callback {
 public:
  struct Options {
    SaveFreq save_freq = "epoch";
    bool delete_checkpoint = true;   // when training has ended
    bool double_checkpoint = false;  // keep the one before the last as well
    int verbose = 0;
    std::function<void(const CheckpointInfo&)> on_saved = {};
  };
  explicit BackupAndRestore(std::string backup_dir) : BackupAndRestore(std::move(backup_dir), Options{}) {}
  BackupAndRestore(std::string backup_dir, Options options);

  std::string resume_from() const override { return folder_; }
  void on_train_begin(const Logs& logs) override;
  void between_steps(TrainRun& run) override;
  void on_abort(TrainRun& run, const std::string&) override { save(run); }
  DiskNeed disk_need() const override;
  void on_train_end(const Logs& logs) override;
  void save_state(StateDict& state) const override;
  void load_state(const StateDict& state) override;

 private:
  void save(TrainRun& run);
  std::string path_of(int64_t steps) const;
  std::vector<std::string> all_but(const std::string& path) const;

  const std::string folder_;
  const Options options_;
  int64_t since_last_ = 0, newest_ = 0;  // steps
  bool expected_ = false, waiting_ = false, put_off_ = false, resumed_ = false;
};

}  // namespace isochron
