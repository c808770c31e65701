// The run that callbacks are part of, as it stands between two steps: where it is, and how its state is saved.
//
//   void between_steps(TrainRun& run) override {
//     if (run.epoch_ended()) run.save({.path = "run/last"});        // taken when all callbacks have had their turn
//   }
#pragma once

#include <functional>

#include "isochron/checkpoint/async_writer.h"
#include "isochron/nn/model.h"

namespace isochron {

struct SaveRequest {
  std::string path = {};
  bool weights_only = false;  // to a file, in the format the end of its name tells
  // A path that ends in .iso: the model as Model::save() writes it.
  // In the training thread, when it is on the disk, or has failed for the first time.
  std::function<void(const SaveOutcome&)> done = {};
};

class TrainRun {
 public:
  virtual ~TrainRun() = default;
  virtual int epoch() const = 0;     // whole epochs done
  virtual int64_t step() const = 0;  // steps done in the one under way; 0 at the end of an epoch
  virtual int64_t total_steps() const = 0;
  virtual bool epoch_ended() const = 0;
  virtual bool training_ends() const = 0;  // no step will follow
  // Of the epoch so far, or of the whole epoch when it has ended, validation included.
  virtual Logs logs() const = 0;

  // Saves of this kind will come: memory is made ready.
  virtual void expect_saves(bool weights_only) = 0;
  // An earlier save is still being written; another one would wait for it.
  virtual bool saving() const = 0;
  virtual void save(SaveRequest request) = 0;
  // Removes checkpoints and files of weights in the writer's thread.
  virtual void remove(std::vector<std::string> paths) = 0;
};

}  // namespace isochron
