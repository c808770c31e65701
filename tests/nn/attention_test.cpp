// Attention without projections, and the scores of all kinds, against Keras (tests/references/attention.json).
#include <gtest/gtest.h>
#include <cmath>

#include "isochron/graph/tape.h"
#include "isochron/nn/layers.h"
#include "isochron/nn/model.h"
#include "isochron/ops/ops.h"
#include "reference.h"

namespace isochron {
namespace {

using nlohmann::json;
using reference::kReal;
using reference::tensor_of;

const json& references() { return reference::read_file("attention.json"); }

Tensor truths_of(const json& value) { return value.is_null() ? Tensor() : cast(tensor_of(value), DType::boolean); }

void assign_all(const std::vector<Variable>& variables, const json& values) {
  ASSERT_EQ(variables.size(), values.size());
  for (size_t i = 0; i < variables.size(); ++i) variables[i].assign(tensor_of(values[i]));
}

std::shared_ptr<Layer> plain_attention_of(const json& one) {
  const json& o = one["options"];
  const bool causal = one["causal"];
  if (one["layer"] == "AdditiveAttention")
    return std::make_shared<AdditiveAttention>(AdditiveAttentionOptions{.use_scale = o.value("use_scale", true),
                                                                        .use_causal_mask = causal,
                                                                        .return_attention_scores = true,
                                                                        .dtype = kReal});
  return std::make_shared<Attention>(AttentionLayerOptions{.use_scale = o.value("use_scale", false),
                                                           .score_mode = o.value("score_mode", "dot"),
                                                           .use_causal_mask = causal,
                                                           .return_attention_scores = true,
                                                           .dtype = kReal});
}

TEST(PlainAttention, AgreesWithKeras) {
  ASSERT_GT(references()["plain"].size(), 4u);
  for (const json& one : references()["plain"]) {
    SCOPED_TRACE(one["layer"].get<std::string>() + one["options"].dump());
    const std::shared_ptr<Layer> layer = plain_attention_of(one);
    std::vector<Variable> sources;
    std::vector<Tensor> inputs;
    for (const json& x : one["inputs"]) {
      sources.emplace_back(tensor_of(x));
      inputs.push_back(sources.back().read());
      if (const size_t i = inputs.size() - 1; i < one["masks"].size() && !one["masks"][i].is_null())
        set_mask(inputs.back(), truths_of(one["masks"][i]));
    }
    (*layer)(inputs);
    assign_all(layer->trainable_variables(), one["weights"]);
    GradientTape tape;
    const std::vector<Tensor> results = (*layer)(inputs);
    ASSERT_EQ(results.size(), 2u);
    EXPECT_CLOSE(results[0], tensor_of(one["y"]), 1e-9, 1e-10);
    EXPECT_CLOSE(results[1], tensor_of(one["scores"]), 1e-9, 1e-10);
    EXPECT_EQ(mask_of(results[0]).defined(), mask_of(inputs[0]).defined());
    const std::vector<Variable> weights = layer->trainable_variables();
    sources.insert(sources.end(), weights.begin(), weights.end());
    const std::vector<Tensor> gradients = tape.gradient(sum(results[0] * tensor_of(one["dy"])), sources);
    ASSERT_EQ(gradients.size(), one["gradients"].size());
    for (size_t i = 0; i < gradients.size(); ++i)
      EXPECT_CLOSE(gradients[i], tensor_of(one["gradients"][i]), 1e-8, 1e-9) << "gradient " << i;
  }
}

TEST(PlainAttention, DropsScoresWhileTraining) {
  Attention attend({.dropout = 0.5, .seed = 3, .return_attention_scores = true});
  const Tensor x = random_normal({2, 9, 4}, 0, 1, {.seed = 5}).eval();
  EXPECT_CLOSE(sum(attend({x, x})[1], {-1}), ones({2, 9}), 1e-5, 0);
  const Tensor scores = attend({x, x}, {.training = true})[1];
  EXPECT_TRUE(any(equal(scores, 0)).item<bool>());
  EXPECT_FALSE(all(equal(scores, 0)).item<bool>());
}

TEST(PlainAttention, SaysWhatDoesNotFit) {
  const Tensor x = zeros({2, 3, 4});
  EXPECT_ERROR(Attention()(x), ValueError, "takes {query, value} or {query, value, key}, got 1 inputs");
  EXPECT_ERROR(Attention()({x, x, x, x}), ValueError, "got 4 inputs");
  EXPECT_ERROR(AdditiveAttention()({x, zeros({2, 5, 3})}), ShapeError, "(3, 4), (5, 3) and (5, 3)");
  EXPECT_ERROR(Attention({.score_mode = "product"}), ValueError, "unknown score_mode \"product\"");
  EXPECT_ERROR(Attention({.dropout = 1}), ValueError, "dropout must be in [0, 1), got 1");
}

TEST(GroupQueryAttentionLayer, AgreesWithKeras) {
  ASSERT_EQ(references()["groups"].size(), 3u);
  for (const json& one : references()["groups"]) {
    SCOPED_TRACE(one["options"].dump());
    const json& o = one["options"];
    GroupQueryAttentionOptions options{.use_bias = o.value("use_bias", true),
                                       .use_gate = o.value("use_gate", false),
                                       .use_causal_mask = one["causal"].get<bool>(),
                                       .dtype = kReal};
    if (o.contains("sliding_window")) options.sliding_window = o["sliding_window"].get<int64_t>();
    GroupQueryAttention layer(4, one["heads"][0], one["heads"][1], options);
    std::vector<Tensor> sources;
    for (const json& x : one["inputs"]) sources.push_back(Variable(tensor_of(x)));
    const AttentionCall call{.key = sources.size() > 2 ? sources[2] : Tensor()};
    layer(sources[0], sources[1], call);
    assign_all(layer.trainable_variables(), one["weights"]);
    for (const Variable& weight : layer.trainable_variables()) sources.push_back(weight);
    GradientTape tape;
    const Tensor y = layer(sources[0], sources[1], call);
    const AttentionResult open = layer.run(sources[0], sources[1], call);
    // Keras rounds the scale to float32.
    EXPECT_CLOSE(y, tensor_of(one["y"]), 1e-6, 1e-7);
    EXPECT_CLOSE(open.output, y, 1e-9, 1e-9);
    EXPECT_CLOSE(open.scores, tensor_of(one["scores"]), 1e-6, 1e-7);
    const std::vector<Tensor> gradients = tape.gradient(sum(y * tensor_of(one["dy"])), sources);
    ASSERT_EQ(gradients.size(), one["gradients"].size());
    for (size_t i = 0; i < gradients.size(); ++i)
      EXPECT_CLOSE(gradients[i], tensor_of(one["gradients"][i]), 1e-5, 1e-6) << "gradient " << i;
  }
}

TEST(GroupQueryAttentionLayer, SaysWhatDoesNotFit) {
  EXPECT_ERROR(GroupQueryAttention(4, 6, 4), ValueError,
               "num_key_value_heads must divide num_query_heads, got 4 and 6");
  EXPECT_ERROR(GroupQueryAttention(4, 4, 2, {.sliding_window = 0}), ValueError, "sliding_window must be positive");
  GroupQueryAttention layer(4, 4, 2);
  EXPECT_ERROR(layer(zeros({2, 3})), ShapeError, "[GroupQueryAttention]");
}

TEST(AttentionScores, AreThoseOfKeras) {
  for (const json& one : references()["heads"]) {
    MultiHeadAttention layer(2, 3, {.dtype = kReal});
    const Tensor query = tensor_of(one["query"]), value = tensor_of(one["value"]);
    const AttentionCall call{.attention_mask = truths_of(one["attention_mask"]),
                             .use_causal_mask = one["causal"].get<bool>()};
    layer(query, value, call);
    assign_all(layer.trainable_variables(), one["weights"]);
    const AttentionResult result = layer.run(query, value, call);
    // Keras rounds the scale to float32.
    EXPECT_CLOSE(result.output, tensor_of(one["y"]), 1e-6, 1e-7);
    EXPECT_CLOSE(result.output, layer(query, value, call), 1e-9, 1e-9);
    EXPECT_CLOSE(result.scores, tensor_of(one["scores"]), 1e-6, 1e-7);
  }
}

TEST(MultiHeadAttention, MasksOfQueryValueAndKeyAddUpAsInKeras) {
  for (const json& one : references()["masks"]) {
    SCOPED_TRACE(one["masks"].dump() + one["attention_mask"].dump());
    MultiHeadAttention layer(2, 3, {.dtype = kReal});
    std::vector<Tensor> inputs;
    for (const json& input : one["inputs"]) inputs.emplace_back(Variable(tensor_of(input)));
    for (size_t i = 0; i < inputs.size(); ++i)
      if (!one["masks"][i].is_null()) set_mask(inputs[i], truths_of(one["masks"][i]));
    const AttentionCall call{.key = inputs.size() > 2 ? inputs[2] : Tensor(),
                             .attention_mask = truths_of(one["attention_mask"]),
                             .use_causal_mask = one["causal"].get<bool>()};
    layer(inputs[0], inputs[1], call);
    assign_all(layer.trainable_variables(), one["weights"]);
    GradientTape tape;
    const Tensor y = layer(inputs[0], inputs[1], call);
    // Keras rounds the scale to float32.
    EXPECT_CLOSE(y, tensor_of(one["y"]), 1e-6, 1e-7);
    EXPECT_CLOSE(layer.run(inputs[0], inputs[1], call).output, y, 1e-9, 1e-9);
    EXPECT_EQ(mask_of(y).defined(), mask_of(inputs[0]).defined());
    std::vector<Tensor> sources = inputs;
    for (const Variable& weight : layer.trainable_variables()) sources.push_back(weight);
    const std::vector<Tensor> gradients = tape.gradient(sum(y * tensor_of(one["dy"])), sources);
    ASSERT_EQ(gradients.size(), one["gradients"].size());
    for (size_t i = 0; i < gradients.size(); ++i)
      EXPECT_CLOSE(gradients[i], tensor_of(one["gradients"][i]), 1e-5, 1e-6) << "gradient " << i;
  }
}

// Kernels have an axis of heads; their fans are those of the products they are, as in Keras.
TEST(MultiHeadAttention, KernelsStartByTheirFans) {
  MultiHeadAttention attend(8, 40, {.value_dim = 20});
  attend(zeros({1, 2, 64}));
  const auto expect_deviation = [&](size_t weight, double in, double out) {
    const double expected = std::sqrt(2 / (in + out));
    EXPECT_NEAR(isochron::std(attend.weights()[weight]).item(), expected, 0.05 * expected) << weight;
  };
  expect_deviation(0, 64, 320);
  expect_deviation(2, 64, 320);
  expect_deviation(4, 64, 160);
  expect_deviation(6, 160, 64);
}

TEST(MultiHeadAttention, ASeedDecidesWhatIsDropped) {
  const Tensor x = random_normal({2, 6, 4}, 0, 1, {.seed = 5}).eval();
  const auto dropped = [&](std::optional<uint64_t> seed) {
    set_seed(1);
    MultiHeadAttention layer(2, 4, {.dropout = 0.5, .seed = seed});
    layer(x, x);
    set_seed(2);
    const Tensor first = layer(x, x, {.training = true}).eval(), second = layer(x, x, {.training = true}).eval();
    EXPECT_FALSE(allclose(first, second));
    EXPECT_EQ(layer.state().size(), seed ? 1u : 0u);
    return first;
  };
  EXPECT_TRUE(allclose(dropped(3), dropped(3)));
  EXPECT_FALSE(allclose(dropped(3), dropped(4)));
}

TEST(MultiHeadAttention, WeightsAreRegularizedAndConstrained) {
  MultiHeadAttention layer(2, 3,
                           {.kernel_initializer = "ones",
                            .bias_initializer = "ones",
                            .kernel_regularizer = l2(0.5),
                            .bias_regularizer = l1(0.25),
                            .kernel_constraint = non_neg(),
                            .dtype = kReal});
  const Tensor x = ones({1, 5, 4}, kReal);
  layer(x, x);
  // Kernels 3 * 4 * 6 + 6 * 4, biases 3 * 6 + 4, all of ones.
  double penalty = 0;
  for (const Tensor& part : layer.losses()) penalty += part.item();
  EXPECT_DOUBLE_EQ(penalty, 0.5 * 96 + 0.25 * 22);
  EXPECT_EQ(layer.constrained_weights().size(), 4u);
}

TEST(AttentionScores, ComeOutOfAFunctionalModel) {
  const Input x({5, 4}), memory({3, 4});
  MultiHeadAttention attend(2, 4, {.return_attention_scores = true});
  const SymbolicTensors seen = attend({x, memory});
  ASSERT_EQ(seen.size(), 2u);
  Model model({x, memory}, {seen[0], seen[1]});
  const Tensor a = random_normal({2, 5, 4}, 0, 1, {.seed = 1}).eval(),
               b = random_normal({2, 3, 4}, 0, 1, {.seed = 2}).eval();
  const std::vector<Tensor> results = model.predict_all({a, b});
  EXPECT_EQ(results[1].shape(), Shape({2, 2, 5, 3}));
  EXPECT_CLOSE(sum(results[1], {-1}), ones({2, 2, 5}), 1e-5, 0);
  EXPECT_ERROR(attend(a), ValueError, "gives 2 outputs");
}

}  // namespace
}  // namespace isochron
