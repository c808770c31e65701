// Convolutional layers against Keras and PyTorch (references/conv_layers.json), their gradients by finite differences,
// and what they refuse.
#include <gtest/gtest.h>

#include "isochron/graph/tape.h"
#include "isochron/nn/layers.h"
#include "isochron/nn/losses.h"
#include "isochron/nn/model.h"
#include "isochron/nn/modules.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/random.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"
#include "isochron/optim/optimizers.h"
#include "reference.h"

namespace isochron {
namespace {

constexpr DType kDouble = DType::float64;
using Layers = std::map<std::string, std::shared_ptr<Layer>>;

template <class L, class... Args>
std::shared_ptr<Layer> layer(Args&&... args) {
  return std::make_shared<L>(std::forward<Args>(args)...);
}

Layers all_layers() {
  return {
      {"conv1d_causal",
       layer<Conv1D>(3, 3, ConvLayerOptions{.padding = "causal", .dilation_rate = 2, .dtype = kDouble})},
      {"conv1d_same",
       layer<Conv1D>(4, 4, ConvLayerOptions{.strides = 3, .padding = "same", .activation = "tanh", .dtype = kDouble})},
      {"conv2d", layer<Conv2D>(3, 3, ConvLayerOptions{.activation = "relu", .dtype = kDouble})},
      {"conv2d_same_stride",
       layer<Conv2D>(2, Sizes{3, 2},
                     ConvLayerOptions{.strides = 2, .padding = "same", .use_bias = false, .dtype = kDouble})},
      {"conv2d_groups",
       layer<Conv2D>(6, 3, ConvLayerOptions{.padding = "same", .dilation_rate = 2, .groups = 3, .dtype = kDouble})},
      {"conv2d_winograd",
       layer<Conv2D>(16, 3, ConvLayerOptions{.padding = "same", .activation = "relu", .dtype = kDouble})},
      {"conv3d", layer<Conv3D>(2, 2, ConvLayerOptions{.strides = {1, 2, 1}, .dtype = kDouble})},
      {"conv1d_transpose", layer<Conv1DTranspose>(2, 3, ConvTransposeLayerOptions{.strides = 2, .dtype = kDouble})},
      {"conv2d_transpose",
       layer<Conv2DTranspose>(
           3, 3, ConvTransposeLayerOptions{.strides = 2, .padding = "same", .activation = "relu", .dtype = kDouble})},
      {"conv2d_transpose_output_padding",
       layer<Conv2DTranspose>(
           2, 3, ConvTransposeLayerOptions{.strides = 2, .padding = "same", .output_padding = 1, .dtype = kDouble})},
      {"depthwise_conv1d", layer<DepthwiseConv1D>(3, DepthwiseConvOptions{.depth_multiplier = 2, .dtype = kDouble})},
      {"depthwise_conv2d",
       layer<DepthwiseConv2D>(
           3, DepthwiseConvOptions{.strides = 2, .padding = "same", .activation = "relu", .dtype = kDouble})},
      {"separable_conv1d", layer<SeparableConv1D>(4, 3, SeparableConvOptions{.padding = "same", .dtype = kDouble})},
      {"separable_conv2d",
       layer<SeparableConv2D>(4, Sizes{3, 2},
                              SeparableConvOptions{.depth_multiplier = 2, .activation = "tanh", .dtype = kDouble})},
      {"max_pooling1d", layer<MaxPooling1D>(3, PoolingOptions{.strides = 2, .padding = "same"})},
      {"max_pooling2d", layer<MaxPooling2D>()},
      {"max_pooling3d", layer<MaxPooling3D>(Sizes{2, 1, 2})},
      {"average_pooling1d", layer<AveragePooling1D>(2, PoolingOptions{.strides = 1})},
      {"average_pooling2d_same", layer<AveragePooling2D>(3, PoolingOptions{.strides = 2, .padding = "same"})},
      {"average_pooling3d", layer<AveragePooling3D>()},
      {"global_max_pooling1d", layer<GlobalMaxPooling1D>()},
      {"global_max_pooling2d", layer<GlobalMaxPooling2D>(GlobalPoolingOptions{.keepdims = true})},
      {"global_average_pooling1d", layer<GlobalAveragePooling1D>()},
      {"global_average_pooling2d", layer<GlobalAveragePooling2D>()},
      {"up_sampling1d", layer<UpSampling1D>(3)},
      {"up_sampling2d", layer<UpSampling2D>(Sizes{2, 3})},
      {"up_sampling2d_bilinear", layer<UpSampling2D>(Sizes{2, 3}, UpSamplingOptions{.interpolation = "bilinear"})},
      {"zero_padding1d", layer<ZeroPadding1D>(Borders{1, 2})},
      {"zero_padding2d", layer<ZeroPadding2D>(Borders{{1, 0}, {2, 3}})},
      {"zero_padding2d_symmetric", layer<ZeroPadding2D>(Borders{1, 2})},
      {"cropping1d", layer<Cropping1D>(Borders{1, 2})},
      {"cropping2d", layer<Cropping2D>(Borders{{1, 0}, {1, 2}})},
      {"up_sampling3d", layer<UpSampling3D>(Sizes{2, 1, 3})},
      {"zero_padding3d", layer<ZeroPadding3D>(Borders{{1, 0}, {2, 1}, {0, 3}})},
      {"zero_padding3d_symmetric", layer<ZeroPadding3D>(Borders{1, 0, 2})},
      {"cropping3d", layer<Cropping3D>(Borders{{1, 0}, {0, 2}, {1, 1}})},
      {"cropping3d_default", layer<Cropping3D>()},
  };
}

const nlohmann::json& references() {
  static const nlohmann::json all = reference::read_file("conv_layers.json");
  return all;
}

TEST(ConvLayers, GiveWhatKerasGives) {
  Layers layers = all_layers();
  EXPECT_EQ(layers.size(), references()["layers"].size());
  for (const auto& c : references()["layers"]) {
    const std::string name = c["name"];
    SCOPED_TRACE(name);
    ASSERT_TRUE(layers.count(name));
    Layer& one = *layers[name];
    const Tensor x = reference::tensor_of(c["x"]), y = reference::tensor_of(c["y"]);
    one.ensure_built(Shape(x.shape().dims().subspan(1)));
    std::vector<Variable> weights = one.weights();
    ASSERT_EQ(weights.size(), c["weights"].size());
    for (size_t i = 0; i < weights.size(); ++i) {
      const Tensor value = reference::tensor_of(c["weights"][i]);
      ASSERT_EQ(weights[i].shape(), value.shape());
      weights[i].assign(value);
    }
    const double tolerance = c["exact"].get<bool>() ? 1e-12 : 1e-6;
    EXPECT_CLOSE(one(x), y, tolerance, tolerance);
    EXPECT_EQ(one.output_shape(Shape(x.shape().dims().subspan(1))), Shape(y.shape().dims().subspan(1)));
    std::string class_name = one.class_name();
    for (char& letter : class_name) letter = static_cast<char>(std::tolower(letter));
    EXPECT_EQ(class_name, c["class"].get<std::string>());
  }
}

TEST(ConvLayers, TakeChannelsFirst) {
  const Tensor x = random_normal({2, 3, 6, 5}, 0, 1, {.seed = 4});
  Conv2D last(4, 3, {.padding = "same"}), first(4, 3, {.padding = "same", .data_format = "channels_first"});
  last.ensure_built({6, 5, 3});
  first.ensure_built({3, 6, 5});
  first.kernel().assign(last.kernel());
  EXPECT_CLOSE(transpose(first(x), {0, 2, 3, 1}), last(transpose(x, {0, 2, 3, 1})), 1e-6, 1e-6);
  EXPECT_EQ(GlobalMaxPooling2D({.data_format = "channels_first"})(x).shape(), Shape({2, 3}));
}

TEST(ConvLayers, AreNamedAsInKeras) {
  EXPECT_EQ(Conv2D(1, 1).name().substr(0, 6), "conv2d");
  EXPECT_EQ(Conv2DTranspose(1, 1).name().substr(0, 16), "conv2d_transpose");
  EXPECT_EQ(GlobalAveragePooling2D().name().substr(0, 24), "global_average_pooling2d");
  EXPECT_EQ(Conv1D(1, 1, {.name = "mine"}).name(), "mine");
}

TEST(ConvLayers, SayWhatDoesNotFit) {
  EXPECT_ERROR(Conv2D(4, 3, {.padding = "causal"}), ValueError, "[Conv2D] causal padding is for one spatial axis");
  EXPECT_ERROR(Conv2D(0, 3), ValueError, "filters must be at least 1, got 0");
  EXPECT_ERROR(Conv2D(4, {3, 3, 3}), ValueError, "kernel_size needs 1 or 2 numbers, got (3, 3, 3)");
  EXPECT_ERROR(Conv2D(4, 3, {.strides = 0}), ValueError, "strides must be at least 1");
  EXPECT_ERROR(Conv2D(4, 3, {.padding = "full"}), ValueError, "unknown padding \"full\"");
  EXPECT_ERROR(Conv2D(4, 3, {.data_format = "channel_last"}), ValueError, "did you mean \"channels_last\"?");
  EXPECT_ERROR(Conv2D(4, 3, {.groups = 3}), ValueError, "groups must divide the filters");
  Conv2D conv(4, 3, {.name = "c"});
  EXPECT_ERROR(conv(zeros({2, 28, 28})), ShapeError, "needs examples with 2 spatial axes and channels, got (28, 28)");
  conv(zeros({1, 5, 5, 3}));
  EXPECT_ERROR(conv(zeros({1, 5, 5, 1})), ShapeError, "has 1 channels, layer \"c\" was built for 3");
  EXPECT_ERROR(conv(zeros({1, 2, 5, 3})), ShapeError, "a window of 3 does not fit into 2 elements");
  EXPECT_ERROR(UpSampling2D(2, {.interpolation = "cubic"}), ValueError, "unknown interpolation \"cubic\"");
  EXPECT_EQ(ZeroPadding2D({{1, 1}, {0, 0}})(ones({1, 2, 2, 1})).shape(), Shape({1, 4, 2, 1}));
  EXPECT_EQ(Cropping3D({{1, 1}, {0, 0}, {0, 0}})(ones({1, 3, 2, 2, 1})).shape(), Shape({1, 1, 2, 2, 1}));
  EXPECT_ERROR(ZeroPadding2D({1, 2, 3}), ValueError, "one for each of 2 spatial axes");
  EXPECT_ERROR(Cropping1D(2)(zeros({1, 4, 1})), ShapeError, "leaves nothing of 4 elements");
  EXPECT_ERROR(MaxPooling2D(0), ValueError, "pool_size must be at least 1");
}

TEST(ConvModules, GiveWhatTorchGives) {
  std::map<std::string, std::shared_ptr<nn::Module>> modules;
  modules["conv2d"] = std::make_shared<nn::Conv2d>(
      2, 4, Sizes{3, 2}, nn::Conv2dOptions{.stride = {2, 1}, .padding = {1, 0}, .groups = 2, .dtype = kDouble});
  modules["conv2d_dilated"] = std::make_shared<nn::Conv2d>(
      3, 2, 3, nn::Conv2dOptions{.padding = 2, .dilation = 2, .bias = false, .dtype = kDouble});
  modules["max_pool2d"] = std::make_shared<nn::MaxPool2d>(3, nn::Pool2dOptions{.stride = 2, .padding = 1});
  modules["avg_pool2d"] = std::make_shared<nn::AvgPool2d>(3, nn::AvgPool2dOptions{.stride = 2, .padding = 1});
  modules["avg_pool2d_exclusive"] =
      std::make_shared<nn::AvgPool2d>(2, nn::AvgPool2dOptions{.padding = 1, .count_include_pad = false});
  for (const auto& c : references()["modules"]) {
    SCOPED_TRACE(c["name"].get<std::string>());
    nn::Module& one = *modules.at(c["name"]);
    const std::vector<Variable> parameters = one.parameters();
    ASSERT_EQ(parameters.size(), c["weights"].size());
    for (size_t i = 0; i < parameters.size(); ++i) parameters[i].assign(reference::tensor_of(c["weights"][i]));
    EXPECT_CLOSE(one(reference::tensor_of(c["x"])), reference::tensor_of(c["y"]), 1e-12, 1e-12);
  }
  EXPECT_ERROR(nn::Conv2d(3, 4, 3, {.groups = 2}), ValueError, "groups must divide the channels");
  EXPECT_ERROR(nn::Conv2d(3, 4, 3)(zeros({1, 2, 5, 5})), ShapeError, "takes 3 channels, got 2");
  EXPECT_ERROR(nn::MaxPool2d(2)(zeros({5, 5})), ShapeError, "takes (batch, channels, rows, columns)");
}

// By weights and input, of the layers that have weights or move values about.
TEST(ConvLayers, GradientsAgreeWithFiniteDifferences) {
  for (const auto& c : references()["layers"]) {
    const std::string name = c["name"];
    SCOPED_TRACE(name);
    const std::shared_ptr<Layer> one = all_layers()[name];
    const Variable x(reference::tensor_of(c["x"]), {.name = "x"});
    (*one)(x);
    std::vector<Variable> variables = one->trainable_variables();
    for (size_t i = 0; i < variables.size(); ++i) variables[i].assign(reference::tensor_of(c["weights"][i]));
    variables.push_back(x);
    const Tensor weights = random_uniform((*one)(x).shape(), 0.5, 1.5, {.seed = 5, .dtype = kDouble});
    weights.eval();
    const auto loss = [&] { return sum((*one)(x)*weights); };
    GradientTape tape;
    const std::vector<Tensor> gradients = tape.gradient(loss(), variables);
    for (size_t v = 0; v < variables.size(); ++v) {
      const std::vector<double> start = variables[v].to_vector<double>(), slopes = gradients[v].to_vector<double>();
      for (size_t i = 0; i < start.size(); i += 1 + start.size() / 12) {
        const auto at = [&](double by) {
          std::vector<double> moved = start;
          moved[i] += by;
          variables[v].assign(tensor(moved, variables[v].shape()));
          return loss().item();
        };
        const double numeric = (at(1e-6) - at(-1e-6)) / 2e-6;
        EXPECT_NEAR(slopes[i], numeric, 1e-6 * std::max(1.0, std::abs(numeric))) << variables[v].name() << ' ' << i;
      }
      variables[v].assign(tensor(start, variables[v].shape()));
    }
  }
}

TEST(ConvLayers, LearnAsInKeras) {
  const auto& c = references()["curve"][0];
  Sequential model{Input({12, 12, 3}),
                   Conv2D(8, 3, {.padding = "same", .activation = "relu"}),
                   Conv2D(16, 3, {.activation = "relu"}),
                   MaxPooling2D(2),
                   DepthwiseConv2D(3, {.padding = "same"}),
                   SeparableConv2D(8, 3, {.strides = 2, .padding = "same", .activation = "relu"}),
                   Conv2DTranspose(4, 3, {.strides = 2, .padding = "same", .activation = "tanh"}),
                   AveragePooling2D(2, {.padding = "same"}),
                   Flatten(),
                   Dense(3)};
  std::vector<Tensor> weights;
  for (const auto& w : c["weights"]) weights.push_back(reference::tensor_of(w));
  model.set_weights(weights);
  model.compile({.optimizer = Adam(3e-3), .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  for (size_t step = 0; step < c["losses"].size(); ++step) {
    const auto& batch = c["batches"][step % c["batches"].size()];
    const Logs logs = model.train_on_batch(reference::tensor_of(batch[0]), reference::tensor_of(batch[1]));
    const double right = c["losses"][step];
    ASSERT_NEAR(logs[0].second, right, 2e-3 * right) << "step " << step;
  }
}

TEST(Layers, TakeListsOfOneSize) {
  const Tensor steps = reshape(tensor({1.f, 3.f, 2.f, 6.f}), {1, 4, 1}), image = reshape(steps, {1, 2, 2, 1});
  EXPECT_CLOSE(MaxPooling1D({2})(steps), reshape(tensor({3.f, 6.f}), {1, 2, 1}), 0, 0);
  EXPECT_CLOSE(AveragePooling1D({2}, {.strides = 1})(steps), reshape(tensor({2.f, 2.5f, 4.f}), {1, 3, 1}), 0, 0);
  EXPECT_CLOSE(AveragePooling2D({2})(image), full({1, 1, 1, 1}, 3), 0, 0);
  EXPECT_EQ(MaxPooling3D({1})(zeros({1, 2, 2, 2, 1})).shape(), Shape({1, 2, 2, 2, 1}));
  EXPECT_EQ(UpSampling1D({2})(steps).shape(), Shape({1, 8, 1}));
  EXPECT_EQ(UpSampling2D({2})(image).shape(), Shape({1, 4, 4, 1}));
  EXPECT_EQ(ZeroPadding1D({1})(steps).shape(), Shape({1, 6, 1}));
  EXPECT_EQ(ZeroPadding2D({1})(image).shape(), Shape({1, 4, 4, 1}));
  EXPECT_EQ(Cropping1D({1})(steps).shape(), Shape({1, 2, 1}));
  EXPECT_EQ(DepthwiseConv1D({3})(steps).shape(), Shape({1, 2, 1}));
  EXPECT_EQ(DepthwiseConv2D({2}, {.depth_multiplier = 3})(image).shape(), Shape({1, 1, 1, 3}));
}

}  // namespace
}  // namespace isochron
