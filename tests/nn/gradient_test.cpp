// Gradients of layers against central differences in float64.
#include <gtest/gtest.h>

#include "isochron/graph/tape.h"
#include "isochron/nn/layers.h"
#include "isochron/nn/model.h"
#include "isochron/nn/modules.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/random.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"
#include "reference.h"

namespace isochron {
namespace {

// d(loss)/d(variable), an element at a time.
Tensor differences(const std::function<Tensor()>& loss, const Variable& variable) {
  constexpr double kStep = 1e-6;
  const std::vector<double> start = variable.to_vector<double>();
  std::vector<double> slopes(start.size());
  const auto loss_at = [&](size_t i, double shift) {
    std::vector<double> moved = start;
    moved[i] += shift;
    variable.assign(tensor(moved, variable.shape()));
    return loss().item();
  };
  for (size_t i = 0; i < start.size(); ++i) slopes[i] = (loss_at(i, kStep) - loss_at(i, -kStep)) / (2 * kStep);
  variable.assign(tensor(start, variable.shape()));
  return tensor(slopes, variable.shape());
}

void expect_gradients(const std::function<Tensor()>& loss, const std::vector<Variable>& variables) {
  ASSERT_FALSE(variables.empty());
  GradientTape tape;
  const std::vector<Tensor> gradients = tape.gradient(loss(), variables);
  for (size_t i = 0; i < variables.size(); ++i) {
    SCOPED_TRACE(fmt::format("variable {} {}", i, variables[i].name()));
    ASSERT_TRUE(gradients[i].defined());
    gradients[i].eval();
    EXPECT_CLOSE(gradients[i], differences(loss, variables[i]), 1e-6, 1e-7);
  }
}

Variable input(const Shape& shape) {
  return Variable(random_normal(shape, 0, 1, {.seed = 3, .dtype = DType::float64}), {.name = "input"});
}

class ActivationGradient : public testing::TestWithParam<const char*> {};

TEST_P(ActivationGradient, OfADenseLayer) {
  set_seed(11);
  Dense dense(3, {.activation = GetParam(), .bias_initializer = "random_normal", .dtype = DType::float64});
  const Variable x = input({4, 5});
  const Tensor target = random_normal({4, 3}, 0, 1, {.seed = 8, .dtype = DType::float64});
  dense(x);
  std::vector<Variable> variables = dense.trainable_variables();
  variables.push_back(x);
  expect_gradients([&] { return sum(square(dense(x) - target)); }, variables);
}
INSTANTIATE_TEST_SUITE_P(All, ActivationGradient,
                         testing::Values("linear", "relu", "leaky_relu", "elu", "selu", "gelu", "silu", "softplus",
                                         "softsign", "sigmoid", "hard_sigmoid", "tanh", "exponential", "mish",
                                         "softmax", "log_softmax", "log_sigmoid", "hard_silu", "hard_tanh", "celu",
                                         "hard_shrink", "soft_shrink", "tanh_shrink", "squareplus", "sparse_plus",
                                         "sparse_sigmoid", "sparsemax"),
                         [](const auto& test) { return std::string(test.param); });

TEST(LayerGradient, FlowsThroughAChainOfAllLayers) {
  set_seed(12);
  Normalization normalize({.mean = tensor({0.5}), .variance = tensor({2.})});
  Sequential model{Reshape({2, 3}),
                   Rescaling(0.5, 0.1),
                   normalize,
                   Flatten({.data_format = "channels_first"}),
                   Dense(4, {.activation = "tanh", .dtype = DType::float64}),
                   Dropout(0.5, {.seed = 1}),
                   Dense(2, {.use_bias = false, .dtype = DType::float64}),
                   Activation("sigmoid")};
  const Variable x = input({3, 6});
  model(x);
  std::vector<Variable> variables = model.trainable_variables();
  EXPECT_EQ(variables.size(), 3u);
  variables.push_back(x);
  expect_gradients([&] { return sum(square(model(x))); }, variables);
}

TEST(LayerGradient, OfConvolutionsOverTime) {
  set_seed(14);
  ConvLSTM2D layer(2, {2, 1},
                   {.strides = {1, 2}, .padding = "same", .return_sequences = true, .dtype = DType::float64});
  const Variable x = input({2, 3, 2, 3, 1});
  layer(x);
  std::vector<Variable> variables = layer.trainable_variables();
  EXPECT_EQ(variables.size(), 3u);
  variables.push_back(x);
  expect_gradients([&] { return sum(square(layer(x))); }, variables);
}

TEST(LayerGradient, OfAnEinsum) {
  set_seed(15);
  EinsumDense layer("abc,cde->abed", {-1, 3, 2},
                    {.activation = "tanh",
                     .bias_axes = "ed",
                     .bias_initializer = "random_normal",
                     .activity_regularizer = l2(0.3),
                     .dtype = DType::float64});
  const Variable x = input({2, 3, 4});
  layer(x);
  std::vector<Variable> variables = layer.trainable_variables();
  EXPECT_EQ(variables.size(), 2u);
  variables.push_back(x);
  expect_gradients(
      [&] {
        const Tensor y = layer(x);
        return sum(square(y)) + layer.losses().at(0);
      },
      variables);
}

TEST(LayerGradient, OfBordersMadeOfTheInside) {
  const Variable x = input({2, 3, 4});
  const Tensor weight = random_normal({2, 8, 9}, 0, 1, {.seed = 4, .dtype = DType::float64});
  for (const char* mode : {"constant", "reflect", "symmetric", "replicate", "circular"}) {
    SCOPED_TRACE(mode);
    expect_gradients([&] { return sum(square(pad(x, {{0, 0}, {4, 1}, {2, 3}}, {.mode = mode})) * weight); }, {x});
  }
}

TEST(LayerGradient, DroppedElementsHaveNone) {
  const Variable x(ones({50}, DType::float64));
  Dropout dropout(0.5);
  GradientTape tape;
  const Tensor y = dropout(x, {.training = true});
  EXPECT_CLOSE(tape.gradient(y, x), y, 1e-12, 0);
}

TEST(LayerGradient, OfRegularizers) {
  set_seed(13);
  Dense dense(3, {.bias_initializer = "ones",
                  .kernel_regularizer = l1_l2(0.1, 0.2),
                  .bias_regularizer = l2(0.3),
                  .dtype = DType::float64});
  dense(ones({1, 2}, DType::float64));
  expect_gradients(
      [&] {
        const std::vector<Tensor> penalties = dense.losses();
        return penalties.at(0) + penalties.at(1);
      },
      dense.trainable_variables());
}

TEST(LayerGradient, OfLinear) {
  nn::Linear linear(5, 3, {.dtype = DType::float64});
  const Variable x = input({2, 4, 5});
  std::vector<Variable> variables = linear.parameters();
  variables.push_back(x);
  expect_gradients([&] { return sum(square(linear(x))); }, variables);
}

}  // namespace
}  // namespace isochron
