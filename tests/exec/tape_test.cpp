#include "isochron/graph/tape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isochron/exec/function.h"
#include "isochron/ops/ops.h"
#include "tests/tensor/error_matcher.h"

namespace isochron {
namespace {

Variable variable(std::vector<double> values) { return Variable(tensor(values)); }
double first(const Tensor& t) { return t.to_vector<double>()[0]; }

TEST(GradientTape, APersistentTapeGivesDerivativesOfAnyOrder) {
  const Variable x = variable({3});
  GradientTape tape({.persistent = true});
  const Tensor cube = sum(x * x * x);
  const Tensor slope = tape.gradient(cube, x), bend = tape.gradient(slope, x), third = tape.gradient(bend, x);
  EXPECT_EQ(first(slope), 27);
  EXPECT_EQ(first(bend), 18);
  EXPECT_EQ(first(third), 6);
  EXPECT_EQ(first(tape.gradient(cube, x)), 27) << "as often as one likes";
}

TEST(GradientTape, TapesNest) {
  const Variable x = variable({2});
  GradientTape outer;
  GradientTape inner;
  const Tensor slope = inner.gradient(sum(exp(x)), x);
  EXPECT_NEAR(first(outer.gradient(slope, x)), std::exp(2), 1e-12);
}

TEST(GradientTape, GivesItsGradientsOnceUnlessPersistent) {
  const Variable x = variable({2});
  GradientTape tape;
  const Tensor y = sum(square(x));
  tape.gradient(y, x);
  EXPECT_THAT([&] { tape.gradient(y, x); }, error<StateError>("make it persistent"));
}

TEST(GradientTape, StopsAtStopGradientAndWhereNothingIsConnected) {
  const Variable x = variable({3}), other = variable({1});
  GradientTape tape({.persistent = true});
  const Tensor y = sum(x * stop_gradient(x));
  EXPECT_EQ(first(tape.gradient(y, x)), 3);
  EXPECT_FALSE(tape.gradient(y, other).defined());
  EXPECT_FALSE(tape.gradient(sum(stop_gradient(x)), x).defined());
}

TEST(GradientTape, WatchesTensors) {
  const Tensor x = tensor(std::vector<double>{1, 2});
  GradientTape tape({.persistent = true});
  EXPECT_FALSE(tape.gradient(sum(square(x)), x).defined()) << "before it is watched";
  tape.watch(x);
  EXPECT_EQ(tape.gradient(sum(square(x)), x).to_vector<double>(), (std::vector<double>{2, 4}));
  EXPECT_THAT([&] { tape.watch(tensor({1, 2})); }, error<DTypeError>("only floating tensors have gradients"));
}

TEST(GradientTape, Jacobian) {
  const Variable x = variable({1, 2, 3});
  GradientTape tape;
  const Tensor j = tape.jacobian(x * x, x);
  EXPECT_EQ(j.shape(), (Shape{3, 3}));
  EXPECT_EQ(j.to_vector<double>(), (std::vector<double>{2, 0, 0, 0, 4, 0, 0, 0, 6}));
}

TEST(GradientTape, WorksInsideAFunction) {
  const Variable x = variable({3});
  const auto second = function([&](Tensor factor) {
    GradientTape tape({.persistent = true});
    return tape.gradient(tape.gradient(sum(factor * x * x * x), x), x);
  });
  EXPECT_EQ(first(second(tensor(std::vector<double>{1}))), 18);
  EXPECT_EQ(first(second(tensor(std::vector<double>{2}))), 36);
  EXPECT_EQ(second.report().traces, 1);
}

TEST(NoGradGuard, WhatIsComputedMeanwhileHasNoHistory) {
  const Variable x = variable({3});
  Tensor inside;
  {
    NoGradGuard outer;
    { NoGradGuard inner; }
    inside = sum(square(x));
    EXPECT_TRUE(NoGradGuard::active());
  }
  EXPECT_FALSE(NoGradGuard::active());
  EXPECT_EQ(inside.item(), 9);
  EXPECT_THAT([&] { inside.backward(); }, error<StateError>("made under a NoGradGuard"));
  const Tensor after = sum(inside * x);
  after.backward();
  EXPECT_EQ(first(x.grad()), 9) << "what was computed under the guard is a constant";
}

// f(w) = w^2 has the slope 2w: each step takes w to 0.8 w.
TEST(NoGradGuard, LetsAParameterBeUpdatedInPlace) {
  Tensor w = tensor({1.0}, DType::float64);
  w.set_requires_grad();
  const Tensor other = w;
  for (int i = 0; i < 3; ++i) {
    sum(square(w)).backward();
    {
      NoGradGuard no_grad;
      w -= 0.1 * w.grad();
    }
    w.zero_grad();
  }
  EXPECT_TRUE(w.requires_grad());
  EXPECT_NEAR(first(w), 0.512, 1e-12);
  EXPECT_NEAR(first(other), 0.512, 1e-12);
  w *= 2;  // elsewhere a handle gets another value
  EXPECT_NEAR(first(other), 0.512, 1e-12);
}

TEST(Variables, CompoundAssignmentsChangeTheVariable) {
  Variable v = variable({8});
  const Variable same = v;
  v += 2;
  v *= 3;
  v -= tensor({6.0});
  same /= 4;
  EXPECT_EQ(first(v), 6);
  EXPECT_EQ(v.state(), same.state());
}

}  // namespace
}  // namespace isochron
