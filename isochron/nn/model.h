// Model: a layer that can be trained.
//
//   Sequential model{Dense(128, {.activation = "relu"}), Dense(10)};
//   model.compile({.optimizer = Adam(1e-3), .loss = SparseCategoricalCrossentropy({.from_logits = true}), .metrics =
//   {"accuracy"}}); History history = model.fit(x, y, {.epochs = 10, .validation_split = 0.1}); model.evaluate(x_test,
//   y_test);  model.predict(x_test);
//
// Copies of a model share its weights and its compilation. How training runs is told in train/.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isochron/nn/layer.h"
#include "isochron/nn/loss.h"
#include "isochron/nn/metric.h"
#include "isochron/optim/any_optimizer.h"

namespace isochron {

class Callback;       // train/callback.h
class History;        // train/history.h
class TrainingState;  // train/training.h
namespace data {
class Dataset;  // data/dataset.h
}

// What to do when a loss is NaN or infinite.
enum class NanPolicy {
  raise,  // NumericError naming epoch, step and the first op that produced it; the weights are as before the step
  warn,   // say so once, and go on
  skip,   // leave the weights alone in that step, and count it
};

struct CompileOptions {
  AnyOptimizer optimizer = "rmsprop";
  AnyLoss loss = {};
  std::vector<AnyMetric> metrics = {};
  NanPolicy nan_policy = NanPolicy::raise;
};

// Tensors, or a data set of batches.
struct ValidationData {
  ValidationData(Tensor x_, Tensor y_, Tensor sample_weight_ = {})
      : x(std::move(x_)), y(std::move(y_)), sample_weight(std::move(sample_weight_)) {}
  ValidationData(const data::Dataset& dataset);
  Tensor x, y, sample_weight;
  std::shared_ptr<const data::Dataset> dataset;
};

struct FitOptions {
  int epochs = 1;
  int64_t batch_size = 32;
  bool shuffle = true;
  double validation_split = 0;  // the last part of x and y, before shuffling
  std::optional<ValidationData> validation_data = {};
  int64_t validation_batch_size = 0;  // 0: batch_size
  int validation_freq = 1;
  std::map<int64_t, double> class_weight = {};
  Tensor sample_weight = {};
  int initial_epoch = 0;
  std::optional<int64_t> steps_per_epoch = {};
  std::optional<int64_t> validation_steps = {};
  int verbose = 1;  // 0 silent, 1 progress line, 2 one line an epoch
  std::vector<std::shared_ptr<Callback>> callbacks = {};
  bool timeline = true;  // keep the record behind History::epoch_report()
};

struct EvaluateOptions {
  int64_t batch_size = 32;
  Tensor sample_weight = {};
  std::optional<int64_t> steps = {};
  int verbose = 1;
};

struct PredictOptions {
  int64_t batch_size = 32;
  int verbose = 0;
};

// Loss and metrics by name, in the order in which they were declared.
using Logs = std::vector<std::pair<std::string, double>>;

class Model : public Layer {
 public:
  Model();
  std::string class_name() const override { return "Model"; }

  // Weights in order, as copies; setting checks count and shapes and lists what does not fit.
  std::vector<Tensor> get_weights() const;
  void set_weights(const std::vector<Tensor>& weights);
  // A table of layers, output shapes and parameter counts, as Keras prints it.
  std::string summary() const;
  virtual std::vector<std::shared_ptr<Layer>> layers() const { return sublayers(); }

  void compile(CompileOptions options);
  // StateError before compile(); ShapeError, ValueError and DTypeError for data that do not fit, before anything runs.
  History fit(const Tensor& x, const Tensor& y, FitOptions options = {});
  Logs evaluate(const Tensor& x, const Tensor& y, EvaluateOptions options = {});
  Tensor predict(const Tensor& x, PredictOptions options = {});
  // Data sets of batches: (x, y) or (x, y, sample_weight); batch_size, shuffle, validation_split, class_weight and
  // sample_weight of the options belong to tensors. An epoch is a pass, or steps_per_epoch batches of passes that go on
  // from epoch to epoch. The input is made ahead in threads of its own.
  History fit(const data::Dataset& dataset, FitOptions options = {});
  Logs evaluate(const data::Dataset& dataset, EvaluateOptions options = {});
  Tensor predict(const data::Dataset& dataset, PredictOptions options = {});
  Logs train_on_batch(const Tensor& x, const Tensor& y, const Tensor& sample_weight = {});
  Logs test_on_batch(const Tensor& x, const Tensor& y, const Tensor& sample_weight = {});
  Tensor predict_on_batch(const Tensor& x);

  // Set by callbacks: fit ends after this step.
  bool stop_training = false;
  const std::shared_ptr<TrainingState>& training() const { return training_; }
  Optimizer& optimizer() const;

 private:
  std::shared_ptr<TrainingState> training_;
};

// Layers one after the other.
class Sequential : public Model {
 public:
  Sequential() = default;
  Sequential(std::initializer_list<AnyLayer> layers);
  explicit Sequential(const std::vector<AnyLayer>& layers);

  void add(const AnyLayer& layer);
  void pop();
  std::string class_name() const override { return "Sequential"; }
  // The last layer's, which call() has attached to its result.
  Tensor compute_mask(const Tensor&, const Tensor&) override { return {}; }
  void build(const Shape& input) override;
  Tensor call(const Tensor& x, const CallContext& context) override;
  Shape output_shape(const Shape& input) const override;
};

// The shape of one example, as the first layer of a Sequential: the model is built at once.
class Input : public Layer {
 public:
  explicit Input(Shape shape) : shape_(shape) {}
  std::string class_name() const override { return "InputLayer"; }
  bool supports_masking() const override { return true; }
  Tensor call(const Tensor& x, const CallContext&) override;
  Shape output_shape(const Shape&) const override { return shape_; }
  const Shape& shape() const { return shape_; }

 private:
  Shape shape_;
};

}  // namespace isochron
