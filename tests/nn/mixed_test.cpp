// mixed_bfloat16: half the memory for activations, training curves of Keras, losses in float32.
#include <gtest/gtest.h>

#include "isochron/base/files.h"
#include "isochron/exec/function.h"
#include "isochron/isochron.h"
#include "reference.h"

namespace isochron {
namespace {

constexpr const char* kMixed = "mixed_bfloat16";
constexpr double kStep = 1. / 128;  // between neighbours in bfloat16

Tensor noise(const Shape& shape, uint64_t seed = 1) { return random_normal(shape, 0, 1, {.seed = seed}).eval(); }

TEST(Mixed, ProductsAreFloat32SumsOfRoundedOperands) {
  const Tensor a = cast(noise({37, 300}, 1), DType::bfloat16).eval(),
               b = cast(noise({300, 29}, 2), DType::bfloat16).eval();
  const Tensor exact = matmul(cast(a, DType::float64), cast(b, DType::float64));
  const Tensor product = matmul(a, b);
  EXPECT_EQ(product.dtype(), DType::bfloat16);
  // One rounding of the result, half a step at most; sums in bfloat16 would be off by many.
  EXPECT_CLOSE(cast(product, DType::float64), exact, kStep / 2 + 1e-5, 1e-3);
  const Tensor batch = matmul(reshape(a, {1, 37, 300}), b, {});
  EXPECT_CLOSE(cast(batch, DType::float64), reshape(exact, {1, 37, 29}), kStep / 2 + 1e-5, 1e-3);
  const Tensor turned = matmul(transpose(b, {1, 0}), a, {.transpose_b = true});
  EXPECT_CLOSE(cast(turned, DType::float64), transpose(exact, {1, 0}), kStep / 2 + 1e-5, 1e-3);
}

TEST(Mixed, ConvolutionsAndPoolingTakeBothWaysIn16Bits) {
  const Tensor x = cast(noise({2, 8, 8, 8}, 1), DType::bfloat16).eval(),
               w = cast(noise({3, 3, 8, 8}, 2), DType::bfloat16).eval();
  const auto all = [](const Tensor& in, const Tensor& kernel) {
    GradientTape tape;
    tape.watch(in);
    tape.watch(kernel);
    const Tensor y = max_pool(conv(in, kernel, {.padding = "same"}), {.window = {2, 2}});
    std::vector<Tensor> out = tape.gradient(sum(cast(y, DType::float32)), {in, kernel});
    out.push_back(y);
    return out;
  };
  const std::vector<Tensor> narrow = all(x, w),
                            wide = all(cast(x, DType::float32).eval(), cast(w, DType::float32).eval());
  for (size_t i = 0; i < wide.size(); ++i) {
    EXPECT_EQ(narrow[i].dtype(), DType::bfloat16);
    const double size = norm(wide[i], 2, {}).item();
    EXPECT_LT(norm(cast(narrow[i], DType::float32) - wide[i], 2, {}).item(), 0.1 * size) << i;
  }
  EXPECT_CLOSE(cast(narrow[2], DType::float32), wide[2], kStep, 1e-2);
}

// Every layer with weights: what it gives is bfloat16 and near what it gives in float32, with gradients for its
// weights.
TEST(Mixed, LayersGiveBfloat16NearFloat32) {
  const Tensor flat = noise({4, 6}), sequence = noise({2, 8, 4}), image = noise({2, 6, 6, 4}),
               words = tensor({0.f, 1.f, 400.f, 999.f, 3.f, 2.f});
  struct Case {
    const char* name;
    AnyLayer layer;
    Tensor x;
  };
  const Case cases[] = {{"Dense", Dense(5, {.activation = "gelu"}), flat},
                        {"Conv1D", Conv1D(5, 3, {.padding = "causal"}), sequence},
                        {"Conv2D", Conv2D(8, 3, {.activation = "relu"}), image},
                        {"Conv2DTranspose", Conv2DTranspose(3, 3, {.strides = 2}), image},
                        {"DepthwiseConv2D", DepthwiseConv2D(3), image},
                        {"SeparableConv2D", SeparableConv2D(5, 3), image},
                        {"Embedding", Embedding(1000, 6), reshape(words, {2, 3}).eval()},
                        {"LSTM", LSTM(5, {.return_sequences = true}), sequence},
                        {"GRU", GRU(5), sequence},
                        {"SimpleRNN", SimpleRNN(5), sequence},
                        {"Bidirectional", Bidirectional(LSTM(3)), sequence},
                        {"ConvLSTM1D", ConvLSTM1D(3, 2), image},
                        {"MultiHeadAttention", MultiHeadAttention(2, 4), sequence},
                        {"TransformerEncoderLayer", TransformerEncoderLayer(2, 8), sequence},
                        {"BatchNormalization", BatchNormalization(), image},
                        {"LayerNormalization", LayerNormalization(), sequence},
                        {"GroupNormalization", GroupNormalization({.groups = 2}), image},
                        {"RMSNormalization", RMSNormalization(), sequence}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    Layer& layer = *one.layer.get();
    const Tensor wide = layer(one.x, {.training = true}).eval();
    layer.set_dtype_policy(kMixed);
    EXPECT_STREQ(layer.dtype_policy(), kMixed);
    GradientTape tape;
    const Tensor y = layer(one.x, {.training = true});
    EXPECT_EQ(y.dtype(), DType::bfloat16);
    EXPECT_CLOSE(cast(y, DType::float32), wide, 4 * kStep, 0.05);
    const std::vector<Variable> weights = layer.trainable_variables();
    const std::vector<Tensor> slopes = tape.gradient(sum(square(cast(y, DType::float32))), weights);
    for (size_t i = 0; i < weights.size(); ++i) {
      EXPECT_EQ(weights[i].dtype(), DType::float32);
      ASSERT_TRUE(slopes[i].defined()) << weights[i].name();
      EXPECT_EQ(slopes[i].dtype(), DType::float32);
    }
  }
}

Sequential classifier(const std::string& policy, bool convolutional) {
  const DenseOptions last{.dtype_policy = "float32"};
  if (!convolutional)
    return Sequential({Input({12}), Dense(16, {.activation = "relu"}), LayerNormalization(),
                       Dense(16, {.activation = "gelu"}), Dense(3, last)},
                      {.dtype_policy = policy});
  return Sequential({Input({8, 8, 2}), Conv2D(8, 3, {.padding = "same", .activation = "relu"}), MaxPooling2D(),
                     Conv2D(8, 3, {.strides = 2}), BatchNormalization(), Activation("relu"), Flatten(), Dense(3, last)},
                    {.dtype_policy = policy});
}

std::vector<double> curve(Sequential model, const nlohmann::json& reference) {
  std::vector<Tensor> weights;
  for (const auto& weight : reference["weights"]) weights.push_back(reference::tensor_of(weight));
  model.set_weights(weights);
  model.compile({.optimizer = Adam(0.01), .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  const Tensor x = reference::tensor_of(reference["x"]), y = reference::tensor_of(reference["y"]);
  EXPECT_EQ(model.predict(x).dtype(), DType::float32);
  std::vector<double> losses;
  for (size_t i = 0; i < reference["float32"].size(); ++i) losses.push_back(model.train_on_batch(x, y)[0].second);
  return losses;
}

// Roundings fall elsewhere than in Keras, so curves agree as far as bfloat16 carries: 1 % of the first loss.
TEST(Mixed, TrainsAlongTheCurvesOfKeras) {
  const nlohmann::json file = reference::read_file("mixed.json");
  for (const auto& reference : file["curves"]) {
    SCOPED_TRACE(reference["name"].get<std::string>());
    const bool convolutional = reference["name"] == "convolutional";
    const std::vector<double> mixed = curve(classifier(kMixed, convolutional), reference),
                              plain = curve(classifier("float32", convolutional), reference);
    const double first = plain[0];
    bool differs = false;
    for (size_t i = 0; i < mixed.size(); ++i) {
      EXPECT_NEAR(plain[i], reference["float32"][i].get<double>(), 1e-4 * first) << i;
      EXPECT_NEAR(mixed[i], reference["mixed_bfloat16"][i].get<double>(), 0.01 * first) << i;
      EXPECT_NEAR(mixed[i], plain[i], 0.01 * first) << i;
      differs |= mixed[i] != plain[i];
    }
    EXPECT_TRUE(differs);
  }
}

int64_t memory_of_a_step(const std::string& policy) {
  std::vector<AnyLayer> layers{Input({64})};
  for (int i = 0; i < 8; ++i) layers.push_back(Dense(64, {.activation = "relu"}));
  Sequential model(layers, {.dtype_policy = policy});
  const TensorSpec spec{DType::float32, {4096, 64}};
  const auto plan = TracedPlan::trace({&spec, 1}, [&](std::span<const Tensor> arguments) -> TensorList {
    GradientTape tape;
    const Tensor loss = mean(square(cast(model(arguments[0], {.training = true}), DType::float32)));
    SGD optimizer(0.1);
    optimizer.apply_gradients(tape.gradient(loss, model.trainable_variables()), model.trainable_variables());
    return {loss};
  });
  return plan->executable().arena_bytes();
}

TEST(Mixed, ActivationsTakeHalfTheMemory) {
  const int64_t plain = memory_of_a_step("float32"), mixed = memory_of_a_step(kMixed);
  RecordProperty("float32_bytes", std::to_string(plain));
  RecordProperty("mixed_bytes", std::to_string(mixed));
  fmt::print("a step of 8 dense layers, batch 4096: {:.1f} MB in float32, {:.1f} MB mixed\n",
             static_cast<double>(plain) / 1e6, static_cast<double>(mixed) / 1e6);
  EXPECT_LT(mixed, 0.6 * static_cast<double>(plain)) << plain;
}

TEST(Mixed, PoliciesOfLayersWinOverTheModels) {
  Sequential model = classifier(kMixed, false);
  EXPECT_STREQ(model.get_layer(1)->dtype_policy(), kMixed);
  EXPECT_STREQ(model.get_layer(-1)->dtype_policy(), "float32");
  model.add(Dense(2));
  EXPECT_STREQ(model.get_layer(-1)->dtype_policy(), kMixed);
  EXPECT_ERROR(model.set_dtype_policy("mixed_bfloat"), ValueError, "did you mean \"mixed_bfloat16\"");
  const TempFolder folder;
  model.save(folder.file("m.iso"));
  const auto loaded = load_model(folder.file("m.iso"));
  for (int64_t i = 0; i < static_cast<int64_t>(model.layers().size()); ++i)
    EXPECT_STREQ(loaded->get_layer(i)->dtype_policy(), model.get_layer(i)->dtype_policy()) << i;
  const Tensor x = noise({5, 12});
  EXPECT_EQ(loaded->predict(x).to_vector<float>(), model.predict(x).to_vector<float>());
}

}  // namespace
}  // namespace isochron
