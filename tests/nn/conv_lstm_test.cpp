// ConvLSTM1D, 2D and 3D against Keras (tests/references/conv_lstm.json).
#include "isochron/nn/conv_lstm.h"

#include <gtest/gtest.h>

#include "isochron/graph/tape.h"
#include "isochron/nn/config.h"
#include "isochron/nn/masking.h"
#include "isochron/nn/wrappers.h"
#include "isochron/ops/ops.h"
#include "reference.h"

namespace isochron {
namespace {

using nlohmann::json;
using reference::tensor_of;

TEST(ConvLSTM, AgreesWithKeras) {
  for (const json& one : reference::read_file("conv_lstm.json")["cases"]) {
    SCOPED_TRACE(one["layer"].dump());
    const std::shared_ptr<Layer> layer = ConfigReader().layer(Config::from_json(one["layer"].dump()));
    const Variable x(tensor_of(one["x"]));
    layer->ensure_built(x.shape().erase(0));
    const std::vector<Variable> weights = layer->trainable_variables();
    ASSERT_EQ(weights.size(), one["weights"].size());
    for (size_t i = 0; i < weights.size(); ++i) weights[i].assign(tensor_of(one["weights"][i]));
    std::vector<Tensor> inputs{x};
    for (const json& state : one["states"]) inputs.push_back(tensor_of(state));

    GradientTape tape;
    const std::vector<Tensor> results = (*layer)(inputs, {.mask = tensor_of(one["mask"])});
    ASSERT_EQ(results.size(), 1 + one["final"].size());
    EXPECT_CLOSE(results[0], tensor_of(one["y"]), 1e-9, 1e-10);
    EXPECT_EQ(results[0].shape().erase(0), layer->output_shape(layer->input_shape()));
    Tensor total = sum(results[0] * tensor_of(one["dy"]));
    for (size_t i = 1; i < results.size(); ++i) {
      EXPECT_CLOSE(results[i], tensor_of(one["final"][i - 1]), 1e-9, 1e-10);
      total = total + sum(square(results[i]));
    }
    std::vector<Variable> sources{x};
    sources.insert(sources.end(), weights.begin(), weights.end());
    const std::vector<Tensor> gradients = tape.gradient(total, sources);
    for (size_t i = 0; i < gradients.size(); ++i) {
      SCOPED_TRACE(fmt::format("gradient {}", i));
      EXPECT_CLOSE(gradients[i], tensor_of(one["gradients"][i]), 1e-8, 1e-9);
    }
  }
}

// The same numbers with axes in another order: Keras' TensorFlow has no such convolution on CPUs to ask.
TEST(ConvLSTM, ChannelsMayComeFirst) {
  const Tensor x = random_normal({2, 3, 5, 4, 2}, 0, 1, {.seed = 1}).eval();
  const std::vector<int64_t> film{0, 1, 4, 2, 3}, image{0, 3, 1, 2};
  ConvLSTM2D last(3, 2, {.strides = {2, 1}, .return_sequences = true, .return_state = true});
  ConvLSTM2D first(
      3, 2, {.strides = {2, 1}, .data_format = "channels_first", .return_sequences = true, .return_state = true});
  const std::vector<Tensor> a = last(std::vector<Tensor>{x});
  first(std::vector<Tensor>{transpose(x, film)});
  for (size_t i = 0; i < 3; ++i) first.weights()[i].assign(last.weights()[i]);
  const std::vector<Tensor> b =
      first(std::vector<Tensor>{transpose(x, film), transpose(a[1], image), transpose(a[2], image)});
  const std::vector<Tensor> c = last({x, a[1], a[2]});
  EXPECT_CLOSE(b[0], transpose(c[0], film), 1e-6, 1e-6);
  for (size_t i = 1; i < 3; ++i) EXPECT_CLOSE(b[i], transpose(c[i], image), 1e-6, 1e-6);
}

TEST(ConvLSTM, StatefulPartsMakeUpAWhole) {
  const Tensor x = random_normal({2, 4, 3, 3, 2}, 0, 1, {.seed = 2}).eval();
  ConvLSTM2D whole(2, 3, {.padding = "same", .return_sequences = true});
  ConvLSTM2D parts(2, 3, {.padding = "same", .return_sequences = true, .stateful = true});
  const Tensor expected = whole(x);
  parts.ensure_built({4, 3, 3, 2});
  for (size_t i = 0; i < 3; ++i) parts.weights()[i].assign(whole.weights()[i]);
  const Tensor first = parts(slice(x, {0, 0}, {2, 2})).eval(), second = parts(slice(x, {0, 2}, {2, 4})).eval();
  EXPECT_CLOSE(concat({first, second}, 1), expected, 1e-5, 1e-6);
  EXPECT_ERROR(parts(ones({2, 2, 4, 3, 2})), ShapeError, "goes on with states of shape (2, 3, 3, 2)");
}

TEST(ConvLSTM, DropsWhileTrainingOnly) {
  const Tensor x = random_normal({2, 3, 3, 3, 2}, 0, 1, {.seed = 3}).eval();
  ConvLSTM2D layer(2, 2, {.dropout = 0.5, .recurrent_dropout = 0.5, .seed = 9});
  const Tensor still = layer(x);
  EXPECT_CLOSE(layer(x), still, 0, 0);
  EXPECT_FALSE(allclose(layer(x, {.training = true}), still, 1e-3, 1e-3));
}

TEST(ConvLSTM, RefusesWhatDoesNotFit) {
  EXPECT_ERROR(ConvLSTM2D(0, 3), ValueError, "at least 1, got 0");
  EXPECT_ERROR(ConvLSTM2D(2, {3, 3, 3}), ValueError, "kernel_size");
  EXPECT_ERROR(ConvLSTM2D(2, 3, {.data_format = "channels_frist"}), ValueError, "channels_first");
  EXPECT_ERROR(ConvLSTM2D(2, 3)(ones({2, 5, 5, 1})), ShapeError, "(batch, time, 2 spatial axes, channels)");
  EXPECT_ERROR(ConvLSTM2D(2, 3, {.data_format = "channels_first"})(ones({2, 5, 5, 1})), ShapeError,
               "(batch, time, 2 spatial axes, channels)");
  EXPECT_ERROR(ConvLSTM2D(2, 3)(ones({2, 4, 2, 2, 1})), ShapeError, "window");
  ConvLSTM1D built(2, 1);
  built(ones({1, 2, 3, 4}));
  EXPECT_ERROR(built(ones({1, 2, 3, 5})), ShapeError, "4 features a step");
  EXPECT_ERROR(built({ones({1, 2, 3, 4}), ones({1, 3, 2})}), ValueError, "takes 2 initial states, got 1");
}

}  // namespace
}  // namespace isochron
