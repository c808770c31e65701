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

}  // namespace
}  // namespace isochron
