// activity_regularizer, class_weight of a batch and EinsumDense against Keras (tests/references/keras_options.json).
#include <gtest/gtest.h>

#include "isochron/graph/tape.h"
#include "isochron/isochron.h"
#include "reference.h"

namespace isochron {
namespace {

using nlohmann::json;
using reference::kReal;
using reference::tensor_of;

const json& keras() { return reference::read_file("keras_options.json"); }

std::vector<Tensor> tensors_of(const json& list) {
  std::vector<Tensor> out;
  for (const json& value : list) out.push_back(tensor_of(value));
  return out;
}

// What stands between the input and Dense(1).
std::vector<AnyLayer> layers_of(const std::string& name) {
  if (name == "dense")
    return {Dense(5, {.activation = "tanh", .activity_regularizer = l1_l2(0.1, 0.2), .dtype = kReal})};
  if (name == "layer") return {Dense(5, {.dtype = kReal}), ActivityRegularization({.l1 = 0.1, .l2 = 0.2})};
  if (name == "conv") return {Conv1D(3, 2, {.activity_regularizer = l2(0.1), .dtype = kReal}), Flatten()};
  if (name == "depthwise") return {DepthwiseConv1D(2, {.activity_regularizer = l1(0.1), .dtype = kReal}), Flatten()};
  if (name == "transposed")
    return {Conv1DTranspose(2, 2, {.activity_regularizer = l1(0.1), .dtype = kReal}), Flatten()};
  if (name == "separable") return {SeparableConv1D(2, 2, {.activity_regularizer = l2(0.2), .dtype = kReal}), Flatten()};
  if (name == "lstm") return {LSTM(3, {.activity_regularizer = l2(0.3), .dtype = kReal})};
  if (name == "both_ways")
    return {Bidirectional(GRU(2, {.activity_regularizer = l1(0.3), .return_sequences = true, .dtype = kReal})),
            Flatten()};
  EXPECT_EQ(name, "einsum");
  return {EinsumDense("abc,cd->abd", {3, 4}, {.activity_regularizer = l2(0.1), .dtype = kReal}), Flatten()};
}

TEST(ActivityRegularizer, IsPartOfTheLossAsInKeras) {
  for (const json& one : keras()["activity"]) {
    SCOPED_TRACE(one["model"].get<std::string>());
    const Tensor x = tensor_of(one["x"]), y = tensor_of(one["y"]);
    std::vector<AnyLayer> layers = layers_of(one["model"]);
    layers.insert(layers.begin(), Input(x.shape().erase(0), {.dtype = kReal}));
    layers.push_back(Dense(1, {.dtype = kReal}));
    Sequential model(layers);
    model.set_weights(tensors_of(one["weights"]));
    model.compile({.optimizer = SGD(0.05), .loss = "mse"});
    EXPECT_NEAR(model.evaluate(x, y, {.verbose = 0})[0].second, one["evaluate"].get<double>(), 1e-5);
    for (size_t step = 0; step < one["losses"].size(); ++step) {
      const int64_t rows = one["rows"][step];
      const Logs logs = model.train_on_batch(slice(x, {0}, {rows}).eval(), slice(y, {0}, {rows}).eval());
      EXPECT_NEAR(logs[0].second, one["losses"][step].get<double>(), 1e-5) << "step " << step;
    }
  }
}

TEST(ActivityRegularizer, OfASavedModelGoesOn) {
  Sequential model{Input({2}), Dense(3, {.activity_regularizer = l2(0.5)})};
  model.compile({.optimizer = SGD(0.1), .loss = "mse"});
  const std::string path = testing::TempDir() + "activity.iso";
  model.save(path);
  const auto loaded = load_model(path);
  const Tensor x = random_normal({4, 2}, 0, 1, {.seed = 2}).eval(), y = zeros({4, 3}).eval();
  EXPECT_EQ(loaded->get_config(), model.get_config());
  for (int step = 0; step < 3; ++step) EXPECT_EQ(loaded->train_on_batch(x, y), model.train_on_batch(x, y));
  EXPECT_EQ(loaded->losses().size(), 1u);
}

TEST(ActivityRegularizer, IsThatOfTheLastCallAndOfEachOutput) {
  Dense dense(1, {.use_bias = false, .kernel_initializer = "ones", .activity_regularizer = l1(1)});
  dense(ones({4, 2}));
  dense(tensor({{1.f, 2.f}, {3.f, -1.f}}));
  ASSERT_EQ(dense.losses().size(), 1u);
  EXPECT_NEAR(dense.losses()[0].item(), (3 + 2) / 2.0, 1e-6);
  LSTM lstm(2, {.activity_regularizer = l2(1), .return_state = true});
  lstm(std::vector{ones({3, 2, 2})});
  EXPECT_EQ(lstm.losses().size(), 3u);  // output, h and c
}

TEST(TrainOnBatch, WeighsClassesAsKerasDoes) {
  const json& one = keras()["class_weight"];
  Sequential model{Input({3}, {.dtype = kReal}), Dense(4, {.dtype = kReal})};
  model.set_weights(tensors_of(one["weights"]));
  model.compile({.optimizer = SGD(0.5), .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  const Tensor x = tensor_of(one["x"]), y = tensor_of(one["y"]), w = tensor_of(one["sample_weight"]);
  const auto classes = one["class_weight"].get<std::map<int64_t, double>>();
  for (size_t step = 0; step < 5; ++step) {
    const Logs logs = model.train_on_batch(x, y, step < 3 ? Tensors{} : Tensors(w), classes);
    EXPECT_NEAR(logs[0].second, one["losses"][step].get<double>(), 1e-5) << "step " << step;
  }
  EXPECT_ERROR(model.train_on_batch(x, y, {}, {{2, -1.0}}), ValueError, "[train_on_batch] class_weight");
}

TEST(EinsumDense, AgreesWithKeras) {
  for (const json& one : keras()["einsum"]) {
    SCOPED_TRACE(one["equation"].get<std::string>() + " " + one["bias_axes"].get<std::string>());
    EinsumDense layer(one["equation"], Sizes(one["output_shape"].get<std::vector<int64_t>>()),
                      {.activation = "tanh", .bias_axes = one["bias_axes"].get<std::string>(), .dtype = kReal});
    const Variable x(tensor_of(one["x"]));
    layer.ensure_built(x.shape().erase(0));
    const std::vector<Tensor> start = tensors_of(one["weights"]);
    ASSERT_EQ(layer.weights().size(), start.size());
    std::vector<Tensor> wanted{x};
    for (size_t i = 0; i < start.size(); ++i) {
      ASSERT_EQ(layer.weights()[i].shape(), start[i].shape());
      layer.weights()[i].assign(start[i]);
      wanted.push_back(layer.weights()[i]);
    }
    GradientTape tape;
    const Tensor y = layer(x);
    EXPECT_CLOSE(y, tensor_of(one["y"]), 1e-9, 1e-10);
    EXPECT_EQ(layer.output_shape(x.shape().erase(0)), y.shape().erase(0));
    const std::vector<Tensor> gradients = tape.gradient(sum(y * tensor_of(one["dy"])), wanted);
    for (size_t i = 0; i < gradients.size(); ++i)
      EXPECT_CLOSE(gradients[i], tensor_of(one["gradients"][i]), 1e-8, 1e-9);
  }
}

// Glorot's bound is that of the fans the equation tells: 40 in, 20 * 30 out.
TEST(EinsumDense, StartsByTheFansOfItsEquation) {
  EinsumDense layer("abc,cde->abde", {-1, 20, 30});
  layer.ensure_built(Shape{3, 40});
  const double bound = std::sqrt(6.0 / (40 + 20 * 30));
  EXPECT_LE(max(abs(layer.kernel())).item(), bound);
  EXPECT_GT(max(abs(layer.kernel())).item(), 0.98 * bound);
}

TEST(EinsumDense, IsADenseLayerOfAModel) {
  set_seed(4);
  const Input in({3, 4});
  const SymbolicTensor heads = EinsumDense("abc,cde->abde", {-1, 2, 5}, {.activation = "relu", .bias_axes = "de"})(in);
  Model model(in, EinsumDense("...de,def->...f", 1)(heads));
  EXPECT_EQ(model.output_shape({3, 4}), (Shape{3, 1}));
  model.compile({.optimizer = Adam(0.02), .loss = "mse"});
  const Tensor x = random_normal({64, 3, 4}, 0, 1, {.seed = 1}).eval(), y = sum(x, {2}, true).eval();
  const History history = model.fit(x, y, {.epochs = 20, .verbose = 0});
  EXPECT_LT(history["loss"].back(), 0.2 * history["loss"].front());
}

TEST(EinsumDense, SaysWhatDoesNotFit) {
  EXPECT_ERROR(EinsumDense("ab,bc", 3), ValueError, "got \"ab,bc\"");
  EXPECT_ERROR(EinsumDense("...ab,bc->ac", 3), ValueError, "an equation is");
  EXPECT_ERROR(EinsumDense("ab,bc->ac", 3, {.bias_axes = "d"}), ValueError, "bias axis 'd' is not in the output");
  EXPECT_ERROR(EinsumDense("abc,cd->abd", 5)(ones({2, 3, 4})), ValueError,
               "needs 2 numbers for \"abc,cd->abd\", got (5)");
  EXPECT_ERROR(EinsumDense("abc,cd->abd", {2, 5})(ones({2, 3, 4})), ShapeError, "'b' of \"abc,cd->abd\" is 3");
  EXPECT_ERROR(EinsumDense("abc,cd->abd", {-1, 5})(ones({2, 4})), ShapeError, "does not fit inputs (batch, 4)");
  EXPECT_ERROR(EinsumDense("ab,bc->ac", -1)(ones({2, 4})), ValueError, "how large 'c'");
  EXPECT_ERROR(EinsumDense("ab,bcd->ac", 3)(ones({2, 4})), ValueError, "'d' of the kernel");
  EXPECT_ERROR(EinsumDense("ab,abc->ac", 3)(ones({2, 4})), ValueError, "can't have an axis of the batch, 'a'");
}

}  // namespace
}  // namespace isochron
