#include "isochron/nn/layers.h"

#include <gtest/gtest.h>
#include <cmath>

#include "isochron/exec/function.h"
#include "isochron/nn/model.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/random_key.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"
#include "isochron/optim/optimizers.h"
#include "isochron/train/history.h"
#include "reference.h"

namespace isochron {
namespace {

const CallContext kTraining{.training = true};

// The program's layer and the model's copy of it, whichever is built first.
TEST(Layers, ShareTheirWeightsWithTheModelsTheyAreGivenTo) {
  const Tensor x = ones({2, 3});
  Dense dense(1);
  Sequential model{dense}, other{dense};
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(x, ones({2, 1}), {.verbose = 0});
  ASSERT_TRUE(dense.built());
  EXPECT_TRUE(same_elements(dense.kernel(), model.get_weights()[0]));
  EXPECT_TRUE(same_elements(other(x), model(x)));
  EXPECT_EQ(dense.name(), model.layers()[0]->name());

  Dense first(2);
  Sequential later{first};
  EXPECT_TRUE(same_elements(first(x), later(x)));

  Sequential kept = [] {
    Dense gone(2);
    return Sequential{gone, Dense(1)};
  }();
  EXPECT_EQ(kept(x).shape(), Shape({2, 1}));

  Sequential base{Dense(2)};
  Sequential whole{base, Dense(1)};
  whole(x);
  EXPECT_TRUE(base.built());
  EXPECT_TRUE(same_elements(base.get_weights()[0], whole.get_weights()[0]));
  EXPECT_FALSE(same_elements(Sequential{Dense(2)}(x), Sequential{Dense(2)}(x)));
}

TEST(Dense, IsAMatrixProductWithBiasAndActivation) {
  Dense dense(2, {.activation = "relu", .kernel_initializer = "ones", .bias_initializer = initializers::constant(-4)});
  EXPECT_CLOSE(dense(tensor({{1.f, 2.f, 3.f}, {0.f, 1.f, 1.f}})), tensor({{2.f, 2.f}, {0.f, 0.f}}), 0, 0);
  EXPECT_EQ(dense.weights().size(), 2u);
  EXPECT_EQ(dense.count_params(), 8);
  EXPECT_NE(Dense(2, "relu").get_config().find("\"relu\""), std::string::npos);
  EXPECT_EQ(dense.kernel().name(), dense.name() + "/kernel");
  EXPECT_EQ(dense.output_shape({5, 3}), Shape({5, 2}));
}

TEST(Dense, SaysWhatDoesNotFit) {
  EXPECT_ERROR(Dense(0), ValueError, "units must be at least 1, got 0");
  EXPECT_ERROR(Dense(4, {.activation = "rleu"}), ValueError, "did you mean \"relu\"?");
  Dense dense(4, {.name = "hidden"});
  EXPECT_ERROR(dense.input_shape(), StateError, "layer \"hidden\" has not been built");
  EXPECT_ERROR(dense(zeros({7})), ShapeError, "got examples of shape (); put Flatten() or Reshape() before it");
  EXPECT_ERROR(dense(scalar(1)), ShapeError, "got a scalar");
  dense(zeros({2, 100}));
  EXPECT_ERROR(dense(zeros({2, 784})), ShapeError, "has 784 features, layer \"hidden\" was built for 100");
}

TEST(Layer, NamesCountWithinTheirClass) {
  class OfItsOwn : public Layer {
   public:
    std::string class_name() const override { return "OfItsOwn"; }
    Tensor call(const Tensor& x, const CallContext&) override { return x; }
  };
  OfItsOwn first, second;
  EXPECT_EQ(first.name(), "of_its_own");
  EXPECT_EQ(second.name(), "of_its_own_1");
}

TEST(Layer, FrozenWeightsAreNotTrainable) {
  Dense dense(3);
  dense.set_trainable(false);
  dense(zeros({1, 2}));
  EXPECT_TRUE(dense.trainable_variables().empty());
  EXPECT_EQ(dense.non_trainable_variables().size(), 2u);
  dense.set_trainable(true);
  EXPECT_EQ(dense.trainable_variables().size(), 2u);
}

TEST(ActivationLayer, TakesNamesAndFunctions) {
  const Tensor x = tensor({{-1.f, 2.f}});
  EXPECT_CLOSE(Activation("relu")(x), tensor({{0.f, 2.f}}), 0, 0);
  EXPECT_CLOSE(Activation([](const Tensor& t) { return t * 3; })(x), tensor({{-3.f, 6.f}}), 0, 0);
  EXPECT_CLOSE(sum(Activation("softmax")(x)), scalar(1), 1e-6, 0);
  EXPECT_EQ(Activation("relu", {.name = "act"}).name(), "act");
  EXPECT_EQ(Activation("tanh").output_shape({3, 4}), Shape({3, 4}));
}

TEST(FlattenLayer, KeepsTheBatch) {
  EXPECT_EQ(Flatten()(zeros({5, 2, 3, 4})).shape(), Shape({5, 24}));
  EXPECT_EQ(Flatten()(zeros({5})).shape(), Shape({5, 1}));
  EXPECT_EQ(Flatten()(zeros({0, 2, 3})).shape(), Shape({0, 6}));
  EXPECT_EQ(Flatten().output_shape({2, 3}), Shape({6}));
}

TEST(FlattenLayer, ChannelsFirstGivesTheFeaturesOfChannelsLast) {
  const Tensor last = reshape(arange(24), {1, 2, 3, 4}), first = transpose(last, {0, 3, 1, 2});
  Flatten flatten({.data_format = "channels_first"});
  EXPECT_TRUE(same_elements(flatten(first), Flatten()(last)));
  EXPECT_ERROR(Flatten({.data_format = "channel_first"}), ValueError, "did you mean \"channels_first\"?");
}

TEST(ReshapeLayer, WorksOutOneExtent) {
  EXPECT_EQ(Reshape({-1, 2})(zeros({3, 4, 5})).shape(), Shape({3, 10, 2}));
  EXPECT_EQ(Reshape({20})(zeros({3, 4, 5})).shape(), Shape({3, 20}));
  EXPECT_EQ(Reshape({4, -1}).output_shape({20}), Shape({4, 5}));
}

TEST(ReshapeLayer, SaysWhatDoesNotFit) {
  EXPECT_ERROR(Reshape({-1, -1}), ValueError, "at most one may be -1, got (-1, -1)");
  EXPECT_ERROR(Reshape({-2}), ValueError, "must not be negative");
  EXPECT_ERROR(Reshape({3, 3})(zeros({2, 8})), ShapeError, "an example of shape (8,) has 8 elements");
  EXPECT_ERROR(Reshape({3, -1})(zeros({2, 8})), ShapeError, "do not fit (3, -1)");
}

TEST(RescalingLayer, ScalesBytesToFloats) {
  const Tensor pixels = tensor({{0, 51, 255}}, DType::uint8);
  EXPECT_CLOSE(Rescaling(1. / 255)(pixels), tensor({{0.f, 0.2f, 1.f}}), 1e-6, 0);
  EXPECT_CLOSE(Rescaling(2. / 255, -1)(pixels), tensor({{-1.f, -0.6f, 1.f}}), 1e-5, 0);
  EXPECT_EQ(Rescaling(2)(zeros({1, 2}, DType::float64)).dtype(), DType::float64);
  EXPECT_ERROR(Rescaling{INFINITY}, ValueError, "must be finite");
}

TEST(DropoutLayer, LeavesInferenceAlone) {
  const Tensor x = ones({4, 8});
  EXPECT_TRUE(same_elements(Dropout(0.9)(x), x));
  EXPECT_TRUE(same_elements(Dropout(0)(x, kTraining), x));
  EXPECT_TRUE(same_elements(Dropout(1)(x, kTraining), zeros({4, 8})));
}

TEST(DropoutLayer, ZeroesTheRateAndScalesTheRest) {
  set_seed(3);
  const int64_t n = 100'000;
  const std::vector<float> y = Dropout(0.25)(ones({n, 1}), kTraining).to_vector<float>();
  int64_t dropped = 0;
  for (const float v : y) {
    if (v == 0)
      ++dropped;
    else
      ASSERT_FLOAT_EQ(v, 1 / 0.75f);
  }
  const double deviation = std::sqrt(static_cast<double>(n) * 0.25 * 0.75);
  EXPECT_NEAR(static_cast<double>(dropped), 0.25 * static_cast<double>(n), 5 * deviation);
}

TEST(DropoutLayer, NoiseShapeSharesDecisions) {
  Dropout dropout(0.5, {.noise_shape = {-1, 1}});
  const Tensor y = dropout(ones({64, 10}), kTraining);
  EXPECT_TRUE(same_elements(min(y, {1}), max(y, {1})));
  EXPECT_NE(min(y).item(), max(y).item());
  EXPECT_ERROR(Dropout(0.5, {.noise_shape = {3, 1}})(ones({64, 10}), kTraining), ShapeError, "noise_shape (3, 1)");
}

TEST(DropoutLayer, ASeedGivesItsOwnSequence) {
  Dropout one(0.5, {.seed = 9}), two(0.5, {.seed = 9});
  const Tensor x = ones({100});
  const Tensor first = one(x, kTraining).eval(), second = one(x, kTraining).eval();
  EXPECT_FALSE(same_elements(first, second));
  EXPECT_TRUE(same_elements(first, two(x, kTraining)));
  EXPECT_TRUE(same_elements(second, two(x, kTraining)));
}

TEST(DropoutLayer, EveryCallOfATracedFunctionDrawsAnew) {
  for (const std::optional<uint64_t> seed : {std::optional<uint64_t>(), std::optional<uint64_t>(4)}) {
    Dropout dropout(0.5, {.seed = seed});
    const auto step = function([&](Tensor x) { return dropout(x, kTraining); });
    const Tensor first = step(ones({100})), second = step(ones({100}));
    EXPECT_FALSE(same_elements(first, second));
  }
}

TEST(DropoutLayer, SaysWhatDoesNotFit) {
  EXPECT_ERROR(Dropout(1.5), ValueError, "rate must be in [0, 1], got 1.5");
  EXPECT_ERROR(Dropout(0.5)(zeros({2}, DType::int32)), DTypeError, "needs a floating input");
}

TEST(NormalizationLayer, AdaptsToEachFeature) {
  // Column 0: mean 2, variance 1; column 1: mean 30, variance 100.
  const Tensor data = tensor({{1.f, 20.f}, {3.f, 40.f}});
  Normalization normalize;
  EXPECT_CLOSE(normalize(data), data, 1e-6, 0);
  normalize.adapt(data);
  EXPECT_CLOSE(normalize(data), tensor({{-1.f, -1.f}, {1.f, 1.f}}), 1e-6, 0);
  EXPECT_EQ(normalize.weights().size(), 3u);
  EXPECT_TRUE(normalize.trainable_variables().empty());
  EXPECT_EQ(normalize.weights()[2].item<int64_t>(), 2);
  // Adapting again forgets the first data; a copy shares the statistics.
  const AnyLayer copy = normalize;
  normalize.adapt(data * 2);
  EXPECT_CLOSE((*copy.get())(data * 2), tensor({{-1.f, -1.f}, {1.f, 1.f}}), 1e-6, 0);
}

TEST(NormalizationLayer, AxesChooseWhatIsKeptApart) {
  const Tensor data = reshape(cast(arange(24), DType::float32), {2, 3, 4});
  Normalization all({.axis = {}});
  all.adapt(data);
  EXPECT_NEAR(mean(all(data)).item(), 0, 1e-6);
  EXPECT_NEAR(var(all(data)).item(), 1, 1e-5);
  Normalization middle({.axis = {1}});
  middle.adapt(data);
  EXPECT_EQ(middle.weights()[0].shape(), Shape({3}));
  EXPECT_CLOSE(mean(middle(data), {0, 2}), zeros({3}), 0, 1e-6);
  EXPECT_CLOSE(var(middle(data), {0, 2}), ones({3}), 1e-5, 0);
}

TEST(NormalizationLayer, TakesGivenStatisticsAndGoesBack) {
  const NormalizationOptions options{.mean = tensor({5.f}), .variance = tensor({4.f})};
  Normalization forward(options);
  NormalizationOptions inverted = options;
  inverted.invert = true;
  Normalization back(inverted);
  const Tensor x = tensor({{3.f, 9.f}});
  EXPECT_CLOSE(forward(x), tensor({{-1.f, 2.f}}), 1e-6, 0);
  EXPECT_CLOSE(back(forward(x)), x, 1e-6, 0);
  EXPECT_TRUE(forward.weights().empty());
  EXPECT_ERROR(forward.adapt(x), StateError, "was given its mean and variance");
}

TEST(NormalizationLayer, KeepsTheVarianceOfLargeNumbers) {
  const Tensor data = tensor({{1e6f}, {1e6f + 1}, {1e6f + 2}});
  Normalization normalize;
  normalize.adapt(data);
  EXPECT_NEAR(normalize.weights()[1].item(), 2. / 3, 1e-6);
}

TEST(NormalizationLayer, AConstantFeatureBecomesZero) {
  Normalization normalize;
  normalize.adapt(ones({5, 1}));
  EXPECT_CLOSE(normalize(ones({2, 1})), zeros({2, 1}), 0, 0);
}

TEST(NormalizationLayer, SaysWhatDoesNotFit) {
  Normalization normalize({.name = "norm"});
  normalize.adapt(ones({5, 3}));
  EXPECT_ERROR(normalize(ones({5, 4})), ShapeError, "does not fit layer \"norm\", built for examples of shape (3,)");
  EXPECT_ERROR(normalize.adapt(ones({5, 4})), ShapeError, "data of shape (5, 4)");
  EXPECT_ERROR(normalize.adapt(zeros({0, 3})), ValueError, "at least one example");
  EXPECT_ERROR(Normalization().adapt(ones({5})), ValueError, "is the batch");
  EXPECT_ERROR(Normalization({.axis = {3}}).adapt(ones({5, 3})), IndexError, "got 3");
  EXPECT_ERROR(Normalization({.mean = tensor({1.f})}), ValueError, "given together");
  EXPECT_ERROR(Normalization({.mean = tensor({1.f}), .variance = tensor({-1.f})}), ValueError, "not be negative");
  EXPECT_ERROR(Normalization({.mean = ones({2}), .variance = ones({2})})(ones({5, 3})), ShapeError, "mean must fit");
}

// Gives on 2x and asks for sum(x).
class Asking : public Layer {
 public:
  ISO_LAYER(Asking)
  Tensor call(const Tensor& x, const CallContext&) override {
    add_loss(sum(x));
    return 2 * x;
  }
};

TEST(AddedLosses, AreThoseOfTheLastCall) {
  Sequential model{Asking(), Asking()};
  const auto total = [&] {
    double sum = 0;
    for (const Tensor& loss : model.losses()) sum += loss.item();
    return sum;
  };
  EXPECT_EQ(total(), 0);
  model(ones({2, 3}));
  EXPECT_EQ(total(), 6 + 12);
  model(ones({1, 3}));
  EXPECT_EQ(total(), 3 + 6);
}

TEST(AddedLosses, OfASharedLayerCountOnceACall) {
  const Input x({3});
  Asking asking;
  Model model(x, asking(SymbolicTensor(asking(SymbolicTensor(x)))));
  model(ones({2, 3}));
  EXPECT_EQ(model.losses().size(), 2u);
}

// y = x w with w = 3 and x = 1, 2: the loss is mean((y - 0)^2) + (0.5 sum|y| + 0.1 sum y^2) / 2 = 22.5 + 2.25 + 2.25.
TEST(AddedLosses, ArePartOfTheLossThatIsTrained) {
  Sequential model{Input({1}), Dense(1, {.use_bias = false, .kernel_initializer = initializers::constant(3)}),
                   ActivityRegularization({.l1 = 0.5, .l2 = 0.1})};
  model.compile({.optimizer = SGD(0.01), .loss = "mse"});
  const Tensor x = tensor({{1.f}, {2.f}}), y = zeros({2, 1}).eval();
  EXPECT_NEAR(model.evaluate(x, y, {.verbose = 0})[0].second, 27, 1e-4);
  EXPECT_NEAR(model.train_on_batch(x, y)[0].second, 27, 1e-4);
  // The slope is 5 w + (0.5 * 3 + 0.1 * 2 * 5 w) / 2 = 15 + 0.75 + 1.5.
  EXPECT_NEAR(model.get_weights()[0].item(), 3 - 0.01 * 17.25, 1e-5);
  const History history = model.fit(x, y, {.epochs = 3, .batch_size = 1, .verbose = 0});
  EXPECT_LT(history["loss"].back(), history["loss"].front());
}

TEST(Layer, WeightsAreCopiedOutAndIn) {
  Sequential model{Input({2}), Dense(3, {.name = "hidden"})};
  const auto dense = model.layers()[0];
  const Tensor kernel = tensor({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}}), bias = tensor({7.f, 8.f, 9.f});
  dense->set_weights({kernel, bias});
  EXPECT_CLOSE(model(tensor({{1.f, 1.f}})), tensor({{12.f, 15.f, 18.f}}), 0, 0);
  EXPECT_TRUE(same_elements(dense->get_weights()[1], bias));
  EXPECT_ERROR(dense->set_weights({kernel}), ShapeError,
               "got 1 tensor, \"hidden\" has 2 weights: kernel (2, 3), bias (3,)");
  EXPECT_ERROR(dense->set_weights({kernel, ones({4})}), ShapeError,
               "weights of \"hidden\" do not fit: bias is float32(3,), got float32(4,)");
  EXPECT_TRUE(same_elements(dense->get_weights()[0], kernel));
  EXPECT_ERROR(Dense(2).set_weights({kernel}), StateError, "has no weights yet");
}

TEST(Dense, ComputesInFloatingDTypesOnly) {
  EXPECT_ERROR(Dense(3, {.dtype = DType::int32}), DTypeError, "[Dense] computes in a floating dtype, got int32");
}

}  // namespace
}  // namespace isochron
