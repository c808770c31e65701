#include "isochron/optim/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "isochron/exec/evaluate.h"
#include "isochron/exec/function.h"
#include "isochron/graph/tape.h"
#include "isochron/ops/check.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/reduce.h"
#include "isochron/optim/any_optimizer.h"
#include "isochron/optim/optimizers.h"
#include "isochron/optim/torch_optimizers.h"
#include "reference.h"

namespace isochron {
namespace {

using reference::batches;
using reference::Problem;

template <class Kind = ValueError, class Make>
std::string message_of(const Make& make) {
  try {
    make();
  } catch (const Kind& error) {
    return error.what();
  }
  return "no error";
}

TEST(Optimizer, AStepOfPlainDescent) {
  Variable w(tensor({1.0, 2.0}, DType::float64));
  SGD optimizer(0.5);
  optimizer.apply_gradients({tensor({2.0, -4.0}, DType::float64)}, {w});
  EXPECT_EQ(w.to_vector<double>(), (std::vector<double>{0, 4}));
  EXPECT_EQ(optimizer.iterations().item<int64_t>(), 1);
  optimizer.set_learning_rate(0.25);
  EXPECT_FALSE(optimizer.variables()[1].pending());
  EXPECT_EQ(optimizer.learning_rate(), 0.25);
  optimizer.apply_gradients({tensor({4.0, 4.0}, DType::float64)}, {w});
  EXPECT_EQ(w.to_vector<double>(), (std::vector<double>{-1, 3}));
}

// The example of optim/optimizer.h.
struct SignDescent : Optimizer {
  explicit SignDescent(OptimizerOptions options = {.learning_rate = 0.01}) : Optimizer(options) {}
  void update_one(const Tensor& gradient, const Variable& variable, const Tensor& learning_rate) override {
    const Variable m = slot(variable, "momentum");
    m.assign(0.9 * m + 0.1 * gradient);
    variable.assign(variable - learning_rate * sign(m));
  }
};

TEST(Optimizer, OneInUserCodeUpdatesVariableByVariable) {
  Variable w(tensor({1.f, -1.f}), {.name = "w"}), b(tensor({0.0}, DType::float64), {.name = "b"});
  SignDescent optimizer;
  const auto step = function([&](Tensor x) {
    GradientTape tape;
    Tensor loss = sum(square(w) * x) + cast(sum(b * 3), DType::float32);
    optimizer.apply_gradients(tape.gradient(loss, Parameters{w, b}), {w, b});
    return loss;
  });
  EXPECT_FLOAT_EQ(step(tensor({1.f, 1.f})).item<float>(), 2);
  step(tensor({1.f, 1.f}));
  EXPECT_TRUE(allclose(w, tensor({0.98f, -0.98f}), 1e-6));
  EXPECT_NEAR(b.item(), -0.02, 1e-12);
  EXPECT_EQ(optimizer.variables().size(), 4u);
  EXPECT_EQ(optimizer.variables()[3].name(), "b/momentum");
  EXPECT_NEAR(optimizer.variables()[3].item(), 0.9 * 0.3 + 0.3, 1e-12);
}

TEST(Optimizer, OneInUserCodeCollectsAndClipsGradients) {
  Variable w(tensor({0.f}), {.name = "w"});
  SignDescent optimizer({.learning_rate = 0.5, .clipvalue = 2.0, .gradient_accumulation_steps = 2});
  optimizer.apply_gradients({tensor({9.f})}, {w});
  EXPECT_EQ(w.item(), 0);
  EXPECT_EQ(optimizer.variables()[2].item(), 0);  // the momentum, not yet touched
  optimizer.apply_gradients({tensor({1.f})}, {w});
  EXPECT_FLOAT_EQ(w.item<float>(), -0.5f);
  EXPECT_FLOAT_EQ(optimizer.variables()[2].item<float>(), 0.2f);  // 0.1 of (9 + 1) / 2, clipped to 2
}

TEST(Optimizer, AnUpdateThatThrowsHalfWayIsTakenBack) {
  struct Picky : SignDescent {
    void update_one(const Tensor& gradient, const Variable& variable, const Tensor& learning_rate) override {
      SignDescent::update_one(gradient, variable, learning_rate);
      if (variable.name() == "b" && fails) fail<ValueError>("Picky", "not this one");
    }
    bool fails = true;
  };
  Variable a(tensor({1.f}), {.name = "a"}), b(tensor({1.f}), {.name = "b"});
  Picky optimizer;
  const Tensor one = tensor({1.f});
  EXPECT_THROW(optimizer.apply_gradients({one, one}, {a, b}), ValueError);
  EXPECT_EQ(a.item(), 1);
  EXPECT_EQ(b.item(), 1);
  for (const Variable& variable : optimizer.variables())
    EXPECT_EQ(variable.item(), variable.name() == "learning_rate" ? 0.01 : 0) << variable.name();
  optimizer.fails = false;
  optimizer.apply_gradients({one, one}, {a, b});
  EXPECT_FLOAT_EQ(b.item<float>(), 0.99f);
}

TEST(Optimizer, StateIsNamedAfterTheVariableAndNotTrained) {
  Problem problem;
  Adam optimizer({.amsgrad = true});
  EXPECT_EQ(optimizer.state_bytes(problem.variables()), 3 * 4 * (8 * 16 + 16 + 16 * 3 + 3));
  optimizer.build(problem.variables());
  EXPECT_EQ(optimizer.state_bytes(problem.variables()), 0);
  const std::vector<Variable> variables = optimizer.variables();
  ASSERT_EQ(variables.size(), 2u + 4 * 3);
  EXPECT_EQ(variables[0].name(), "iterations");
  EXPECT_EQ(variables[1].name(), "learning_rate");
  EXPECT_EQ(variables[2].name(), "kernel1/momentum");
  EXPECT_EQ(variables[13].name(), "bias2/velocity_hat");
  for (const Variable& variable : variables) EXPECT_FALSE(variable.trainable());
}

TEST(Optimizer, AllParametersAreUpdatedByOneCallInPlace) {
  Problem problem;
  Adam optimizer(1e-3);
  const std::vector<TensorSpec> specs = {batches()[0].x.spec(), batches()[0].one_hot.spec()};
  const auto plan = TracedPlan::trace(specs, [&](std::span<const Tensor> in) -> TensorList {
    GradientTape tape;
    Tensor loss = problem.loss(in[0], in[1]);
    optimizer.apply_gradients(tape.gradient(loss, problem.variables()), problem.variables());
    return {loss};
  });
  const std::string calls = plan->executable().to_string();
  const size_t update = calls.find("adam_update");
  ASSERT_NE(update, std::string::npos) << calls;
  EXPECT_EQ(calls.find("adam_update", update + 11), std::string::npos) << calls;
  const size_t copy = calls.find("memcpy");  // of the counter alone
  EXPECT_EQ(copy == std::string::npos ? copy : calls.find("memcpy", copy + 6), std::string::npos) << calls;
}

TEST(Optimizer, ASteadyStepTakesNoMemoryFromTheSystem) {
  Problem problem;
  Adam optimizer({.global_clipnorm = 1.0});
  const auto& [x, one_hot] = batches()[0];
  const auto step = [&] { optimizer.minimize([&] { return problem.loss(x, one_hot); }, problem.variables()); };
  for (int i = 0; i < 5; ++i) step();
  const void* bytes = problem.kernel1.raw_data();
  const AllocationCounts before = allocation_counts();
  for (int i = 0; i < 20; ++i) step();
  const AllocationCounts after = allocation_counts();
  EXPECT_EQ(after.system_allocations, before.system_allocations);
  EXPECT_EQ(after.live_bytes, before.live_bytes);
  EXPECT_EQ(problem.kernel1.raw_data(), bytes);
}

TEST(Optimizer, StateCarriedOverContinuesTheSameTraining) {
  const auto train = [](const Problem& problem, Optimizer& optimizer, size_t begin, size_t end) {
    double loss = 0;
    for (size_t i = begin; i < end; ++i)
      loss = optimizer.minimize([&] { return problem.loss(batches()[i].x, batches()[i].one_hot); }, problem.variables())
                 .item();
    return loss;
  };
  Problem whole, first, second;
  const NadamOptions options{.learning_rate = 0.01, .use_ema = true, .gradient_accumulation_steps = 2};
  Nadam uninterrupted(options), before(options), after(options);
  train(first, before, 0, 5);
  after.build(second.variables());
  for (size_t i = 0; i < 4; ++i) second.variables()[i].assign(first.variables()[i].read());
  for (size_t i = 0; i < after.variables().size(); ++i) after.variables()[i].assign(before.variables()[i].read());
  EXPECT_EQ(train(second, after, 5, 10), train(whole, uninterrupted, 0, 10));
}

TEST(Optimizer, GroupsHaveTheirOwnRateAndDecay) {
  Variable a(tensor({1.f})), b(tensor({1.f})), c(tensor({1.f}));
  optim::SGD optimizer({a}, {.lr = 0.5});
  optimizer.add_param_group({.params = {b}, .lr = 0.25});
  optimizer.add_param_group({.params = {c}, .weight_decay = 2.0});
  sum(a + b + c).backward();
  optimizer.step();
  EXPECT_FLOAT_EQ(a.item<float>(), 0.5f);
  EXPECT_FLOAT_EQ(b.item<float>(), 0.75f);
  EXPECT_FLOAT_EQ(c.item<float>(), 1 - 0.5f * (1 + 2));
  EXPECT_EQ(optimizer.param_groups(), 3u);
  optimizer.set_learning_rate(0, 1);
  optimizer.step();
  EXPECT_FLOAT_EQ(a.item<float>(), 0);
  EXPECT_FLOAT_EQ(b.item<float>(), 0.75f);
  EXPECT_NE(message_of([&] { optimizer.add_param_group({.params = {b}}); }).find("in a group already"),
            std::string::npos);
}

TEST(Optimizer, ExcludedVariablesDoNotDecay) {
  Variable kernel(tensor({1.f}), {.name = "dense/kernel"}), bias(tensor({1.f}), {.name = "dense/bias"});
  Variable scale(tensor({1.f}), {.name = "scale"});
  SGD optimizer({.learning_rate = 0.5, .weight_decay = 0.5});
  optimizer.exclude_from_weight_decay({scale}, {"bias"});
  const Tensor none = tensor({0.f});
  optimizer.apply_gradients({none, none, none}, {kernel, bias, scale});
  EXPECT_FLOAT_EQ(kernel.item<float>(), 0.75f);
  EXPECT_FLOAT_EQ(bias.item<float>(), 1);
  EXPECT_FLOAT_EQ(scale.item<float>(), 1);
  EXPECT_THROW(optimizer.exclude_from_weight_decay({kernel}), StateError);
}

TEST(Optimizer, TheRateFollowsItsSchedule) {
  Variable w(tensor({0.f}));
  SGD optimizer(PiecewiseConstantDecay({.boundaries = {1}, .values = {1.0, 0.25}}));
  for (float expected : {-1.f, -2.f, -2.25f, -2.5f}) {
    optimizer.apply_gradients({tensor({1.f})}, {w});
    EXPECT_FLOAT_EQ(w.item<float>(), expected);
  }
  EXPECT_EQ(optimizer.learning_rate(), 0.25);
  EXPECT_THROW(optimizer.set_learning_rate(0.1), StateError);
}

// One step by a gradient of 1, and one by a gradient of 2.
double after_two_steps(Optimizer&& optimizer) {
  Variable w(tensor({1.0}, DType::float64));
  for (const double gradient : {1.0, 2.0}) optimizer.apply_gradients({tensor({gradient}, DType::float64)}, {w});
  return w.item();
}

TEST(Optimizer, TakesItsFirstArgumentsByPlace) {
  const auto same = [](Optimizer&& by_place, Optimizer&& by_name) {
    EXPECT_EQ(after_two_steps(std::move(by_place)), after_two_steps(std::move(by_name)));
  };
  same(SGD(0.1, 0.9, true), SGD({.learning_rate = 0.1, .momentum = 0.9, .nesterov = true}));
  same(SGD(ExponentialDecay(0.1, 1, 0.5), 0.8), SGD({.learning_rate = ExponentialDecay(0.1, 1, 0.5), .momentum = 0.8}));
  same(RMSprop(0.1, 0.8, 0.5), RMSprop({.learning_rate = 0.1, .rho = 0.8, .momentum = 0.5}));
  same(Adam(0.1, 0.8, 0.9, 0.1), Adam({.learning_rate = 0.1, .beta_1 = 0.8, .beta_2 = 0.9, .epsilon = 0.1}));
  same(AdamW(0.1, 0.2, 0.8), AdamW({.learning_rate = 0.1, .weight_decay = 0.2, .beta_1 = 0.8}));
  same(Adamax(0.1, 0.8, 0.9), Adamax({.learning_rate = 0.1, .beta_1 = 0.8, .beta_2 = 0.9}));
  same(Nadam(0.1, 0.8), Nadam({.learning_rate = 0.1, .beta_1 = 0.8}));
  same(Lamb(0.1, 0.8, 0.9), Lamb({.learning_rate = 0.1, .beta_1 = 0.8, .beta_2 = 0.9}));
  same(Adagrad(0.1, 0.5), Adagrad({.learning_rate = 0.1, .initial_accumulator_value = 0.5}));
  same(Adadelta(0.1, 0.8, 1e-3), Adadelta({.learning_rate = 0.1, .rho = 0.8, .epsilon = 1e-3}));
  same(Lion(0.1, 0.2, 0.3), Lion({.learning_rate = 0.1, .beta_1 = 0.2, .beta_2 = 0.3}));
  const Variable w(tensor({1.f}));
  EXPECT_EQ(optim::SGD({w}, 0.25).learning_rate(), 0.25);
  EXPECT_EQ(optim::AdamW({w}, 0.25).learning_rate(), 0.25);
}

TEST(Optimizer, LearningRateSetBetweenCallsOfATracedStep) {
  Variable w(tensor({0.f}));
  SGD optimizer(1.0);
  const auto step = function([&](Tensor g) { optimizer.apply_gradients({g}, {w}); });
  step(tensor({1.f}));
  optimizer.set_learning_rate(0.5);
  step(tensor({1.f}));
  EXPECT_FLOAT_EQ(w.item<float>(), -1.5f);
  EXPECT_EQ(step.report().traces, 1);
}

TEST(Optimizer, ParametersWithoutAGradientAreLeftAlone) {
  Variable used(tensor({1.f})), unused(tensor({1.f}));
  optim::Adam optimizer({used, unused}, {.lr = 0.1, .weight_decay = 0.5});
  optimizer.step();
  EXPECT_EQ(optimizer.iterations().item<int64_t>(), 0);
  sum(square(used)).backward();
  optimizer.step();
  EXPECT_NEAR(used.item(), 0.9, 1e-6);
  EXPECT_EQ(unused.item(), 1);
  optimizer.zero_grad();
  EXPECT_FALSE(used.grad().defined());
}

TEST(Optimizer, CopiesShareTheirState) {
  Variable w(tensor({1.f}));
  SGD mine(0.5);
  const AnyOptimizer handle = mine, again = handle;
  again->apply_gradients({tensor({1.f})}, {w});
  EXPECT_EQ(mine.iterations().item<int64_t>(), 1);
  mine.set_learning_rate(0.125);
  EXPECT_EQ(handle->learning_rate(), 0.125);
}

TEST(Optimizer, IsFoundByName) {
  for (const char* name : {"sgd", "rmsprop", "Adam", "adamw", "adamax", "nadam", "adagrad", "adadelta", "lion"}) {
    Variable w(tensor({1.f}));
    const AnyOptimizer optimizer = name;
    optimizer->apply_gradients({tensor({1.f})}, {w});
    EXPECT_LT(w.item(), 1) << name;
  }
  EXPECT_EQ(message_of([] { AnyOptimizer("adma"); }), "[optimizer] unknown optimizer \"adma\"; did you mean \"adam\"?");
}

TEST(Optimizer, BadOptionsAreNamed) {
  EXPECT_EQ(message_of([] { SGD(-0.1); }), "[SGD] learning_rate must not be negative, got -0.1");
  EXPECT_EQ(message_of([] { SGD({.momentum = 1.5}); }), "[SGD] momentum must lie in [0, 1], got 1.5");
  EXPECT_EQ(message_of([] { Adam({.beta_2 = 1.0}); }), "[Adam] beta_2 must lie in [0, 1), got 1");
  EXPECT_EQ(message_of([] { Adam({.epsilon = std::nan("")}); }), "[Adam] epsilon must be a finite number, got nan");
  EXPECT_EQ(message_of([] { RMSprop({.rho = -0.5}); }), "[RMSprop] rho must lie in [0, 1), got -0.5");
  EXPECT_EQ(message_of([] { Lion({.clipnorm = 0.0}); }), "[Lion] clipnorm must be positive, got 0");
  EXPECT_EQ(message_of([] { Lion({.clipnorm = 1.0, .clipvalue = 1.0}); }),
            "[Lion] only one of clipnorm, clipvalue and global_clipnorm can be set");
  EXPECT_EQ(message_of([] { Adagrad({.gradient_accumulation_steps = 1}); }),
            "[Adagrad] gradient_accumulation_steps must be at least 2, got 1");
  EXPECT_EQ(message_of([] { Adadelta({.use_ema = true, .ema_momentum = 2}); }),
            "[Adadelta] ema_momentum must lie in [0, 1], got 2");
  EXPECT_EQ(message_of([] { Nadam({.weight_decay = -1.0}); }), "[Nadam] weight_decay must not be negative, got -1");
  EXPECT_EQ(message_of([] { Ftrl({.learning_rate_power = 0.5}); }),
            "[Ftrl] learning_rate_power must not be positive, got 0.5");
  EXPECT_EQ(message_of([] { Adafactor({.clip_threshold = 0}); }), "[Adafactor] clip_threshold must be positive, got 0");
  EXPECT_EQ(message_of([] { Muon({.ns_steps = 0}); }), "[Muon] ns_steps must be at least 1, got 0");
  EXPECT_NE(message_of([] { Muon({.exclude_layers = {"("}}); }).find("\"(\", which is no regular expression"),
            std::string::npos);
  EXPECT_EQ(message_of([] { optim::SGD(Parameters{}, {.lr = 0.1, .nesterov = true}); }),
            "[SGD] nesterov needs a momentum and no dampening, got momentum 0 and dampening 0");
  EXPECT_EQ(message_of([] {
              optim::AdamW(Parameters{}, {.betas = {0.9, 1.5}});
            }),
            "[AdamW] betas.second must lie in [0, 1), got 1.5");
}

// Rows and columns of a kernel, all of a bias; matrices that Muon takes have no second moment.
TEST(Optimizer, StateIsAsSmallAsTheMethodAllows) {
  const Variable kernel(zeros({4, 6, 5}), {.name = "kernel"}), matrix(zeros({6, 5}), {.name = "matrix"}),
      table(zeros({6, 5}), {.name = "embedding/table"}), bias(zeros({5}), {.name = "bias"});
  const auto shapes = [](const Optimizer& optimizer) {
    std::vector<std::string> all;
    for (const OptimizerSnapshot::Entry& entry : optimizer.snapshot().entries)
      for (const auto& [name, value] : entry.slots) all.push_back(name + to_string(value.shape()));
    return all;
  };
  Adafactor adafactor;
  EXPECT_EQ(adafactor.state_bytes({kernel, bias}), 4 * (4 * 6 + 4 * 5 + 5));
  adafactor.build({kernel, bias});
  EXPECT_EQ(shapes(adafactor),
            (std::vector<std::string>{"row_velocity(4, 6)", "column_velocity(4, 5)", "velocity(5,)"}));
  Muon muon;
  muon.build({matrix, table, bias});
  EXPECT_EQ(shapes(muon), (std::vector<std::string>{"momentum(6, 5)", "momentum(6, 5)", "velocity(6, 5)",
                                                    "momentum(5,)", "velocity(5,)"}));
}

TEST(Optimizer, BadGradientsChangeNothing) {
  Variable w(tensor({1.f, 2.f}), {.name = "w"}), other(tensor({1.f}), {.name = "other"});
  Adam optimizer(0.1);
  const Tensor fits = tensor({1.f, 1.f});
  EXPECT_EQ(message_of([&] {
              optimizer.apply_gradients({fits}, {w, other});
            }),
            "[Adam] needs one gradient per variable, got 1 gradients and 2 variables");
  EXPECT_EQ(message_of<ShapeError>([&] {
              optimizer.apply_gradients({fits, fits}, {w, other});
            }),
            "[Adam] the gradient of \"other\" must be float32(1,) like the variable, got float32(2,)");
  EXPECT_EQ(message_of([&] {
              optimizer.apply_gradients({Tensor(), Tensor()}, {w, other});
            }),
            "[Adam] no gradient for any of 2 variables: the loss does not depend on them");
  EXPECT_EQ(message_of([&] {
              optimizer.apply_gradients({fits, fits}, {w, w});
            }),
            "[Adam] variable \"w\" was given twice");
  const Variable half(cast(tensor({1.f}), DType::bfloat16), {.name = "half"});
  EXPECT_NE(message_of<DTypeError>([&] { optimizer.build({half}); }).find("\"half\" is bfloat16"), std::string::npos);
  EXPECT_EQ(w.to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(optimizer.iterations().item<int64_t>(), 0);
  EXPECT_THROW(optim::Adam(Parameters{}).step(), StateError);
  EXPECT_THROW(Optimizer({.name = "empty"}).apply_gradients({fits}, {w}), StateError);
}

TEST(Optimizer, AStepThatFailsLeavesWeightsAndStateAsTheyWere) {
  for (const bool traced : {false, true}) {
    Variable w(scalar(1), {.name = "w"});
    Adam optimizer({.learning_rate = 0.1, .use_ema = true, .gradient_accumulation_steps = 2});
    const auto eager_step = [&](Tensor x) {
      return optimizer.minimize([&] { return w * check_finite(w * x, "the factor"); }, {w});
    };
    const auto traced_step = function(eager_step);
    const auto step = [&](double x) { traced ? traced_step(scalar(x)) : eager_step(scalar(x)); };
    for (int i = 0; i < 3; ++i) step(1 + i);
    std::vector<Variable> all = optimizer.variables();
    all.push_back(w);
    std::vector<double> before;
    for (const Variable& variable : all) before.push_back(variable.item());
    for (int i = 0; i < 2; ++i) EXPECT_THROW(step(std::nan("")), NumericError);
    for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].item(), before[i]) << all[i].name();
    step(1);
    EXPECT_LT(w.item(), before.back());
  }
}

}  // namespace
}  // namespace isochron
