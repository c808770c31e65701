#include "isochron/nn/model.h"

#include <gmock/gmock.h>

#include "isochron/isochron.h"
#include "reference.h"

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
