// Model: a layer that can be trained.
//
//   Sequential model{Dense(128, {.activation = "relu"}), Dense(10)};
//   model.compile({.optimizer = Adam(1e-3), .loss = SparseCategoricalCrossentropy({.from_logits = true}), .metrics =
//   {"accuracy"}}); History history = model.fit(x, y, {.epochs = 10, .validation_split = 0.1}); model.evaluate(x_test,
//   y_test);  model.predict(x_test);
//
// Models that are no plain chain are written with symbolic tensors (symbolic.h), and may have several inputs and
// outputs:
//
//   auto title = Input({40}, {.name = "title"}), body = Input({200}, {.name = "body"});
//   auto x = Concatenate()({Dense(16)(title), Dense(16)(body)});
//   Model model({title, body}, {Dense(1, {.name = "priority"})(x), Dense(4, {.name = "department"})(x)});
//   model.compile({.loss = {{"priority", "mse"}, {"department", SparseCategoricalCrossentropy({.from_logits = true})}},
//                  .metrics = {{"department", {"accuracy"}}}, .loss_weights = {{"priority", 0.2}}});
//   model.fit({t, b}, {p, d}, {.epochs = 2});                 // or by name: {{"title", t}, {"body", b}}
//
// Copies of a model share its weights and its compilation. How training runs is told in train/.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isochron/nn/given_callbacks.h"
#include "isochron/nn/layer.h"
#include "isochron/nn/logs.h"
#include "isochron/nn/loss.h"
#include "isochron/nn/metric.h"
#include "isochron/nn/per_output.h"
#include "isochron/optim/any_optimizer.h"

namespace isochron {

class Estimate;       // train/estimate.h
class History;        // train/history.h
class TrainingState;  // train/training.h
namespace profiler {
class Profile;  // profiler/profile.h
}
namespace data {
class Dataset;  // data/dataset.h
}

// What to do when a loss, or a gradient, is NaN or infinite.
enum class NanPolicy {
  raise,  // NumericError naming epoch, step and the first op that produced it; the weights are as before the step
  warn,   // say so once, and go on
  skip,   // leave the weights alone in that step, and count it
};

// What to do when no step completes for much longer than steps take (train/watchdog.h).
enum class OnStall {
  warn,   // say where it stands, and whether it is slow or stuck
  dump,   // and the stacks of all threads
  abort,  // save what can be saved, then StallError from fit(); the weights are those of the last step
  off,
};

struct WatchdogOptions {
  OnStall action = OnStall::warn;
  double first_step_limit = 60;                                   // seconds that the first step may take
  double least_limit = 10;                                        // a step is never too long before this
  double times_usual = 20;                                        // nor before so many times what steps usually take
  std::function<void(const std::string& report)> on_report = {};  // in place of standard error
};

struct CompileOptions {
  AnyOptimizer optimizer = "rmsprop";
  PerOutput<AnyLoss> loss = {};  // an output that is not named has none, and no targets
  MetricsByOutput metrics = {};  // every example counts alike
  PerOutput<double> loss_weights = {};
  MetricsByOutput weighted_metrics = {};  // by sample_weight and class_weight; "weighted_…" where a name is taken
  NanPolicy nan_policy = NanPolicy::raise;
};

// Tensors, or a data set of batches.
struct ValidationData {
  ValidationData() = default;  // none
  ValidationData(Tensors x_, Tensors y_, Tensors sample_weight_ = {})
      : x(std::move(x_)), y(std::move(y_)), sample_weight(std::move(sample_weight_)) {}
  ValidationData(const data::Dataset& dataset);
  explicit operator bool() const { return dataset || !x.empty(); }
  Tensors x, y, sample_weight;
  std::shared_ptr<const data::Dataset> dataset;
};

struct FitOptions {
  int epochs = 1;
  int64_t batch_size = 32;
  bool shuffle = true;
  double validation_split = 0;          // the last part of x and y, before shuffling
  ValidationData validation_data = {};  // {x, y}, {x, y, sample_weight} or a data set
  int64_t validation_batch_size = 0;    // 0: batch_size
  int validation_freq = 1;
  std::map<int64_t, double> class_weight = {};  // of the loss, by label or place in a one-hot target; others weigh 1
  Tensors sample_weight = {};                   // one weight a row; of one output each when there are several
  int initial_epoch = 0;
  std::optional<int64_t> steps_per_epoch = {};
  std::optional<int64_t> validation_steps = {};
  int verbose = 1;  // 0 silent, 1 progress line, 2 one line an epoch
  GivenCallbacks callbacks = {};
  bool timeline = true;                             // keep the record behind History::epoch_report()
  isochron::profiler::Profile* profiler = nullptr;  // started with training, told of every step, stopped at the end
  // A checkpoint, or a folder of them of which the newest is taken: training goes on exactly where it was saved, in
  // mid-epoch too. FileError when there is none (BackupAndRestore starts anew instead).
  std::string resume = {};
  WatchdogOptions watchdog = {};
};

struct EvaluateOptions {
  int64_t batch_size = 32;
  Tensors sample_weight = {};
  std::optional<int64_t> steps = {};
  int verbose = 1;
  GivenCallbacks callbacks = {};  // their on_test_… hooks
};

struct PredictOptions {
  int64_t batch_size = 32;
  std::optional<int64_t> steps = {};  // batches; none: all
  int verbose = 0;
  GivenCallbacks callbacks = {};  // their on_predict_… hooks
};

struct ModelOptions {
  std::string name = {};
  std::string dtype_policy = {};  // of all layers: "mixed_bfloat16"; see Layer::set_dtype_policy()
};
struct ModelGraph;  // model_graph.h

class Model : public Layer {
 public:
  Model();  // for classes of models that define call()
  // What leads from the inputs to the outputs. ValueError when an output needs an input that is not listed, when an
  // input is not one, or when two layers have the same name.
  Model(const SymbolicTensors& inputs, const SymbolicTensors& outputs, ModelOptions options = {});
  std::string class_name() const override { return graph_ ? "Functional" : "Model"; }
  std::shared_ptr<Layer> clone() const override { return own_layer(new Model(*this)); }
  bool become(const Layer&) override { return true; }  // parts of models are shared as they are
  bool many() const override;
  Tensor call(const Tensor& x, const CallContext& context) override;
  std::vector<Tensor> call_many(const std::vector<Tensor>& inputs, const CallContext& context) override;
  Shape output_shape(const Shape& input) const override;

  // In the format the name's end tells: .safetensors, .npz, or Keras' .weights.h5. Written whole or not at all. Loading
  // checks names, shapes and dtypes first: FileError lists what is missing, extra and mismatched, and nothing is
  // changed.
  void save_weights(const std::string& path) const;
  void load_weights(const std::string& path, LoadWeightsOptions options = {});
  // Everything, in one file: load_model() (train/model_file.h) makes it again. ValueError for what files can't hold,
  // such as a layer of an unregistered class or a function written in place, and for names of other libraries' files.
  void save(const std::string& path) const;
  // A table of layers, output shapes and parameter counts, as Keras prints it.
  [[nodiscard]] std::string summary() const;
  // The graph of layers as a picture.
  std::string to_svg() const;
  void save_svg(const std::string& path) const;

  virtual std::vector<std::shared_ptr<Layer>> layers() const { return sublayers(); }
  // By name or by number (negative: from the end); ValueError with a suggestion, IndexError.
  std::shared_ptr<Layer> get_layer(const std::string& name) const;
  std::shared_ptr<Layer> get_layer(int64_t index) const;
  // Of functional models; StateError for others.
  std::vector<SymbolicTensor> inputs() const;
  std::vector<SymbolicTensor> outputs() const;
  // What a layer gives inside this model, for another model of the same layers.
  SymbolicTensor output_of(const std::string& layer) const;
  // Names by which data, losses and metrics are given; one each for models that are not functional.
  std::vector<std::string> input_names() const;
  std::vector<std::string> output_names() const;
  const std::shared_ptr<const ModelGraph>& graph() const { return graph_; }  // null for models that are not functional

  void compile(CompileOptions options);
  // StateError before compile(); ShapeError, ValueError and DTypeError for data that do not fit, before anything runs.
  History fit(const Tensors& x, const Tensors& y, FitOptions options = {});
  Logs evaluate(const Tensors& x, const Tensors& y, EvaluateOptions options = {});
  // Of models with one output; predict_all() gives those of all.
  Tensor predict(const Tensors& x, PredictOptions options = {});
  std::vector<Tensor> predict_all(const Tensors& x, PredictOptions options = {});
  // Data sets of batches: (x, y) or (x, y, sample_weight), with several inputs or outputs (x1, x2, y1, y2); batch_size,
  // shuffle, validation_split and sample_weight of the options belong to tensors. An epoch is a pass, or
  // steps_per_epoch batches of passes that go on from epoch to epoch. The input is made ahead in threads of its own.
  History fit(const data::Dataset& dataset, FitOptions options = {});
  Logs evaluate(const data::Dataset& dataset, EvaluateOptions options = {});
  Tensor predict(const data::Dataset& dataset, PredictOptions options = {});
  Logs train_on_batch(const Tensors& x, const Tensors& y, const Tensors& sample_weight = {},
                      const std::map<int64_t, double>& class_weight = {});
  Logs test_on_batch(const Tensors& x, const Tensors& y, const Tensors& sample_weight = {});
  Tensor predict_on_batch(const Tensors& x);

  // What fit() with these options would take: memory, the start, a step, an epoch (train/estimate.h). The model is
  // built and compiled for it and a few steps are timed on scratch copies; weights and optimizer state stay as they
  // are.
  Estimate estimate(const Tensors& x, const Tensors& y, FitOptions options = {});
  Estimate estimate(const data::Dataset& dataset, FitOptions options = {});

  // Set by callbacks: fit ends after this step.
  bool stop_training = false;
  const std::shared_ptr<TrainingState>& training() const { return training_; }
  Optimizer& optimizer() const;

 private:
  std::shared_ptr<TrainingState> training_;
  std::shared_ptr<const ModelGraph> graph_;
};

// Layers one after the other.
class Sequential : public Model {
 public:
  Sequential() = default;
  Sequential(std::initializer_list<AnyLayer> layers);
  explicit Sequential(const std::vector<AnyLayer>& layers, ModelOptions options = {});

  void add(const AnyLayer& layer);
  void pop();
  // Without the Input it may start with, as in Keras.
  std::vector<std::shared_ptr<Layer>> layers() const override;
  std::string class_name() const override { return "Sequential"; }
  std::shared_ptr<Layer> clone() const override { return own_layer(new Sequential(*this)); }
  // The last layer's, which call() has attached to its result.
  Tensor compute_mask(const Tensor&, const Tensor&) override { return {}; }
  void build(const Shape& input) override;
  bool builds_partial() const override { return true; }
  Tensor call(const Tensor& x, const CallContext& context) override;
  Shape output_shape(const Shape& input) const override;

 private:
  std::optional<Shape> gives_;  // the last layer, once add() has worked it out
};

struct InputOptions {
  std::string name = {};
  DType dtype = DType::float32;
};
ISO_OPTIONS(InputOptions, name, dtype)

// The shape of one example: as the first layer of a Sequential, which is then built at once, or as the symbolic tensor
// a functional model starts from. Copies are the same input.
class Input : public Layer {
 public:
  explicit Input(Shape shape, InputOptions options = {});
  // Extents of -1 may be of any size, from batch to batch: Input({-1, 8}) takes sequences of all lengths.
  explicit Input(std::initializer_list<int64_t> shape, InputOptions options = {});
  std::string class_name() const override { return "InputLayer"; }
  ISO_ARGUMENTS(shape_, InputOptions{.dtype = dtype_})
  bool supports_masking() const override { return true; }
  std::shared_ptr<Layer> clone() const override { return own_layer(new Input(*this)); }
  Tensor call(const Tensor& x, const CallContext&) override;
  Shape output_shape(const Shape& input) const override { return shape_.is_partial() ? input : shape_; }
  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  operator SymbolicTensor() const;

 private:
  Shape shape_;
  DType dtype_;
  std::shared_ptr<SymbolicCall> symbol_;  // its layer is a copy without one
};

}  // namespace isochron
