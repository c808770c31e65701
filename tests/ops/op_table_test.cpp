// Runs the table of op_cases.h: every op and composite, forward, gradients, refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "isochron/graph/gradient.h"
#include "isochron/graph/tape.h"
#include "op_cases.h"

namespace isochron::testing {
namespace {

const std::vector<OpCase>& all_cases() {
  static const std::vector<OpCase> cases = [] {
    std::vector<OpCase> out;
    for (const auto& family : {elementwise_cases(), reduction_cases(), shape_cases(), product_cases(), index_cases(),
                               softmax_cases(), creation_cases(), conv_cases(), normalize_cases(), sequence_cases()})
      out.insert(out.end(), family.begin(), family.end());
    return out;
  }();
  return cases;
}

// Indices are int64 in the references, whatever width the op returns; numbers are close to float64's accuracy.
::testing::AssertionResult close(const Tensor& actual, const Tensor& expected) {
  if (allclose(actual, expected, 2e-12, 1e-13)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "got " << to_string(actual.spec()) << "\n"
                                       << to_string(actual) << "\nexpected " << to_string(expected.spec()) << "\n"
                                       << to_string(expected);
}

class OpTable : public ::testing::TestWithParam<size_t> {
 protected:
  const OpCase& one() const { return all_cases()[GetParam()]; }
};

TEST_P(OpTable, ForwardIsRight) {
  int references = 0;
  for (const ReferenceCase& reference : reference_cases()) {
    if (reference.op != one().op) continue;
    ++references;
    ASSERT_TRUE(one().forward) << reference.file << " knows " << reference.op;
    SCOPED_TRACE(fmt::format("tests/references/{}:{}", reference.file, reference.line));
    const Tensors outputs = one().forward(reference);
    ASSERT_EQ(outputs.size(), reference.outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) EXPECT_TRUE(close(outputs[i], reference.outputs[i]));
  }
  EXPECT_EQ(references > 0, static_cast<bool>(one().forward)) << "no reference for " << one().op;
  for (size_t i = 0; i < one().known.size(); ++i)
    EXPECT_TRUE(close(one().known[i].computed(), one().known[i].expected)) << "known result " << i;
  EXPECT_TRUE(references > 0 || !one().known.empty()) << "nothing says what " << one().op << " should give";
}

// sum(y * weights) with fixed weights: one number whose gradient exercises every element of y.
Tensor weighed(const Tensor& y) { return sum(y * points(y.shape(), 0.5, 1.5, 0.83)); }

// The tensors of `at` with `by` added to element `element` of tensor `which`.
Tensors moved(const Tensors& at, size_t which, size_t element, double by) {
  Tensors out = at;
  std::vector<double> values = at[which].to_vector<double>();
  values[element] += by;
  out[which] = tensor(values, at[which].shape());
  return out;
}

using Scalar = std::function<Tensor(const Tensors&)>;

Tensors gradients_of(const Scalar& f, const Tensors& at) {
  GradientTape tape({.persistent = true});
  for (const Tensor& x : at) tape.watch(x);
  Tensors found = tape.gradient(f(at), at);
  for (size_t i = 0; i < at.size(); ++i)
    if (!found[i].defined()) found[i] = zeros_like(at[i]);
  return found;
}

// Fresh leaves: what a tape watched before stays watched.
Tensors copies(const Tensors& at) {
  Tensors out;
  for (const Tensor& x : at) out.push_back(tensor(x.to_vector<double>(), x.shape()));
  return out;
}

void expect_slopes(const Scalar& f, const Tensors& at, const char* order) {
  constexpr double kStep = 1e-5;
  const Tensors analytic = gradients_of(f, copies(at));
  for (size_t which = 0; which < at.size(); ++which) {
    const std::vector<double> slope = analytic[which].to_vector<double>();
    EXPECT_EQ(analytic[which].shape(), at[which].shape());
    for (size_t i = 0; i < slope.size(); ++i) {
      const double above = f(moved(at, which, i, kStep)).item(), below = f(moved(at, which, i, -kStep)).item();
      const double numeric = (above - below) / (2 * kStep);
      EXPECT_NEAR(slope[i], numeric, 2e-7 * std::max(1.0, std::abs(numeric)))
          << order << " derivative by input " << which << ", element " << i;
    }
  }
}

TEST_P(OpTable, GradientsAgreeWithFiniteDifferences) {
  for (const Slope& slope : one().slopes) {
    const Scalar f = [&](const Tensors& x) { return weighed(slope.function(x)); };
    expect_slopes(f, slope.at, "first");
    if (!slope.second_order) continue;
    const Scalar g = [&](const Tensors& x) {
      Tensor total = scalar(0, DType::float64);
      GradientTape tape({.persistent = true});
      for (const Tensor& input : x) tape.watch(input);
      for (const Tensor& gradient : tape.gradient(f(x), x))
        if (gradient.defined()) total = total + weighed(gradient);
      return total;
    };
    expect_slopes(g, slope.at, "second");
  }
}

TEST_P(OpTable, RefusesWithTheDocumentedError) {
  EXPECT_NE(one().refusals.empty(), one().refuses_nothing.empty());
  for (const Refusal& refusal : one().refusals) {
    try {
      refusal.call();
      ADD_FAILURE() << "not refused; expected " << refusal.kind << ": " << refusal.message;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), refusal.kind) << error.what();
      EXPECT_NE(std::string(error.what()).find(refusal.message), std::string::npos)
          << "got      " << error.what() << "\nexpected " << refusal.message;
      // A composite refuses through the op it is made of, and its message says which.
      if (find_op(one().op) && refusal.message[0] != '[') {
        EXPECT_EQ(error.operation(), one().op) << error.what();
      }
      EXPECT_FALSE(error.operation().empty()) << error.what();
    }
  }
}

std::string case_name(const ::testing::TestParamInfo<size_t>& info) { return all_cases()[info.param].op; }
INSTANTIATE_TEST_SUITE_P(, OpTable, ::testing::Range(size_t{0}, all_cases().size()), case_name);

TEST(OpTableIsWhole, EveryReferenceIsUsedAndEveryGradientChecked) {
  std::set<std::string> names;
  for (const OpCase& one : all_cases()) {
    EXPECT_TRUE(names.insert(one.op).second) << one.op << " has two cases";
    if (const Op* op = find_op(one.op)) {
      EXPECT_EQ(op->gradient != nullptr, !one.slopes.empty()) << one.op;
    }
  }
  for (const ReferenceCase& reference : reference_cases())
    EXPECT_TRUE(names.count(reference.op)) << reference.file << " has " << reference.op;
}

TEST(OpTableIsWhole, CostsAreWhatTheWorkIs) {
  const auto cost = [](const char* op, const Tensors& inputs, const Attributes& attributes) {
    std::vector<TensorSpec> specs;
    for (const Tensor& input : inputs) specs.push_back(input.spec());
    return cost_of(op_named(op), specs, infer(op_named(op), specs, attributes), attributes);
  };
  const Tensor a = zeros({4, 8}), b = zeros({8, 16});
  EXPECT_EQ(cost("matmul", {a, b}, {{"transpose_a", false}, {"transpose_b", false}}).flops, 2 * 4 * 8 * 16);
  EXPECT_EQ(cost("add", {a, a}, {}).flops, 32);
  EXPECT_EQ(cost("add", {a, a}, {}).bytes, 3 * 32 * 4);
  EXPECT_EQ(cost("sum", {a}, {{"axes", std::vector<int64_t>{1}}, {"keepdims", false}}).flops, 32);
  EXPECT_EQ(cost("reshape", {a}, {{"shape", std::vector<int64_t>{32}}}).bytes, 0);
  EXPECT_EQ(cost("gather", {a, zeros({3}, DType::int64)}, {{"axis", int64_t{0}}}).bytes, 2 * 3 * 8 * 4);

  // Updates count the gradient they work out themselves, and of a table only the rows that were picked.
  const auto update = [&](const Tensor& parameter, const Tensor& part, const Tensor& last, AttributeName kind) {
    return cost("adam_update",
                {zeros({}), zeros({}, DType::int64), zeros({}), zeros({}, DType::boolean), parameter, part, parameter,
                 parameter, last},
                {{"shared", int64_t{4}}, {kind, true}});
  };
  EXPECT_EQ(update(b, a, zeros({4, 16}), "product").flops, 8 * 16 * (3 + 2 * 4));
  const Tensor table = zeros({1000, 8}), picked = zeros({3}, DType::int64);
  EXPECT_EQ(update(table, picked, zeros({3, 8}), "rows").flops, 3 * 8 * 3);
  EXPECT_EQ(update(table, picked, zeros({3, 8}), "rows").bytes, 2 * 3 * 8 * 3 * 4 + 3 * 8 + 3 * 8 * 4);
}

TEST(OpTableIsWhole, EveryOpIsDocumentedAndSaysWhyItHasNoGradient) {
  for (const Op* op : all_ops()) {
    EXPECT_TRUE(op->doc && *op->doc) << op->name;
    EXPECT_NE(op->gradient != nullptr, op->no_gradient != nullptr) << op->name;
  }
}

}  // namespace
}  // namespace isochron::testing
