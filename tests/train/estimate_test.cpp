#include "isochron/train/estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isochron/data/dataset.h"
#include "isochron/nn/nn.h"
#include "isochron/nn/recompute_layer.h"
#include "isochron/ops/create.h"
#include "isochron/ops/random.h"
#include "isochron/optim/optimizers.h"
#include "isochron/train/history.h"

namespace isochron {
namespace {

using ::testing::HasSubstr;

Sequential small_model() {
  Sequential model{Dense(16, {.activation = "relu"}), Dropout(0.1), Dense(3)};
  model.compile({.optimizer = Adam(1e-3), .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  return model;
}

TEST(Estimate, CountsParametersMemoryAndSteps) {
  Sequential model = small_model();
  const Tensor x = random_normal({100, 8}).eval(), y = zeros({100}, DType::int64).eval();
  const Estimate estimate = model.estimate(x, y, {.epochs = 3, .batch_size = 32});
  constexpr int64_t kParameters = 8 * 16 + 16 + 16 * 3 + 3;
  EXPECT_EQ(estimate.parameters, kParameters);
  EXPECT_EQ(estimate.memory.weights.bytes, 4 * kParameters);
  EXPECT_EQ(estimate.memory.gradients.bytes, 4 * kParameters);
  // Two moments of every parameter, the number of updates and the learning rate.
  EXPECT_EQ(estimate.memory.optimizer.bytes, 8 * kParameters + 8 + 8);
  EXPECT_EQ(estimate.memory.data.bytes, 100 * 8 * 4 + 100 * 8);
  EXPECT_GT(estimate.memory.activations.bytes, 32 * 16 * 4);
  EXPECT_TRUE(estimate.fits);
  EXPECT_EQ(estimate.steps, 4);
  ASSERT_TRUE(estimate.step_seconds && estimate.epoch_seconds);
  EXPECT_GT(*estimate.step_seconds, 0);
  // A ragged batch in proportion, and what an epoch costs beside its steps.
  EXPECT_GE(*estimate.epoch_seconds, *estimate.step_seconds * 100 / 32);
  EXPECT_LT(*estimate.epoch_seconds, *estimate.step_seconds * 100 / 32 + 0.1);
  EXPECT_THAT(estimate.to_string(), HasSubstr("3 epochs"));
}

TEST(Estimate, LeavesEverythingAsItWas) {
  const auto train = [](bool ask) {
    set_seed(11);
    Sequential model = small_model();
    const Tensor x = random_normal({64, 8}).eval(), y = zeros({64}, DType::int64).eval();
    model.fit(x, y, {.epochs = 1, .verbose = 0});
    if (ask) model.estimate(x, y, {.batch_size = 16});
    const History history = model.fit(x, y, {.epochs = 2, .verbose = 0});
    return std::pair(history["loss"], model.get_weights());
  };
  const auto [plain_loss, plain_weights] = train(false);
  const auto [asked_loss, asked_weights] = train(true);
  EXPECT_EQ(plain_loss, asked_loss);
  for (size_t i = 0; i < plain_weights.size(); ++i) EXPECT_TRUE(same_elements(plain_weights[i], asked_weights[i]));
}

TEST(Estimate, TakesADataset) {
  Sequential model = small_model();
  const Tensor x = random_normal({50, 8}).eval(), y = zeros({50}, DType::int64).eval();
  const Estimate estimate = model.estimate(data::from_tensor_slices(x, y).batch(10), {.epochs = 2});
  EXPECT_EQ(estimate.steps, 5);
  EXPECT_EQ(estimate.memory.batch, 10);
  ASSERT_TRUE(estimate.input_seconds);
  EXPECT_GE(*estimate.step_seconds, *estimate.input_seconds);
}

TEST(Estimate, ShowsWhatRecomputingSaves) {
  const auto activations = [](bool again) {
    Sequential model{Input({64})};
    for (int b = 0; b < 4; ++b) {
      Sequential block;
      for (int i = 0; i < 4; ++i) block.add(Dense(64, {.activation = "gelu"}));
      again ? model.add(Recompute(block)) : model.add(block);
    }
    model.add(Dense(1));
    model.compile({.optimizer = SGD(0.01), .loss = "mse"});
    const Estimate estimate = model.estimate(zeros({512, 64}), zeros({512, 1}), {.batch_size = 512});
    EXPECT_EQ(estimate.memory.recomputes, again);
    return estimate.memory.activations.bytes;
  };
  // 16 layers keep 131 kB or more each, or 4 blocks their inputs and one of them its layers.
  EXPECT_LT(activations(true), activations(false) * 3 / 4);
}

}  // namespace
}  // namespace isochron
