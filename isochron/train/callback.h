// Hooks into training, with Keras' names and moments.
//
//   class Stop : public Callback {
//     void on_epoch_end(int epoch, const Logs& logs) override { if (logs["loss"] < 0.1)
//     model()->stop_training = true; }
//   };
//   model.fit(x, y, {.callbacks = {std::make_shared<Stop>()}});
//
// Epochs and batches count from 0, as in Keras. Batch hooks that want numbers say so by needs_batch_logs(): the numbers
// then have to be read from the plan at every step.
//
// A callback that must go on exactly after a resume keeps what it has learnt by save_state() and load_state().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isochron/nn/model.h"
#include "isochron/train/preflight.h"

namespace isochron {

class StateDict;  // checkpoint/state_dict.h
class TrainRun;   // train_run.h

class Callback {
 public:
  virtual ~Callback() = default;
  virtual void on_train_begin(const Logs& /*logs*/) {}
  virtual void on_train_end(const Logs& /*logs*/) {}
  virtual void on_epoch_begin(int /*epoch*/, const Logs& /*logs*/) {}
  virtual void on_epoch_end(int /*epoch*/, const Logs& /*logs*/) {}
  virtual void on_train_batch_begin(int64_t /*batch*/, const Logs& /*logs*/) {}
  virtual void on_train_batch_end(int64_t /*batch*/, const Logs& /*logs*/) {}
  virtual void on_test_begin(const Logs& /*logs*/) {}
  virtual void on_test_end(const Logs& /*logs*/) {}
  virtual void on_test_batch_begin(int64_t /*batch*/, const Logs& /*logs*/) {}
  virtual void on_test_batch_end(int64_t /*batch*/, const Logs& /*logs*/) {}
  virtual void on_predict_begin(const Logs& /*logs*/) {}
  virtual void on_predict_end(const Logs& /*logs*/) {}
  virtual void on_predict_batch_begin(int64_t /*batch*/, const Logs& /*logs*/) {}
  virtual void on_predict_batch_end(int64_t /*batch*/, const Logs& /*logs*/) {}
  virtual bool needs_batch_logs() const { return false; }
  // At the end of an epoch, before any on_epoch_end(): numbers of its own for the logs, which everybody then sees.
  virtual void add_to_logs(Logs& /*logs*/) const {}
  // The watchdog ends the training (OnStall::abort); the weights are those of the last step. What run.save() is asked
  // for here is on the disk before fit() throws.
  virtual void on_abort(TrainRun& /*run*/, const std::string& /*report*/) {}
  // What it will write and keep at one time, for the warning when the disk is too small for it; asked before the first
  // step, when model() is built.
  virtual DiskNeed disk_need() const { return {}; }

  // After every step and every epoch, when all callbacks have seen its end: the moment at which the state of the run
  // can be saved (train_run.h).
  virtual void between_steps(TrainRun& /*run*/) {}
  // load_state() gets back what save_state() put, after on_train_begin(), and after on_epoch_begin() in mid-epoch.
  virtual void save_state(StateDict& /*state*/) const {}
  virtual void load_state(const StateDict& /*state*/) {}
  // A folder in which to look for a checkpoint to go on from.
  virtual std::string resume_from() const { return {}; }

  Model* model() const { return model_; }
  void set_model(Model* model) { model_ = model; }
  // What is known of the training before it begins.
  struct Params {
    int epochs = 0;
    int64_t steps = 0;  // of an epoch; 0: unknown
  };
  const Params& params() const { return params_; }
  void set_params(Params params) { params_ = params; }
  // Whether this training goes on where another one stopped; known from on_train_begin() on.
  bool resuming() const { return resuming_; }
  void set_resuming(bool on) { resuming_ = on; }

 private:
  Model* model_ = nullptr;
  Params params_;
  bool resuming_ = false;
};

// Callbacks from functions, for short ones.
class LambdaCallback : public Callback {
 public:
  struct Hooks {
    std::function<void(int, const Logs&)> on_epoch_begin = {}, on_epoch_end = {};
    std::function<void(int64_t, const Logs&)> on_train_batch_begin = {}, on_train_batch_end = {};
    std::function<void(const Logs&)> on_train_begin = {}, on_train_end = {};
  };
  explicit LambdaCallback(Hooks hooks) : hooks_(std::move(hooks)) {}
  void on_train_begin(const Logs& logs) override {
    if (hooks_.on_train_begin) hooks_.on_train_begin(logs);
  }
  void on_train_end(const Logs& logs) override {
    if (hooks_.on_train_end) hooks_.on_train_end(logs);
  }
  void on_epoch_begin(int epoch, const Logs& logs) override {
    if (hooks_.on_epoch_begin) hooks_.on_epoch_begin(epoch, logs);
  }
  void on_epoch_end(int epoch, const Logs& logs) override {
    if (hooks_.on_epoch_end) hooks_.on_epoch_end(epoch, logs);
  }
  void on_train_batch_begin(int64_t batch, const Logs& logs) override {
    if (hooks_.on_train_batch_begin) hooks_.on_train_batch_begin(batch, logs);
  }
  void on_train_batch_end(int64_t batch, const Logs& logs) override {
    if (hooks_.on_train_batch_end) hooks_.on_train_batch_end(batch, logs);
  }
  bool needs_batch_logs() const override { return static_cast<bool>(hooks_.on_train_batch_end); }

 private:
  Hooks hooks_;
};

// The value of a name, or NaN.
double logs_value(const Logs& logs, const std::string& name);

}  // namespace isochron
