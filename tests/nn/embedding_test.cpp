// Embedding: lookups, masks, and updates of the rows in use.
#include <gtest/gtest.h>

#include "isochron/graph/tape.h"
#include "isochron/nn/embedding_modules.h"
#include "isochron/nn/layers.h"
#include "isochron/nn/model.h"
#include "isochron/ops/ops.h"
#include "isochron/optim/optimizers.h"
#include "isochron/passes/passes.h"
#include "reference.h"

namespace isochron {
namespace {

TEST(EmbeddingLayer, LooksUpRowsAndMasksPadding) {
  Embedding layer(5, 3, {.mask_zero = true});
  const Tensor tokens = tensor({{1, 0}, {4, 4}});
  const Tensor y = layer(tokens);
  EXPECT_CLOSE(y, gather(layer.embeddings(), tokens), 0, 0);
  EXPECT_TRUE(same_elements(mask_of(y), tensor({{true, false}, {true, true}})));
  EXPECT_EQ(layer.output_shape({2}), Shape({2, 3}));
  EXPECT_CLOSE(layer(cast(tokens, DType::float32)), y, 0, 0);
  EXPECT_ERROR(layer(tensor({{1, 2}, {3, 9}})).eval(), IndexError,
               "[Embedding] indices must be in [0, 5), got 9 at position (1, 1)");
  EXPECT_ERROR(layer(tensor({{4}}) + 1).eval(), IndexError, "[Embedding] indices must be in [0, 5), got 5");
  EXPECT_ERROR(nn::Embedding(5, 3)(tensor({7})).eval(), IndexError, "[Embedding] indices must be in [0, 5), got 7");
  EXPECT_ERROR(Embedding(0, 3), ValueError, "at least one token");
}

// Trains on tokens that repeat within a batch; returns the table.
Tensor trained(const AnyOptimizer& optimizer, bool lazy, bool dense) {
  set_pass_enabled("gradient_into_update", !dense);
  set_seed(6);
  Sequential model{Input({2}), Embedding(40, 6, {.lazy_updates = lazy}), Flatten(), Dense(1)};
  model.compile({.optimizer = optimizer, .loss = "mse"});
  for (int step = 0; step < 4; ++step) {
    const Tensor tokens = reshape(tensor({3, 7, 7, 3, 9, 30, 3, step}), {4, 2});
    model.train_on_batch(tokens, reshape(tensor({1.f, -1.f, 2.f, 0.5f}), {4, 1}));
  }
  set_pass_enabled("gradient_into_update", true);
  return model.get_weights()[0];
}

TEST(EmbeddingLayer, RowUpdatesEqualDenseOnesWhereTheyAreTakenByDefault) {
  EXPECT_CLOSE(trained(SGD(0.1), false, false), trained(SGD(0.1), false, true), 1e-6, 1e-7);
  EXPECT_CLOSE(trained(Adagrad(0.1), false, false), trained(Adagrad(0.1), false, true), 1e-6, 1e-7);
  // Adam moves every row it has ever seen, also in steps that do not use it.
  EXPECT_CLOSE(trained(Adam(0.1), false, false), trained(Adam(0.1), false, true), 1e-6, 1e-7);
}

TEST(EmbeddingLayer, LazyUpdatesLeaveUnusedRowsAlone) {
  const Tensor dense = trained(Adam(0.1), false, false), lazy = trained(Adam(0.1), true, false);
  // Rows 3, 7, 9 and 30 are used in every step: the same. Row 0 was used in the first one only.
  for (const int64_t row : {3, 7, 9, 30})
    EXPECT_CLOSE(slice(lazy, {row}, {row + 1}), slice(dense, {row}, {row + 1}), 1e-4, 1e-5);
  EXPECT_FALSE(allclose(slice(lazy, {0}, {1}), slice(dense, {0}, {1}), 1e-3, 1e-3));
  set_seed(6);
  Sequential fresh{Input({2}), Embedding(40, 6), Flatten(), Dense(1)};
  EXPECT_TRUE(same_elements(slice(lazy, {10}, {30}), slice(fresh.get_weights()[0], {10}, {30})));
}

TEST(EmbeddingLayer, AStepNeverFormsTheGradientOfTheTable) {
  Variable table(random_normal({1000, 4}, 0, 1, {.seed = 1}));
  SGD optimizer(0.1);
  const Tensor tokens = tensor({5, 5, 900});
  GradientTape tape;
  const Tensor loss = sum(square(embedding(table, tokens)));
  const std::vector<Tensor> gradients = tape.gradient(loss, std::vector<Variable>{table});
  const std::vector<double> before = table.to_vector<double>();
  optimizer.apply_gradients(gradients, {table});
  const std::vector<double> after = table.to_vector<double>();
  for (size_t i = 0; i < before.size(); ++i) {
    const size_t row = i / 4;
    const double factor = row == 5 ? 1 - 0.1 * 2 * 2 : row == 900 ? 1 - 0.1 * 2 : 1;
    ASSERT_NEAR(after[i], before[i] * factor, 1e-6) << "row " << row;
  }
}

}  // namespace
}  // namespace isochron
