#include "isochron/optim/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "reference.h"

namespace isochron {
namespace {

using nlohmann::json;

template <class T>
void take(const json& config, const char* key, T& option) {
  if (config.contains(key)) option = config[key].get<T>();
}

LearningRate make_schedule(const std::string& name, const json& c) {
  if (name == "ExponentialDecay") {
    return ExponentialDecay(c["initial_learning_rate"], c["decay_steps"], c["decay_rate"], c.value("staircase", false));
  }
  if (name == "InverseTimeDecay") {
    return InverseTimeDecay(c["initial_learning_rate"], c["decay_steps"], c["decay_rate"], c.value("staircase", false));
  }
  if (name == "PiecewiseConstantDecay") {
    return PiecewiseConstantDecay(c["boundaries"], c["values"]);
  }
  if (name == "PolynomialDecay") {
    return PolynomialDecay(c["initial_learning_rate"], c["decay_steps"], c["end_learning_rate"], c.value("power", 1.0),
                           c.value("cycle", false));
  }
  if (name == "CosineDecay") {
    CosineDecayOptions options{c["initial_learning_rate"], c["decay_steps"], c.value("alpha", 0.0), {}, 0};
    if (c.contains("warmup_target")) options.warmup_target = c["warmup_target"].get<double>();
    take(c, "warmup_steps", options.warmup_steps);
    return CosineDecay(options);
  }
  if (name == "CosineDecayRestarts") {
    return CosineDecayRestarts(c["initial_learning_rate"], c["first_decay_steps"], c.value("t_mul", 2.0),
                               c.value("m_mul", 1.0), c.value("alpha", 0.0));
  }
  OneCycleOptions options;
  take(c, "max_lr", options.max_lr);
  take(c, "total_steps", options.total_steps);
  take(c, "pct_start", options.pct_start);
  take(c, "anneal_strategy", options.anneal_strategy);
  take(c, "div_factor", options.div_factor);
  take(c, "final_div_factor", options.final_div_factor);
  take(c, "three_phase", options.three_phase);
  return OneCycle(options);
}

TEST(Schedule, EveryOneFollowsItsReference) {
  for (const json& entry : reference::curves_file()["schedules"]) {
    const auto values = entry["values"].get<std::vector<double>>();
    const LearningRate rate = make_schedule(entry["schedule"], entry["config"]);
    ASSERT_EQ(values.size(), 201u);
    for (size_t step = 0; step < values.size(); ++step)
      EXPECT_NEAR(rate.schedule()->value_at(static_cast<int64_t>(step)), values[step], 1e-7)
          << entry["schedule"] << " " << entry["config"] << " step " << step;
  }
}

TEST(Schedule, AFunctionOfTheStep) {
  const LambdaSchedule half([](const Tensor& step) { return 0.5 / (step + 1); });
  EXPECT_DOUBLE_EQ(half.value_at(4), 0.1);
}

TEST(Schedule, TakesItsFirstArgumentsByPlaceAsInKeras) {
  EXPECT_NEAR(ExponentialDecay(0.1, 30, 0.5).value_at(45), 0.1 * std::pow(0.5, 1.5), 1e-9);
  EXPECT_NEAR(ExponentialDecay(0.1, 30, 0.5, true).value_at(45), 0.05, 1e-9);
  EXPECT_NEAR(InverseTimeDecay(0.1, 10, 0.5).value_at(20), 0.05, 1e-9);
  EXPECT_NEAR(PiecewiseConstantDecay({10, 20}, {0.1, 0.05, 0.01}).value_at(15), 0.05, 1e-9);
  EXPECT_NEAR(PolynomialDecay(0.1, 10, 0.02).value_at(5), 0.06, 1e-9);
  EXPECT_NEAR(CosineDecay(0.1, 10).value_at(5), 0.05, 1e-9);
  EXPECT_NEAR(CosineDecayRestarts(0.1, 10).value_at(15), 0.1 * 0.5 * (1 + std::cos(std::numbers::pi / 4)), 1e-9);
  EXPECT_NEAR(OneCycle(0.1, 11).value_at(0), 0.1 / 25, 1e-9);
}

TEST(Schedule, BadOptionsAreNamed) {
  const auto message = [](const auto& make) -> std::string {
    try {
      make();
    } catch (const ValueError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message([] { ExponentialDecay({.initial_learning_rate = 0.1, .decay_steps = 0}); }),
            "[ExponentialDecay] decay_steps must be at least 1, got 0");
  EXPECT_EQ(message([] { CosineDecay({.decay_steps = 10, .alpha = 1.5}); }),
            "[CosineDecay] alpha must lie in [0, 1], got 1.5");
  EXPECT_EQ(message([] {
              PiecewiseConstantDecay({.boundaries = {5, 3}, .values = {1, 2, 3}});
            }),
            "[PiecewiseConstantDecay] boundaries must increase, got 3 after 5");
  EXPECT_NE(message([] { OneCycle({.anneal_strategy = "linaer"}); }).find("did you mean \"linear\"?"),
            std::string::npos);
}

}  // namespace
}  // namespace isochron
