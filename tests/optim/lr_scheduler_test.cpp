// Rates of two groups against torch.optim.lr_scheduler (tests/references/lr_schedulers.json).
#include "isochron/optim/lr_scheduler.h"

#include <gmock/gmock.h>
#include <cmath>

#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/optim/torch_optimizers.h"
#include "reference.h"

namespace isochron {
namespace {

using namespace optim::lr_scheduler;
using nlohmann::json;

struct TwoGroups {
  Variable first{zeros({1})}, second{zeros({1})};
  optim::SGD optimizer{{first}, {.lr = 0.1}};
  TwoGroups() { optimizer.add_param_group({.params = {second}, .lr = 0.02}); }
};

using Schedulers = std::vector<std::shared_ptr<LRScheduler>>;

Schedulers schedulers_of(const std::string& name, const Optimizer& o) {
  const auto one = [](auto scheduler) { return Schedulers{std::make_shared<decltype(scheduler)>(scheduler)}; };
  if (name == "StepLR") return one(StepLR(o, 7, 0.3));
  if (name == "MultiStepLR") return one(MultiStepLR(o, {3, 10, 10, 25}, 0.5));
  if (name == "ExponentialLR") return one(ExponentialLR(o, 0.9));
  if (name == "ConstantLR") return one(ConstantLR(o, 0.25, 6));
  if (name == "LinearLR") return one(LinearLR(o, {.start_factor = 0.1, .end_factor = 0.8, .total_iters = 12}));
  if (name == "PolynomialLR") return one(PolynomialLR(o, 30, 2));
  if (name == "CosineAnnealingLR") return one(CosineAnnealingLR(o, 12, 0.01));
  if (name == "CosineAnnealingWarmRestarts")
    return one(CosineAnnealingWarmRestarts(o, {.T_0 = 5, .T_mult = 2, .eta_min = 0.001}));
  if (name == "LambdaLR")
    return one(LambdaLR(o, {[](int64_t epoch) { return std::pow(0.95, epoch); },
                            [](int64_t epoch) { return 1 / (1 + static_cast<double>(epoch)); }}));
  if (name == "MultiplicativeLR") return one(MultiplicativeLR(o, [](int64_t epoch) { return epoch % 2 ? 0.9 : 1.0; }));
  if (name == "OneCycleLR") return one(OneCycleLR(o, {.max_lr = 0.2, .total_steps = 41}));
  if (name.starts_with("CyclicLR")) {
    CyclicLROptions options{.base_lr = 0.01, .max_lr = 0.1, .step_size_up = 4};
    if (name == "CyclicLR") options.step_size_up = 6;
    if (name == "CyclicLR triangular2") {
      options.step_size_up = 5;
      options.step_size_down = 3;
      options.mode = "triangular2";
    } else if (name == "CyclicLR exp_range") {
      options.mode = "exp_range";
      options.gamma = 0.95;
    } else if (name == "CyclicLR by a function") {
      options.scale_fn = [](double at) { return 1 / (1 + at); };
      options.scale_mode = "iterations";
    }
    return one(CyclicLR(o, options));
  }
  if (name == "SequentialLR")
    return one(SequentialLR(o,
                            {std::make_shared<LinearLR>(o, LinearLROptions{0.1, 1, 5}),
                             std::make_shared<CosineAnnealingLR>(o, 20), std::make_shared<ExponentialLR>(o, 0.8)},
                            {5, 25}));
  EXPECT_EQ(name, "two at a time");
  Schedulers both = one(LinearLR(o, {.start_factor = 0.2, .end_factor = 1, .total_iters = 8}));
  both.push_back(one(StepLR(o, 10, 0.5))[0]);
  return both;
}

void expect_rates(const Optimizer& optimizer, const json& rates) {
  for (size_t group = 0; group < 2; ++group)
    EXPECT_NEAR(optimizer.learning_rate(group), rates[group].get<double>(), 1e-12) << "group " << group;
}

TEST(LRScheduler, RatesAreThoseOfPyTorch) {
  const json file = reference::read_file("lr_schedulers.json");
  for (const json& entry : file["schedulers"]) {
    const std::string name = entry["scheduler"];
    SCOPED_TRACE(name);
    TwoGroups groups;
    if (name.starts_with("plateau")) {
      ReduceLROnPlateau plateau(
          groups.optimizer, name == "plateau" ? ReduceLROnPlateauOptions{.factor = 0.5, .patience = 3, .cooldown = 2}
                                              : ReduceLROnPlateauOptions{.mode = "max",
                                                                         .factor = 0.2,
                                                                         .patience = 2,
                                                                         .threshold = 0.01,
                                                                         .threshold_mode = "abs",
                                                                         .min_lr = 0.001});
      for (size_t step = 0; step < entry["rates"].size(); ++step) {
        SCOPED_TRACE(step);
        expect_rates(groups.optimizer, entry["rates"][step]);
        plateau.step(file["plateau_values"][step]);
      }
      continue;
    }
    const Schedulers schedulers = schedulers_of(name, groups.optimizer);
    for (size_t step = 0; step < entry["rates"].size(); ++step) {
      SCOPED_TRACE(step);
      expect_rates(groups.optimizer, entry["rates"][step]);
      for (const auto& scheduler : schedulers) scheduler->step();
    }
  }
}

TEST(LRScheduler, GoesOnFromItsState) {
  TwoGroups groups;
  const auto make = [](const Optimizer& o) {
    return SequentialLR(o, {std::make_shared<LinearLR>(o), std::make_shared<CosineAnnealingLR>(o, 10)}, {4});
  };
  SequentialLR scheduler = make(groups.optimizer);
  for (int i = 0; i < 7; ++i) scheduler.step();
  const SchedulerState state = scheduler.state_dict();
  const std::vector<double> rates = scheduler.get_last_lr();
  scheduler.step();

  TwoGroups again;
  SequentialLR restored = make(again.optimizer);
  restored.load_state_dict(state);
  for (size_t group = 0; group < 2; ++group) again.optimizer.set_learning_rate(rates[group], group);
  EXPECT_EQ(restored.last_epoch(), 7);
  restored.step();
  EXPECT_THAT(restored.get_last_lr(), testing::Pointwise(testing::DoubleNear(1e-15), scheduler.get_last_lr()));
  EXPECT_THROW(restored.load_state_dict({}), ValueError);
}

// The rate is a variable of the step: no plan is made anew when it changes.
TEST(LRScheduler, ChangesWhatAStepDoes) {
  const Variable w(ones({1}));
  optim::SGD optimizer({w}, {.lr = 1});
  ExponentialLR scheduler(optimizer, 0.5);
  for (int i = 0; i < 3; ++i) {
    optimizer.zero_grad();
    (w * 1).backward();
    optimizer.step();
    scheduler.step();
  }
  EXPECT_NEAR(w.item(), 1 - 1.75, 1e-6);
}

TEST(LRScheduler, SaysWhatDoesNotFit) {
  TwoGroups groups;
  const Optimizer& o = groups.optimizer;
  EXPECT_THROW(StepLR(o, 0), ValueError);
  EXPECT_THROW(LinearLR(o, {.start_factor = 0}), ValueError);
  EXPECT_THROW(CosineAnnealingLR(o, 0), ValueError);
  EXPECT_THROW(LambdaLR(o, std::vector<LambdaLR::Function>(3)), ValueError);
  EXPECT_THROW(SequentialLR(o, {std::make_shared<LinearLR>(o)}, {5}), ValueError);
  EXPECT_THROW(CyclicLR(o, {.max_lr = 1, .step_size_up = 0}), ValueError);
  EXPECT_THROW(CyclicLR(o, {.max_lr = 1, .mode = "triangle"}), ValueError);
  EXPECT_THROW(ReduceLROnPlateau(o, {.mode = "least"}), ValueError);
  TwoGroups others;
  EXPECT_THROW(SequentialLR(o, {std::make_shared<LinearLR>(others.optimizer)}, {}), ValueError);
  OneCycleLR cycle(o, {.max_lr = 0.1, .total_steps = 2});
  for (int i = 0; i < 2; ++i) EXPECT_NO_THROW(cycle.step());  // as PyTorch, after the last update, too
  EXPECT_THROW(cycle.step(), ValueError);
  const Variable w(zeros({1}));
  optim::SGD scheduled({w}, {.lr = ExponentialDecay({})});
  EXPECT_THROW(StepLR(scheduled, 3), StateError);
  StepLR late(o, 3);
  groups.optimizer.add_param_group({.params = {w}, .lr = 0.5});
  EXPECT_THROW(late.step(), StateError);
}

}  // namespace
}  // namespace isochron
