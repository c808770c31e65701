#include "isochron/nn/weight_rules.h"

#include <gtest/gtest.h>

#include "isochron/nn/activation_layer.h"
#include "isochron/nn/dense.h"
#include "isochron/ops/create.h"
#include "reference.h"

namespace isochron {
namespace {

// Columns of norm 5 and 1.
Tensor weight() { return tensor({{3.f, 0.f}, {-4.f, 1.f}}); }

TEST(Regularizers, SumAbsolutesAndSquares) {
  EXPECT_NEAR(l1(0.1).penalty(weight()).item(), 0.8, 1e-6);
  EXPECT_NEAR(l2(0.1).penalty(weight()).item(), 2.6, 1e-6);
  EXPECT_NEAR(l1_l2(0.1, 0.01).penalty(weight()).item(), 1.06, 1e-6);
  EXPECT_NEAR(Regularizer("l2").penalty(weight()).item(), 0.26, 1e-6);
  EXPECT_ERROR(Regularizer("l3"), ValueError, "unknown regularizer \"l3\"");
}

TEST(Regularizers, BelongToTheirWeights) {
  Dense dense(2, {.kernel_initializer = "ones", .kernel_regularizer = l2(0.5), .bias_regularizer = "l1"});
  EXPECT_TRUE(dense.losses().empty());
  dense(ones({1, 3}));
  ASSERT_EQ(dense.losses().size(), 2u);
  EXPECT_NEAR(dense.losses()[0].item(), 3, 1e-6);
  EXPECT_NEAR(dense.losses()[1].item(), 0, 1e-6);
}

TEST(Constraints, ProjectAlongTheirAxis) {
  EXPECT_CLOSE(max_norm(2).project(weight()), tensor({{1.2f, 0.f}, {-1.6f, 1.f}}), 1e-5, 0);
  EXPECT_CLOSE(unit_norm().project(weight()), tensor({{0.6f, 0.f}, {-0.8f, 1.f}}), 1e-5, 0);
  EXPECT_CLOSE(unit_norm(1).project(weight()), tensor({{1.f, 0.f}, {-0.9701425f, 0.2425356f}}), 1e-5, 0);
  EXPECT_CLOSE(non_neg().project(weight()), tensor({{3.f, 0.f}, {0.f, 1.f}}), 0, 0);
  EXPECT_CLOSE(min_max_norm(2, 4).project(weight()), tensor({{2.4f, 0.f}, {-3.2f, 2.f}}), 1e-5, 0);
  // Half of the way from 5 to 4, and from 1 to 2.
  EXPECT_CLOSE(min_max_norm(2, 4, 0.5).project(weight()), tensor({{2.7f, 0.f}, {-3.6f, 1.5f}}), 1e-5, 0);
}

TEST(Constraints, ByName) {
  for (const char* name : {"max_norm", "non_neg", "unit_norm", "min_max_norm"}) EXPECT_TRUE(Constraint(name)) << name;
  EXPECT_ERROR(Constraint("max_nrom"), ValueError, "did you mean \"max_norm\"?");
  Dense dense(2, {.kernel_constraint = "non_neg"});
  dense(ones({1, 3}));
  ASSERT_EQ(dense.constrained_weights().size(), 1u);
  EXPECT_EQ(dense.constrained_weights()[0].first.name(), dense.name() + "/kernel");
}

TEST(WeightRules, NullMeansNone) {
  const char* const none = nullptr;
  Dense dense(2, {.activation = nullptr,
                  .kernel_initializer = "ones",
                  .kernel_regularizer = nullptr,
                  .bias_regularizer = none,
                  .kernel_constraint = nullptr,
                  .bias_constraint = none});
  EXPECT_CLOSE(dense(tensor({{1.f, -3.f}})), tensor({{-2.f, -2.f}}), 0, 0);
  EXPECT_TRUE(dense.losses().empty());
  EXPECT_TRUE(dense.constrained_weights().empty());
  EXPECT_CLOSE(Activation(nullptr)(tensor({-1.f})), tensor({-1.f}), 0, 0);
  EXPECT_ERROR(Dense(2, {.kernel_initializer = nullptr}), ValueError, "[initializer] weights need one, got nullptr");
}

TEST(Regularizers, FactorsAndNormsAreNumbersThatAreNotNegative) {
  EXPECT_ERROR(l2(-1), ValueError, "[l2] factor must not be negative, got -1");
  EXPECT_ERROR(l1(NAN), ValueError, "[l1] factor must be a finite number, got nan");
  EXPECT_ERROR(l1_l2(0.1, INFINITY), ValueError, "[l1_l2] l2 must be a finite number, got inf");
  EXPECT_ERROR(max_norm(-1), ValueError, "[max_norm] the largest norm must not be negative, got -1");
  EXPECT_ERROR(min_max_norm(2, 1), ValueError, "the largest norm, 1, is below the least one, 2");
}

}  // namespace
}  // namespace isochron
