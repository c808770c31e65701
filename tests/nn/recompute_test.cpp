// Recomputed blocks: the same numbers from less memory.
// tests of op: recompute recompute_input
#include "isochron/graph/recompute.h"

#include <gtest/gtest.h>

#include "isochron/exec/function.h"
#include "isochron/isochron.h"
#include "reference.h"

namespace isochron {
namespace {

// Twelve wide layers with dropout, in blocks of four that are recomputed or not.
Sequential deep(bool recomputed) {
  set_seed(4);
  Sequential model{Input({16})};
  for (int block = 0; block < 3; ++block) {
    Sequential layers;
    for (int i = 0; i < 4; ++i) {
      layers.add(Dense(256, {.activation = "tanh"}));
      layers.add(Dropout(0.1, {.seed = static_cast<uint64_t>(4 * block + i)}));
    }
    recomputed ? model.add(Recompute(layers)) : model.add(layers);
  }
  model.add(Dense(1));
  return model;
}

TEST(Recompute, TrainsToTheSameWeights) {
  const Tensor x = random_normal({64, 16}, 0, 1, {.seed = 1}).eval(), y = sum(x, {1}, true).eval();
  std::vector<std::vector<Tensor>> weights;
  std::vector<double> losses;
  for (const bool recomputed : {false, true}) {
    Sequential model = deep(recomputed);
    model.compile({.optimizer = Adam(1e-3), .loss = "mse"});
    losses.push_back(model.fit(x, y, {.epochs = 3, .batch_size = 16, .shuffle = false, .verbose = 0})["loss"].back());
    weights.push_back(model.get_weights());
  }
  EXPECT_NEAR(losses[0], losses[1], 1e-5 * losses[0]);
  ASSERT_EQ(weights[0].size(), weights[1].size());
  for (size_t i = 0; i < weights[0].size(); ++i) EXPECT_CLOSE(weights[1][i], weights[0][i], 1e-4, 1e-5);
}

int64_t memory_of_a_step(Sequential model) {
  const TensorSpec spec{DType::float32, {512, 16}};
  const auto plan = TracedPlan::trace({&spec, 1}, [&](std::span<const Tensor> arguments) -> TensorList {
    GradientTape tape;
    const Tensor loss = mean(square(model(arguments[0], {.training = true})));
    SGD optimizer(0.1);
    optimizer.apply_gradients(tape.gradient(loss, model.trainable_variables()), model.trainable_variables());
    return {loss};
  });
  return plan->executable().arena_bytes();
}

TEST(Recompute, TakesLessMemory) {
  const int64_t kept = memory_of_a_step(deep(false)), recomputed = memory_of_a_step(deep(true));
  RecordProperty("kept_bytes", std::to_string(kept));
  RecordProperty("recomputed_bytes", std::to_string(recomputed));
  EXPECT_LT(recomputed, 0.7 * static_cast<double>(kept)) << kept << " bytes without";
}

TEST(Recompute, GradientsAreThoseOfTheBlock) {
  const Variable w(random_normal({3, 4}, 0, 1, {.seed = 2, .dtype = DType::float64}));
  const Variable x(random_normal({5, 3}, 0, 1, {.seed = 3, .dtype = DType::float64}));
  const auto block = [&](const Tensor& in) { return exp(tanh(matmul(in, w))) * tanh(matmul(in, w)); };
  std::vector<Tensor> plain, again;
  {
    GradientTape tape({.persistent = true});
    const Tensor loss = sum(square(block(x * 2)));
    plain = tape.gradient(loss, {x, w});
  }
  {
    GradientTape tape({.persistent = true});
    const Tensor in = x * 2;
    const Tensor loss = sum(square(recompute(block(in), {in}, {w})));
    again = tape.gradient(loss, {x, w});
  }
  for (size_t i = 0; i < 2; ++i) EXPECT_CLOSE(again[i], plain[i], 1e-12, 1e-12);
}

}  // namespace
}  // namespace isochron
