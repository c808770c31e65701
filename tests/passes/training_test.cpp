// Whole training steps with all passes against none.
#include <gtest/gtest.h>

#include <cmath>

#include "isochron/exec/evaluate.h"
#include "isochron/graph/tape.h"
#include "isochron/ops/attention.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/matmul.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"
#include "isochron/optim/optimizers.h"
#include "pass_helpers.h"

namespace isochron::test {
namespace {

Tensor wave(const Shape& shape, double pace) {
  return reshape(sin(arange(0, static_cast<double>(shape.elements()), 1, DType::float32) * pace), shape.to_vector());
}

// Two layers, ten steps; the loss before each step, then every weight.
template <class MakeOptimizer>
std::vector<float> train(int64_t batch, int64_t width, const MakeOptimizer& make_optimizer) {
  clear_cache();
  Variable w1(wave({40, width}, 0.7) * 0.3), b1(zeros({width})), w2(wave({width, 5}, 1.3) * 0.1), b2(zeros({5}));
  const std::vector<Variable> variables{w1, b1, w2, b2};
  auto optimizer = make_optimizer();
  const Tensor x = wave({batch, 40}, 0.37), target = wave({batch, 5}, 2.1);
  eval({x, target});
  std::vector<float> numbers;
  for (int step = 0; step < 10; ++step) {
    GradientTape tape;
    const Tensor hidden = gelu(relu(matmul(x, w1) + b1));
    const Tensor loss = mean(square(matmul(hidden, w2) + b2 - target));
    optimizer.apply_gradients(tape.gradient(loss, variables), variables);
    numbers.push_back(loss.item<float>());
  }
  for (const Variable& variable : variables)
    for (float value : variable.to_vector<float>()) numbers.push_back(value);
  return numbers;
}

template <class MakeOptimizer>
void expect_equal_training(int64_t batch, int64_t width, const MakeOptimizer& make_optimizer) {
  std::vector<float> plain;
  {
    OnlyPasses none({});
    plain = train(batch, width, make_optimizer);
  }
  const std::vector<float> optimized = train(batch, width, make_optimizer);
  ASSERT_LT(plain[9], plain[0]);
  ASSERT_EQ(plain.size(), optimized.size());
  for (size_t i = 0; i < plain.size(); ++i) ASSERT_NEAR(optimized[i], plain[i], 2e-4) << "number " << i;
}

TEST(Training, PassesKeepTheCurve) {
  for (int64_t batch : {1, 2, 8, 70}) {
    expect_equal_training(batch, 24, [] { return Adam({.learning_rate = 1e-2}); });
    expect_equal_training(batch, 24, [] { return SGD({.learning_rate = 1e-1, .momentum = 0.9}); });
  }
}

// Large enough that threads share the calls, if there is more than one, and that a gradient is never stored.
TEST(Training, PassesKeepTheCurveOfAWideModel) {
  expect_equal_training(8, 6600, [] { return SGD({.learning_rate = 1e-2, .momentum = 0.9}); });
}

std::vector<double> attention_gradients(DType dtype, int64_t keys, const AttentionOptions& options) {
  clear_cache();
  const auto heads = [&](int64_t steps, double pace) { return cast(wave({2, steps, 3, 32}, pace), dtype); };
  Variable q(heads(70, 0.7)), k(heads(keys, 1.3)), v(heads(keys, 0.9));
  GradientTape tape;
  const Tensor loss = sum(square(attention(q, k, v, options)));
  std::vector<double> numbers{loss.item()};
  for (const Tensor& gradient : tape.gradient(loss, std::vector<Variable>{q, k, v})) {
    const std::vector<double> values = cast(gradient, DType::float64).to_vector<double>();
    numbers.insert(numbers.end(), values.begin(), values.end());
  }
  return numbers;
}

TEST(Training, KeptProbabilitiesGiveTheSameGradients) {
  for (const DType dtype : {DType::float32, DType::float64})
    for (const int64_t keys : {1, 33, 70, 128}) {
      // The second example sees nothing.
      Tensor seen = reshape(arange(0, static_cast<double>(keys), 1), {1, 1, 1, keys}) > 3;
      seen = concat({seen, seen}, 0);
      seen = logical_and(seen, reshape(tensor({true, false}), {2, 1, 1, 1})).eval();
      for (const AttentionOptions& options :
           {AttentionOptions{}, AttentionOptions{.causal = true}, AttentionOptions{.mask = seen}}) {
        std::vector<double> again, kept;
        {
          OnlyPasses none({});
          again = attention_gradients(dtype, keys, options);
        }
        {
          OnlyPasses one({"kept_probabilities"});
          kept = attention_gradients(dtype, keys, options);
        }
        ASSERT_EQ(again.size(), kept.size());
        for (size_t i = 0; i < kept.size(); ++i)
          ASSERT_NEAR(kept[i], again[i], dtype == DType::float32 ? 2e-5 * (1 + std::abs(again[i])) : 1e-12) << i;
      }
    }
  const Tensor x = wave({1, 8, 2, 16}, 0.3);
  Variable q(x);
  GradientTape tape;
  Graph graph = graph_of(tape.gradient(sum(attention(q, x, x)), std::vector<Variable>{q}));
  run_pass(graph, "kept_probabilities");
  EXPECT_NE(to_string(graph).find("kept=16 : float32(1, 8, 2, 16), float32(1, 2, 8), float32(1, 2, 8, 16)"),
            std::string::npos);
}

TEST(Training, AParameterMayBeTheGradientOfAnother) {
  Variable a(tensor({1.f, 2.f, 3.f})), b(tensor({10.f, 20.f, 30.f}));
  const std::vector<Variable> variables{a, b};
  SGD optimizer({.learning_rate = 0.5});
  GradientTape tape;
  const Tensor loss = sum(a * b);
  optimizer.apply_gradients(tape.gradient(loss, variables), variables);
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{-4, -8, -12}));
  EXPECT_EQ(b.to_vector<float>(), (std::vector<float>{9.5, 19, 28.5}));
}

// What the forward pass also reads must not wait until variables may be overwritten.
TEST(Training, AnAssignedValueThatOthersReadIsCopied) {
  const Tensor x = tensor({1.f, 2.f, 3.f});
  Variable running(zeros({3}));
  const Tensor value = exp(x) + 1;
  running.assign(value);
  const Tensor y = tanh(value) * 2;
  Graph graph = graph_of({running, y});
  graph.updates.push_back({0, 0});
  run_passes(graph);
  EXPECT_NE(to_string(graph).find("assign("), std::string::npos);
  running.assign(x * 2);
  Graph alone = graph_of({running});
  run_pass(alone, "assignments");
  EXPECT_EQ(to_string(alone).find("assign("), std::string::npos);
}

}  // namespace
}  // namespace isochron::test
