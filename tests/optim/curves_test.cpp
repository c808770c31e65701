// 100 training losses of every optimizer against those of Keras and PyTorch, in eager loops and traced.
// tests of op: sgd_update sgd_momentum_update adam_update amsgrad_update adamax_update nadam_update adagrad_update
// tests of op: adadelta_update lion_update rmsprop_update rmsprop_momentum_update rmsprop_centered_update
// tests of op: rmsprop_centered_momentum_update radam_update
#include <gtest/gtest.h>

#include <cmath>

#include "isochron/exec/function.h"
#include "isochron/graph/tape.h"
#include "isochron/optim/any_optimizer.h"
#include "isochron/optim/optimizers.h"
#include "isochron/optim/torch_optimizers.h"
#include "reference.h"

namespace isochron {
namespace {

using nlohmann::json;
using reference::batches;
using reference::Problem;

// Sets each option that the configuration names; fails the test for one nobody took.
class Config {
 public:
  explicit Config(const json& values) : values_(values) {}
  ~Config() {
    for (const auto& [key, value] : values_.items()) EXPECT_TRUE(taken_.contains(key)) << key;
  }
  template <class T>
  void operator()(const char* key, T& option) {
    if (values_.contains(key)) {
      taken_[key] = true;
      option = values_[key].get<T>();
    }
  }
  template <class T>
  void operator()(const char* key, std::optional<T>& option) {
    T value{};
    if (!values_.contains(key)) return;
    if (values_[key].is_null()) {
      taken_[key] = true;
      option.reset();
    } else {
      (*this)(key, value), option = value;
    }
  }
  void operator()(const char* key, LearningRate& option) {
    double value = 0;
    if (values_.contains(key)) (*this)(key, value), option = value;
  }

 private:
  const json& values_;
  json taken_ = json::object();
};

template <class O, class Options>
AnyOptimizer keras(const json& values) {
  Options options;
  Config config(values);
  for_each_option(options, config);
  return O(options);
}

template <class O, class Options>
AnyOptimizer torch(const json& values, const Problem& problem) {
  Options options;
  Config config(values);
  for_each_option(options, config);
  return O(problem.variables(), options);
}

AnyOptimizer make_optimizer(const json& curve, const Problem& problem) {
  const std::string name = curve["optimizer"];
  const json& config = curve["optimizer_config"];
  if (curve["source"] == "torch") {
    if (name == "SGD") return torch<optim::SGD, optim::SGDOptions>(config, problem);
    if (name == "Adam") return torch<optim::Adam, optim::AdamOptions>(config, problem);
    if (name == "AdamW") return torch<optim::AdamW, optim::AdamWOptions>(config, problem);
    if (name == "RMSprop") return torch<optim::RMSprop, optim::RMSpropOptions>(config, problem);
    if (name == "Adagrad") return torch<optim::Adagrad, optim::AdagradOptions>(config, problem);
    if (name == "Adadelta") return torch<optim::Adadelta, optim::AdadeltaOptions>(config, problem);
    if (name == "Adamax") return torch<optim::Adamax, optim::AdamaxOptions>(config, problem);
    if (name == "NAdam") return torch<optim::NAdam, optim::NAdamOptions>(config, problem);
    if (name == "RAdam") return torch<optim::RAdam, optim::RAdamOptions>(config, problem);
  } else {
    if (name == "SGD") return keras<SGD, SGDOptions>(config);
    if (name == "RMSprop") return keras<RMSprop, RMSpropOptions>(config);
    if (name == "Adam") return keras<Adam, AdamOptions>(config);
    if (name == "AdamW") return keras<AdamW, AdamWOptions>(config);
    if (name == "Adamax") return keras<Adamax, AdamaxOptions>(config);
    if (name == "Nadam") return keras<Nadam, NadamOptions>(config);
    if (name == "Adagrad") return keras<Adagrad, AdagradOptions>(config);
    if (name == "Adadelta") return keras<Adadelta, AdadeltaOptions>(config);
    if (name == "Lion") return keras<Lion, LionOptions>(config);
    if (name == "Ftrl") return keras<Ftrl, FtrlOptions>(config);
    if (name == "Lamb") return keras<Lamb, LambOptions>(config);
    if (name == "Adafactor") return keras<Adafactor, AdafactorOptions>(config);
    if (name == "Muon") return keras<Muon, MuonOptions>(config);
  }
  ADD_FAILURE() << "no optimizer for " << name;
  return "sgd";
}

class Curve : public testing::TestWithParam<json> {
 protected:
  // Losses of one step after the other against the reference's; NaN never agrees.
  void expect_losses(const std::function<double(size_t)>& step) {
    const auto losses = GetParam()["losses"].get<std::vector<double>>();
    ASSERT_EQ(losses.size(), 100u);
    for (size_t i = 0; i < losses.size(); ++i)
      ASSERT_LE(std::abs(step(i) / losses[i] - 1), 1e-4) << "step " << i << ", expected " << losses[i];
  }
  void expect_final_weights(const Problem& problem, Optimizer& optimizer) {
    if (!GetParam().contains("final_weights")) return;
    optimizer.finalize_variable_values(problem.variables());
    for (const Variable& variable : problem.variables())
      EXPECT_TRUE(allclose(variable, reference::tensor_of(GetParam()["final_weights"][variable.name()]), 1e-4, 1e-5))
          << variable.name();
  }
};

TEST_P(Curve, Eager) {
  Problem problem;
  const AnyOptimizer optimizer = make_optimizer(GetParam(), problem);
  expect_losses([&](size_t i) {
    const auto& [x, one_hot] = batches()[i % batches().size()];
    if (GetParam()["source"] == "torch") {
      optimizer->zero_grad();
      const Tensor loss = problem.loss(x, one_hot);
      loss.backward();
      optimizer->step();
      return loss.item();
    }
    return optimizer->minimize([&] { return problem.loss(x, one_hot); }, problem.variables()).item();
  });
  expect_final_weights(problem, *optimizer);
}

TEST_P(Curve, Traced) {
  Problem problem;
  const AnyOptimizer optimizer = make_optimizer(GetParam(), problem);
  const auto step = function([&](Tensor x, Tensor one_hot) {
    GradientTape tape;
    Tensor loss = problem.loss(x, one_hot);
    optimizer->apply_gradients(tape.gradient(loss, problem.variables()), problem.variables());
    return loss;
  });
  expect_losses([&](size_t i) {
    const auto& [x, one_hot] = batches()[i % batches().size()];
    return step(x, one_hot).item();
  });
  EXPECT_EQ(step.report().traces, 1);
  expect_final_weights(problem, *optimizer);
}

std::vector<json> optimizer_curves() {
  std::vector<json> curves;
  for (const json& curve : reference::curves_file()["curves"])
    if (curve["name"].get<std::string>().rfind("loss_", 0) != 0) curves.push_back(curve);
  return curves;
}

INSTANTIATE_TEST_SUITE_P(References, Curve, testing::ValuesIn(optimizer_curves()), [](const auto& curve) {
  return curve.param["source"].template get<std::string>() + "_" + curve.param["name"].template get<std::string>();
});

}  // namespace
}  // namespace isochron
