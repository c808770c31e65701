// L-BFGS against PyTorch's losses and counts of evaluations (references/curves.json, "minimizations").
#include "isochron/optim/lbfgs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/matmul.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"
#include "isochron/optim/torch_optimizers.h"
#include "reference.h"
#include "tests/message_of.h"

namespace isochron {
namespace {

using nlohmann::json;

optim::LBFGSOptions options_of(const json& config) {
  optim::LBFGSOptions options;
  if (config.contains("lr")) options.lr = config["lr"].get<double>();
  options.max_iter = config.value("max_iter", options.max_iter);
  if (config.contains("max_eval")) options.max_eval = config["max_eval"].get<int64_t>();
  options.tolerance_grad = config.value("tolerance_grad", options.tolerance_grad);
  options.history_size = config.value("history_size", options.history_size);
  if (config.contains("line_search_fn")) options.line_search_fn = config["line_search_fn"].get<std::string>();
  return options;
}

// The network of the curves in float64, on its first batch, with decay.
struct Minimization {
  Minimization() {
    for (const Variable& weight : reference::Problem().variables())
      weights.emplace_back(cast(weight, DType::float64), VariableOptions{.name = weight.name()});
    x = cast(reference::batches()[0].x, DType::float64);
    one_hot = cast(reference::batches()[0].one_hot, DType::float64);
  }
  Tensor loss() const {
    const Tensor logits = matmul(tanh(matmul(x, weights[0]) + weights[1]), weights[2]) + weights[3];
    Tensor total = mean(logsumexp(logits, {1}) - sum(logits * one_hot, {1}));
    for (const Variable& weight : weights) total = total + 0.01 * sum(square(weight));
    return total;
  }
  double step(Optimizer& optimizer) const {
    return optimizer
        .step([&] {
          optimizer.zero_grad();
          const Tensor now = loss();
          now.backward();
          return now;
        })
        .item();
  }
  std::vector<Variable> weights;
  Tensor x, one_hot;
};

double number_of(const Optimizer& optimizer, const std::string& name) {
  for (const auto& [known, value] : optimizer.snapshot().globals)
    if (known == name) return value.item();
  return NAN;
}

class LBFGS : public testing::TestWithParam<json> {};

TEST_P(LBFGS, RetracesPyTorch) {
  const Minimization problem;
  optim::LBFGS optimizer(problem.weights, options_of(GetParam()["config"]));
  for (const json& expected : GetParam()["losses"])
    EXPECT_NEAR(problem.step(optimizer), expected.get<double>(), 1e-7 * expected.get<double>());
  EXPECT_EQ(number_of(optimizer, "func_evals"), GetParam()["func_evals"].get<double>());
}

TEST_P(LBFGS, GoesOnFromItsSnapshot) {
  const Minimization problem;
  optim::LBFGS optimizer(problem.weights, options_of(GetParam()["config"]));
  for (int i = 0; i < 3; ++i) problem.step(optimizer);
  optim::LBFGS restored(Parameters(), options_of(GetParam()["config"]));
  restored.restore(optimizer.snapshot());
  for (size_t i = 3; i < 8; ++i) {
    const double expected = GetParam()["losses"][i];
    EXPECT_NEAR(problem.step(restored), expected, 1e-7 * expected);
  }
}

INSTANTIATE_TEST_SUITE_P(References, LBFGS, testing::ValuesIn([] {
                           const json& all = reference::curves_file()["minimizations"];
                           return std::vector<json>(all.begin(), all.end());
                         }()),
                         [](const auto& setting) { return "Settings" + std::to_string(setting.index); });

// Rosenbrock's valley: the minimum is at (1, 1).
TEST(LBFGSOptimizer, FindsTheMinimumOfAValley) {
  const Variable p(tensor(std::vector<double>{-1.5, 2}), {.name = "p"});
  optim::LBFGS optimizer({p}, {.line_search_fn = "strong_wolfe"});
  for (int i = 0; i < 5; ++i)
    optimizer.step([&] {
      optimizer.zero_grad();
      const Tensor x = slice(p, {0}, {1}), y = slice(p, {1}, {2});
      const Tensor loss = sum(square(1 - x) + 100 * square(y - square(x)));
      loss.backward();
      return loss;
    });
  EXPECT_TRUE(allclose(p, tensor(std::vector<double>{1, 1}), 1e-5));
}

TEST(LBFGSOptimizer, EveryOptimizerTakesAClosure) {
  const Variable p(tensor(std::vector<float>{1, 2}), {.name = "p"});
  optim::SGD sgd({p}, {.lr = 0.25});
  const Tensor loss = sgd.step([&] {
    sgd.zero_grad();
    const Tensor now = sum(square(p));
    now.backward();
    return now;
  });
  EXPECT_EQ(loss.item(), 5);
  EXPECT_TRUE(allclose(p, tensor(std::vector<float>{0.5f, 1})));
}

TEST(LBFGSOptimizer, SaysWhatItNeeds) {
  const Variable p(tensor(std::vector<float>{1, 2}), {.name = "p"});
  optim::LBFGS optimizer({p});
  EXPECT_EQ(message_of([&] { optimizer.apply_gradients({p}, {p}); }),
            "[LBFGS] computes the loss several times in a step: call step(closure) in a loop of your own");
  EXPECT_EQ(message_of([&] { optim::LBFGS({p}, {.line_search_fn = "wolfe"}); }),
            "[LBFGS] unknown line_search_fn \"wolfe\"; known: strong_wolfe");
  EXPECT_EQ(message_of([&] { optim::LBFGS({p}, {.max_iter = 0}); }), "[LBFGS] max_iter must be at least 1, got 0");
}

}  // namespace
}  // namespace isochron
