// Norm layers against Keras and PyTorch (tests/references/normalization.json), and noise by its statistics.
#include <gtest/gtest.h>
#include <cmath>

#include "isochron/exec/function.h"
#include "isochron/graph/tape.h"
#include "isochron/nn/layers.h"
#include "isochron/nn/model.h"
#include "isochron/nn/modules.h"
#include "isochron/ops/ops.h"
#include "isochron/optim/optimizers.h"
#include "isochron/train/history.h"
#include "reference.h"

namespace isochron {
namespace {

using nlohmann::json;
using reference::kReal;

std::shared_ptr<Layer> layer_of(const std::string& name, const json& o) {
  if (name == "BatchNormalization")
    return std::make_shared<BatchNormalization>(BatchNormalizationOptions{.axis = o.value("axis", -1),
                                                                          .momentum = o.value("momentum", 0.99),
                                                                          .epsilon = o.value("epsilon", 1e-3),
                                                                          .scale = o.value("scale", true),
                                                                          .dtype = kReal});
  if (name == "LayerNormalization")
    return std::make_shared<LayerNormalization>(LayerNormalizationOptions{
        .axis = o.value("axis", std::vector<int64_t>{-1}), .center = o.value("center", true), .dtype = kReal});
  if (name == "GroupNormalization")
    return std::make_shared<GroupNormalization>(
        GroupNormalizationOptions{.groups = o.value("groups", 32), .dtype = kReal});
  if (name == "UnitNormalization")
    return std::make_shared<UnitNormalization>(
        UnitNormalizationOptions{.axis = o.value("axis", std::vector<int64_t>{-1})});
  return std::make_shared<RMSNormalization>(RMSNormalizationOptions{.dtype = kReal});
}

// One training batch: output and gradients of sum(y dy) by x and the variables.
void expect_batch(const json& batch, const std::vector<Variable>& variables,
                  const std::function<Tensor(const Tensor&)>& call) {
  const Variable x(reference::tensor_of(batch["x"]));
  GradientTape tape;
  const Tensor y = call(x);
  std::vector<Variable> sources{x};
  sources.insert(sources.end(), variables.begin(), variables.end());
  const std::vector<Tensor> gradients = tape.gradient(sum(y * reference::tensor_of(batch["dy"])), sources);
  EXPECT_CLOSE(y, reference::tensor_of(batch["y"]), 1e-9, 1e-10);
  ASSERT_EQ(gradients.size(), batch["gradients"].size());
  for (size_t i = 0; i < gradients.size(); ++i)
    EXPECT_CLOSE(gradients[i], reference::tensor_of(batch["gradients"][i]), 1e-9, 1e-10);
}

TEST(NormLayers, TrainAsKerasDoes) {
  const json file = reference::read_file("normalization.json");
  std::vector<json> cases = file["keras"];
  cases.insert(cases.end(), file["unit"].begin(), file["unit"].end());
  for (const json& one : cases) {
    const std::string name = one["layer"];
    SCOPED_TRACE(name + one["options"].dump());
    const std::shared_ptr<Layer> layer = layer_of(name, one["options"]);
    const Tensor first = reference::tensor_of(one["batches"][0]["x"]);
    layer->ensure_built(Shape(first.shape().dims().subspan(1)));
    const std::vector<Variable> weights = layer->weights();
    ASSERT_EQ(weights.size(), one["start"].size());
    for (size_t i = 0; i < weights.size(); ++i) weights[i].assign(reference::tensor_of(one["start"][i]));
    for (const json& batch : one["batches"])
      expect_batch(batch, layer->trainable_variables(),
                   [&](const Tensor& x) { return (*layer)(x, {.training = true}); });
    for (size_t i = 0; i < weights.size(); ++i)
      EXPECT_CLOSE(weights[i], reference::tensor_of(one["end"][i]), 1e-9, 1e-10);
    EXPECT_CLOSE((*layer)(reference::tensor_of(one["inference"]["x"])), reference::tensor_of(one["inference"]["y"]),
                 1e-9, 1e-10);
  }
}

TEST(NormLayers, HiddenStepsDoNotCountAsInKeras) {
  const json file = reference::read_file("normalization.json");
  for (const json& one : file["masked"]) {
    const std::string name = one["layer"];
    SCOPED_TRACE(name);
    std::shared_ptr<Layer> layer = std::make_shared<GlobalAveragePooling1D>();
    if (name == "BatchNormalization")
      layer = std::make_shared<BatchNormalization>(BatchNormalizationOptions{.dtype = kReal});
    const Tensor mask = reference::tensor_of(one["mask"]);
    layer->ensure_built(Shape(reference::tensor_of(one["x"]).shape().dims().subspan(1)));
    const std::vector<Variable> weights = layer->weights();
    for (size_t i = 0; i < weights.size(); ++i) weights[i].assign(reference::tensor_of(one["start"][i]));
    expect_batch(one, layer->trainable_variables(), [&](const Tensor& x) {
      set_mask(x, mask);
      return (*layer)(x, {.training = true});
    });
    for (size_t i = 0; i < weights.size(); ++i)
      EXPECT_CLOSE(weights[i], reference::tensor_of(one["end"][i]), 1e-9, 1e-10);
    EXPECT_ERROR((*layer)(zeros({2, 4, 3}, kReal), {.training = true, .mask = slice(mask, {0, 0}, {2, 3})}), ShapeError,
                 "a mask must");
  }
}

std::shared_ptr<nn::Module> module_of(const std::string& name, const json& o) {
  const int64_t features = o["features"];
  if (name == "BatchNorm1d") return std::make_shared<nn::BatchNorm1d>(features, nn::BatchNormOptions{.dtype = kReal});
  if (name == "BatchNorm2d") return std::make_shared<nn::BatchNorm2d>(features, nn::BatchNormOptions{.dtype = kReal});
  if (name == "LayerNorm") return std::make_shared<nn::LayerNorm>(features, nn::LayerNormOptions{.dtype = kReal});
  if (name == "GroupNorm")
    return std::make_shared<nn::GroupNorm>(o["groups"].get<int64_t>(), features, nn::GroupNormOptions{.dtype = kReal});
  return std::make_shared<nn::RMSNorm>(features, nn::RMSNormOptions{.eps = o["eps"], .dtype = kReal});
}

TEST(NormModules, TrainAsPyTorchDoes) {
  const json file = reference::read_file("normalization.json");
  for (const json& one : file["torch"]) {
    const std::string name = one["layer"];
    SCOPED_TRACE(name + one["options"].dump());
    const std::shared_ptr<nn::Module> module = module_of(name, one["options"]);
    const std::vector<Variable> parameters = module->parameters();
    ASSERT_EQ(parameters.size(), one["start"].size());
    for (size_t i = 0; i < parameters.size(); ++i) parameters[i].assign(reference::tensor_of(one["start"][i]));
    for (const json& batch : one["batches"])
      expect_batch(batch, parameters, [&](const Tensor& x) { return (*module)(x); });
    const auto buffers = module->named_buffers();
    ASSERT_EQ(buffers.size(), one["end"].size());
    for (size_t i = 0; i < buffers.size(); ++i)
      EXPECT_CLOSE(buffers[i].second, reference::tensor_of(one["end"][i]), 1e-9, 1e-10);
    module->eval();
    EXPECT_CLOSE((*module)(reference::tensor_of(one["inference"]["x"])), reference::tensor_of(one["inference"]["y"]),
                 1e-9, 1e-10);
  }
}

TEST(NormLayers, AgreeInFloat32AndWithLargeMeans) {
  const Tensor x = random_normal({300, 37}, 1000, 1, {.seed = 3});
  BatchNormalization norm;
  const Tensor y = norm(x, {.training = true});
  EXPECT_CLOSE(mean(y, {0}), zeros({37}), 0, 1e-3);
  EXPECT_CLOSE(var(y, {0}), ones({37}), 3e-3, 0);
  const Tensor rows = layer_norm(x, {}, {}, 1e-6);
  EXPECT_CLOSE(var(rows, {1}), ones({300}), 2e-3, 0);
}

TEST(NormLayers, AFrozenBatchNormUsesItsAverages) {
  BatchNormalization norm;
  const Tensor x = random_normal({8, 3}, 5, 2, {.seed = 1});
  norm(x);
  norm.set_trainable(false);
  EXPECT_CLOSE(norm(x, {.training = true}), x / std::sqrt(1.001f), 1e-5, 1e-6);
  EXPECT_CLOSE(norm.weights()[2], zeros({3}), 0, 0);
}

TEST(NormLayers, MovingStatisticsAreUpdatedByFit) {
  set_seed(4);
  Sequential model{BatchNormalization({.momentum = 0.5}), Dense(1)};
  model.compile({.optimizer = SGD(1e-12), .loss = "mse"});
  const Tensor x = random_normal({64, 2}, 3, 1, {.seed = 2});
  model.fit(x, zeros({64, 1}), {.epochs = 20, .batch_size = 64, .verbose = 0});
  EXPECT_CLOSE(model.weights()[2], mean(x, {0}), 1e-4, 0);
  EXPECT_CLOSE(model.weights()[3], var(x, {0}), 1e-4, 0);
}

TEST(NormLayers, SayWhatDoesNotFit) {
  EXPECT_ERROR(BatchNormalization({.momentum = 2}), ValueError, "momentum must be in [0, 1], got 2");
  EXPECT_ERROR(BatchNormalization({.axis = 0})(ones({2, 3})), ValueError, "is the batch");
  EXPECT_ERROR(GroupNormalization({.groups = 4})(ones({2, 6})), ValueError,
               "6 channels can't be divided into 4 groups");
  EXPECT_ERROR(LayerNormalization({.axis = {1, -1}})(ones({2, 6})), ValueError, "given twice");
  BatchNormalization norm;
  norm(ones({2, 3}));
  EXPECT_ERROR(norm(ones({2, 4})), ShapeError, "input (2, 4) has 4 features");
  EXPECT_ERROR(nn::BatchNorm2d(3)(ones({2, 3})), ShapeError, "takes (N, C, H, W), got (2, 3)");
}

TEST(NoiseLayers, HaveTheirStatistics) {
  set_seed(7);
  const CallContext training{.training = true};
  const Tensor x = full({200, 500}, 2.0);
  const auto expect = [&](Layer& layer, double mean_, double deviation) {
    const Tensor y = layer(x, training).eval();
    EXPECT_NEAR(mean(y).item(), mean_, 5 * deviation / 316 + 1e-4) << layer.class_name();
    EXPECT_NEAR(isochron::std(y).item(), deviation, 0.02 * deviation) << layer.class_name();
    EXPECT_TRUE(same_elements(layer(x), x)) << layer.class_name();
  };
  GaussianNoise noise(0.5);
  expect(noise, 2, 0.5);
  GaussianDropout dropout(0.2);
  expect(dropout, 2, 2 * std::sqrt(0.25));
  // A standard normal input keeps its mean and variance.
  AlphaDropout alpha(0.3);
  const Tensor y = alpha(random_normal({200, 500}), training).eval();
  EXPECT_NEAR(mean(y).item(), 0, 0.02);
  EXPECT_NEAR(isochron::std(y).item(), 1, 0.02);
  EXPECT_ERROR(GaussianDropout(1), ValueError, "rate must be in [0, 1), got 1");
  EXPECT_ERROR(GaussianNoise(-1), ValueError, "must not be negative");
}

TEST(NoiseLayers, SpatialDropoutDropsWholeChannels) {
  set_seed(8);
  SpatialDropout1D one(0.5);
  const Tensor y = one(ones({4, 10, 32}), {.training = true}).eval();
  EXPECT_TRUE(same_elements(min(y, {1}), max(y, {1})));
  EXPECT_NE(min(y).item(), max(y).item());
  SpatialDropout2D two(0.5);
  const Tensor z = two(ones({2, 3, 4, 64}), {.training = true}).eval();
  EXPECT_TRUE(same_elements(min(z, {1, 2}), max(z, {1, 2})));
  EXPECT_NE(min(z).item(), max(z).item());
}

TEST(SpectralNormalizationLayer, AgreesWithKeras) {
  for (const json& one : reference::read_file("spectral.json")["cases"]) {
    SCOPED_TRACE(one["layer"].get<std::string>());
    const AnyLayer inner =
        one["layer"] == "Dense" ? AnyLayer(Dense(3, {.dtype = kReal})) : AnyLayer(Conv2D(3, 2, {.dtype = kReal}));
    SpectralNormalization layer(inner, {.power_iterations = one["power_iterations"].get<int64_t>()});
    const Tensor x = reference::tensor_of(one["x"]);
    layer(x);
    const std::vector<Variable> weights = inner.get()->weights();
    weights[0].assign(reference::tensor_of(one["weights"][0]));
    weights[1].assign(reference::tensor_of(one["weights"][1]));
    const Variable u = layer.non_trainable_variables()[0];
    u.assign(reference::tensor_of(one["weights"][2]));
    for (const json& call : one["calls"]) {
      GradientTape tape;
      const Tensor y = layer(x, {.training = call["training"].get<bool>()});
      const Tensor total = sum(y * reference::tensor_of(call["dy"]));
      const Tensor gradient = tape.gradient(total, weights[0]);
      EXPECT_CLOSE(y, reference::tensor_of(call["y"]), 1e-9, 1e-10);
      EXPECT_CLOSE(gradient, reference::tensor_of(call["kernel_gradient"]), 1e-9, 1e-10);
      EXPECT_CLOSE(weights[0], reference::tensor_of(call["kernel"]), 1e-9, 1e-10);
      EXPECT_CLOSE(u, reference::tensor_of(call["vector_u"]), 1e-9, 1e-10);
    }
  }
}

// In fit, too: the kernel that the optimizer changed is divided by its largest singular value in the next step.
TEST(SpectralNormalizationLayer, KeepsTheSpectrumWhileTraining) {
  SpectralNormalization layer(Dense(4, {.use_bias = false}), {.power_iterations = 20});
  Sequential model{Input({6}), layer, Dense(1)};
  model.compile({.optimizer = SGD(0.5), .loss = "mse"});
  const Tensor x = random_normal({32, 6}, 0, 1, {.seed = 1}).eval(),
               y = random_normal({32, 1}, 0, 5, {.seed = 2}).eval();
  model.fit(x, y, {.epochs = 3, .verbose = 0});
  (*model.layers()[0])(x, {.training = true});
  const Tensor kernel = model.trainable_variables()[0];
  Tensor v = ones({1, 4});
  for (int i = 0; i < 50; ++i) {
    v = matmul(matmul(v, kernel, {.transpose_b = true}), kernel);
    v = v / norm(v);
  }
  EXPECT_NEAR(norm(matmul(v, kernel, {.transpose_b = true})).item(), 1, 1e-3);
  SpectralNormalization flat{Flatten()};
  EXPECT_ERROR(flat(zeros({2, 3})), ValueError, "has neither a kernel nor embeddings");
  EXPECT_ERROR(SpectralNormalization(Dense(2), {.power_iterations = 0}), ValueError, "must be positive, got 0");
}

}  // namespace
}  // namespace isochron
