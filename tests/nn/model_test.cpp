#include "isochron/nn/model.h"

#include <gmock/gmock.h>

#include "isochron/isochron.h"
#include "reference.h"
#include "tests/message_of.h"

namespace isochron {
namespace {

Sequential small_model() {
  return {Input({3}), Dense(4, {.activation = "relu", .name = "hidden"}), Dense(2, {.name = "out"})};
}

TEST(Sequential, IsBuiltByItsInputOrItsFirstCall) {
  EXPECT_EQ(small_model().weights().size(), 4u);
  Sequential model{Dense(4), Dense(2)};
  EXPECT_FALSE(model.built());
  EXPECT_TRUE(model.weights().empty());
  EXPECT_EQ(model(zeros({5, 3})).shape(), Shape({5, 2}));
  EXPECT_EQ(model.count_params(), 3 * 4 + 4 + 4 * 2 + 2);
}

TEST(Sequential, ErrorsNameTheLayersTheyHappenedIn) {
  const auto convolutions = [] {
    return Sequential(
        {Conv2D(4, 3, {.name = "first"}), Conv2D(4, 3, {.name = "second"}), Conv2D(4, 3, {.name = "third"})},
        {.name = "block"});
  };
  const std::string rule =
                        "[conv] a window of 3 does not fit into 2 elements padded by 0 and 0 (spatial axis 0); make it "
                        "smaller, or pad more",
                    third = "\n  in layer \"third\" (Conv2D), called with (None, 2, 2, 4)",
                    block = "\n  in layer \"block\" (Sequential), called with (None, 6, 6, 1)";
  EXPECT_ERROR(convolutions().build({6, 6, 1}), ShapeError, (rule + third).c_str());
  EXPECT_ERROR(convolutions()(zeros({5, 6, 6, 1})), ShapeError, (rule + third + block).c_str());
  EXPECT_ERROR(convolutions()(Input({6, 6, 1})), ShapeError, (rule + third + block).c_str());
  // Once built, by what is called.
  Sequential built = convolutions();
  EXPECT_EQ(built(zeros({5, 7, 7, 1})).shape(), Shape({5, 1, 1, 4}));
  EXPECT_ERROR(built(zeros({5, 6, 6, 1})), ShapeError, (rule + third + block).c_str());
  Sequential short_one({Conv2D(4, 3, {.name = "first"}), Conv2D(4, 3, {.name = "second"})}, {.name = "block"});
  short_one.build({6, 6, 1});
  EXPECT_ERROR(short_one.add(GroupNormalization({.groups = 3, .name = "third"})), Error,
               "\n  in layer \"third\" (GroupNormalization), called with (None, 2, 2, 4)");
  const Tensor x = zeros({5, 6, 6, 1});
  built.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_ERROR(built.fit(x, zeros({5, 4}), {.verbose = 0}), ShapeError, (rule + third + block).c_str());
  EXPECT_ERROR(Add()({x, zeros({5, 3, 3, 1})}), ShapeError, "(Add), called with (None, 6, 6, 1), (None, 3, 3, 1)");
}

TEST(Sequential, IsBuiltByHand) {
  Sequential model{Dense(4), Dense(2)};
  model.build({3});
  EXPECT_TRUE(model.built());
  model.add(Dense(5));
  EXPECT_EQ(model.weights().size(), 6u);
  EXPECT_EQ(model(zeros({1, 3})).shape(), Shape({1, 5}));
  EXPECT_EQ(model.weights().size(), 6u);
}

TEST(Layer, BuiltByHandKeepsItsWeights) {
  Dense dense(2);
  dense.build({3});
  dense.set_weights({ones({3, 2}), tensor({1.f, 2.f})});
  EXPECT_CLOSE(dense(ones({1, 3})), tensor({{4.f, 5.f}}), 0, 0);
  EXPECT_EQ(dense.weights().size(), 2u);
  EXPECT_ERROR(dense.build({3}), StateError, "has been built and has its weight \"kernel\"");
  Dense other(2, {.name = "other"});
  other.build({3});
  EXPECT_ERROR(other(ones({1, 4})), ShapeError,
               "layer \"other\" has a weight \"kernel\" of float32(3, 2) already, float32(4, 2) is asked for");
  EXPECT_EQ(other(ones({1, 3})).shape(), Shape({1, 2}));
  EXPECT_EQ(other.weights().size(), 2u);
  TransformerEncoderLayer encoder(2, 8);
  encoder.build({5, 4});
  const size_t weights = encoder.weights().size();
  EXPECT_EQ(encoder(zeros({1, 5, 4})).shape(), Shape({1, 5, 4}));
  EXPECT_EQ(encoder.weights().size(), weights);
}

// Makes one weight, then has an opinion of the input.
struct Choosy : Layer {
  ISO_LAYER(Choosy)
  void build(const Shape& input) override {
    scale = add_weight("scale", input, "ones");
    if (input[0] != 3) fail<ShapeError>("Choosy", "wants 3");
  }
  Tensor call(const Tensor& x, const CallContext&) override { return x * scale; }
  Variable scale;
};

TEST(Layer, ABuildThatFailsLeavesNothing) {
  Choosy layer;
  EXPECT_ERROR(layer(zeros({1, 4})), ShapeError, "wants 3");
  EXPECT_TRUE(layer.weights().empty());
  EXPECT_EQ(layer(zeros({1, 3})).shape(), Shape({1, 3}));
  EXPECT_EQ(layer.weights().size(), 1u);
}

TEST(Sequential, LayersAreAddedAndPopped) {
  Sequential model = small_model();
  model.add(Dense(7));
  EXPECT_EQ(model(zeros({5, 3})).shape(), Shape({5, 7}));
  model.pop();
  EXPECT_EQ(model(zeros({5, 3})).shape(), Shape({5, 2}));
  Sequential empty;
  EXPECT_ERROR(empty.pop(), StateError, "no layer to pop");
}

TEST(Sequential, NestsModels) {
  Sequential model{small_model(), Dense(1)};
  EXPECT_EQ(model(zeros({5, 3})).shape(), Shape({5, 1}));
  EXPECT_EQ(model.weights().size(), 6u);
}

TEST(Sequential, SaysWhatDoesNotFit) {
  Sequential model = small_model();
  EXPECT_ERROR(model(zeros({5, 4})), ShapeError, "takes examples of shape (3,), got a batch of shape (5, 4)");
  EXPECT_ERROR(model(zeros({3})), ShapeError, "takes examples of shape (3,)");
  Sequential without_input{Dense(4, {.name = "first"})};
  without_input(zeros({5, 3}));
  EXPECT_ERROR(without_input(zeros({5, 4})), ShapeError, "layer \"first\" was built for 3");
}

TEST(Model, WeightsAreCopiedOutAndIn) {
  Sequential model = small_model(), other = small_model();
  const Tensor x = ones({2, 3});
  std::vector<Tensor> weights = model.get_weights();
  other.set_weights(weights);
  EXPECT_TRUE(same_elements(model(x), other(x)));
  // The copies do not follow the model.
  const Tensor before = weights[0] + 0;
  before.eval();
  model.weights()[0].assign(zeros({3, 4}));
  model.weights()[0].eval();
  EXPECT_TRUE(same_elements(weights[0], before));
}

TEST(Model, SetWeightsListsWhatDoesNotFitAndChangesNothing) {
  Sequential model = small_model();
  const std::vector<Tensor> before = model.get_weights();
  std::vector<Tensor> wrong = {ones({3, 4}), ones({5}), ones({4, 2}, DType::float64), ones({2})};
  EXPECT_ERROR(model.set_weights(wrong), ShapeError, "hidden/bias is");
  EXPECT_ERROR(model.set_weights(wrong), ShapeError, "out/kernel is");
  EXPECT_ERROR(model.set_weights({ones({3, 4})}), ShapeError,
               "4 weights: hidden/kernel (3, 4), hidden/bias (4,), out/kernel (4, 2), out/bias (2,)");
  for (size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(same_elements(model.weights()[i], before[i]));
  Sequential unbuilt{Dense(2)};
  EXPECT_ERROR(unbuilt.set_weights({ones({3, 2})}), StateError, "has no weights yet");
}

TEST(Model, SummaryIsKerasTable) {
  Sequential model = small_model();
  model.set_name("net");
  model.layers()[0]->set_trainable(false);
  const std::string text = model.summary();
  EXPECT_THAT(text, testing::StartsWith("Model: \"net\"\n┏"));
  EXPECT_THAT(text, testing::ContainsRegex("hidden \\(Dense\\) +│ \\(None, 4\\) +│ +16 │"));
  EXPECT_THAT(text, testing::ContainsRegex("out \\(Dense\\) +│ \\(None, 2\\) +│ +10 │"));
  EXPECT_THAT(text, testing::HasSubstr(" Total params: 26 (104.00 B)\n"));
  EXPECT_THAT(text, testing::HasSubstr(" Trainable params: 10 (40.00 B)\n"));
  EXPECT_THAT(text, testing::HasSubstr(" Non-trainable params: 16 (64.00 B)\n"));
  Sequential unbuilt{Dense(2)};
  EXPECT_THAT(unbuilt.summary(), testing::HasSubstr("0 (unbuilt)"));
}

TEST(Model, SummaryNamesNestedModelsAsKerasDoes) {
  const Input in({3});
  Model inner(in, Dense(4)(in), {.name = "inner"});
  Sequential outer{Input({3}), inner, Sequential({Dense(2)}, {.name = "tail"})};
  EXPECT_THAT(outer.summary(), testing::HasSubstr("inner (Functional)"));
  EXPECT_THAT(outer.summary(), testing::HasSubstr("tail (Sequential)"));
}

TEST(Model, ABuildThatFailedCanBeDoneAgain) {
  int made = 0;
  const Initializer fails_once("mine", [&](const Shape& shape, DType dtype, RandomSource) {
    if (made++ == 0) throw std::runtime_error("no memory");
    return zeros(shape, dtype);
  });
  TransformerEncoderLayer encoder(2, 8, {.kernel_initializer = fails_once});
  EXPECT_THROW(encoder(zeros({1, 5, 8})), std::runtime_error);
  EXPECT_TRUE(encoder.weights().empty());
  EXPECT_EQ(encoder(zeros({1, 5, 8})).shape(), Shape({1, 5, 8}));
  EXPECT_EQ(encoder.weights().size(), 16u);
}

TEST(Model, WeightsMadeByHandAreThoseOfEveryCopy) {
  Dense dense(2);
  Sequential model{dense};
  dense.build({3});
  dense.set_weights({ones({3, 2}), tensor({1.f, 2.f})});
  EXPECT_EQ(model(ones({1, 3})).to_vector<float>(), (std::vector<float>{4, 5}));
  Dense renamed(2);
  renamed.build({3});
  renamed.set_name("another");
  renamed(ones({1, 3}));
  EXPECT_EQ(renamed.weights().size(), 2u);
  Dense twice(1);
  twice.build({1});
  EXPECT_ERROR(twice.build({1}), StateError, "has its weight \"kernel\"");
}

TEST(Model, TheLastLayerMustFitAsWell) {
  EXPECT_ERROR((Sequential{Input({4, 4, 1}), Conv2D(2, 5, {.name = "wide"})}), ShapeError,
               "a window of 5 does not fit into 4 elements");
  EXPECT_ERROR((Sequential{Input({1, 1, 1}), MaxPooling2D(2, {.name = "pool"})}), ShapeError, "in layer \"pool\"");
}

TEST(Model, AnErrorNamesALayerOnce) {
  MultiHeadAttention attention(2, 4, {.name = "attention"});
  const std::string text = message_of([&] { attention(zeros({1, 5, 6}), zeros({2, 5, 6})); });
  const size_t first = text.find("in layer \"attention\"");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find("in layer \"attention\"", first + 1), std::string::npos) << text;
}

TEST(Model, TrainsWithEveryLayerAndKeepsItsConstraints) {
  set_seed(6);
  const Tensor x = random_normal({128, 4}, 3, 2, {.seed = 1}).eval(), y = sum(x, {1}, true).eval();
  Normalization normalize;
  normalize.adapt(x);
  const std::vector<float> mean_before = normalize.weights()[0].to_vector<float>();
  Sequential model{normalize,
                   Dense(16, {.activation = "relu", .kernel_constraint = max_norm(0.5)}),
                   Dropout(0.1, {.seed = 2}),
                   Reshape({4, 4}),
                   Flatten(),
                   Dense(1)};
  model.compile({.optimizer = Adam(0.02), .loss = "mse"});
  const History history = model.fit(x, y, {.epochs = 15, .verbose = 0});
  EXPECT_LT(history["loss"].back(), 0.5 * history["loss"].front());
  EXPECT_LE(max(norm(model.layers()[1]->weights()[0], 2, {0})).item(), 0.5 + 1e-5);
  EXPECT_EQ(normalize.weights()[0].to_vector<float>(), mean_before);
  EXPECT_EQ(model.evaluate(x, y, {.verbose = 0}), model.evaluate(x, y, {.verbose = 0}));
}

TEST(Model, ThePenaltyOfARegularizerIsPartOfTheLoss) {
  const Tensor x = ones({8, 2}), y = zeros({8, 1});
  Sequential model{Input({2}),
                   Dense(1, {.use_bias = false, .kernel_initializer = "ones", .kernel_regularizer = l2(0.25)})};
  model.compile({.optimizer = SGD(0.1), .loss = "mse"});
  // (1 + 1)^2 of the data, 0.25 (1 + 1) of the weights.
  EXPECT_NEAR(model.evaluate(x, y, {.verbose = 0})[0].second, 4.5, 1e-6);
  model.train_on_batch(x, y);
  // d/dw = 2 (w1 + w2) + 0.5 w = 4.5, times the rate.
  EXPECT_CLOSE(model.weights()[0], tensor({{0.55f}, {0.55f}}), 1e-6, 0);
}

}  // namespace
}  // namespace isochron
