// The code of docs/custom.md, word for word, compiled and run.
#include <gtest/gtest.h>
#include <fstream>
#include <sstream>

#include "isochron/isochron.h"
#include "reference.h"
#include "tests/source_dir.h"

namespace iso = isochron;

namespace custom {

class Scale : public iso::Layer {
 public:
  ISO_LAYER(Scale)
  void build(const iso::Shape& input) override { scale_ = add_weight("scale", {input[-1]}, "ones"); }
  iso::Tensor call(const iso::Tensor& x, const iso::CallContext&) override { return x * scale_; }

 private:
  iso::Variable scale_;
};

iso::Tensor pinball(const iso::Tensor& y_true, const iso::Tensor& y_pred) {
  const iso::Tensor error = y_true - y_pred;
  return iso::mean(iso::maximum(0.9 * error, -0.1 * error), {-1});
}

class Quantile : public iso::Loss {
 public:
  explicit Quantile(double q) : Loss("quantile"), q_(q) {}
  iso::Tensor call(const iso::Tensor& y_true, const iso::Tensor& y_pred) const override {
    const iso::Tensor error = y_true - y_pred;
    return iso::mean(iso::maximum(q_ * error, (q_ - 1) * error), {-1});
  }

 private:
  double q_;
};

class WithinOne : public iso::Metric {
 public:
  WithinOne() : Metric("within_one"), hits_(add_variable("hits")), count_(add_variable("count")) {}
  void update(const iso::Tensor& y_true, const iso::Tensor& y_pred, const iso::Tensor&) override {
    hits_.assign_add(iso::sum(iso::cast(iso::abs(y_true - y_pred) <= 1, iso::DType::float32)));
    count_.assign_add(iso::constant(static_cast<double>(y_pred.elements())));
  }
  iso::Tensor result() const override { return hits_ / iso::maximum(count_, 1); }

 private:
  iso::Variable hits_, count_;
};

class SignDescent : public iso::Optimizer {
 public:
  explicit SignDescent(iso::LearningRate rate) : Optimizer({.learning_rate = rate}) {}
  void update_one(const iso::Tensor& gradient, const iso::Variable& variable, const iso::Tensor& rate) override {
    const iso::Variable momentum = slot(variable, "momentum");
    momentum.assign(0.9 * momentum + 0.1 * gradient);
    variable.assign(variable - rate * iso::sign(momentum));
  }
};

iso::History train(const iso::Tensor& x, const iso::Tensor& y) {
  iso::Sequential model{iso::Dense(8, {.activation = "tanh"}), Scale(), iso::Dense(1)};
  model.compile({.optimizer = SignDescent(0.01),
                 .loss = Quantile(0.5),
                 .metrics = {WithinOne(), iso::MeanMetric("pinball", pinball)}});
  return model.fit(x, y, {.epochs = 20, .verbose = 0});
}

}  // namespace custom

namespace {

using iso::tensor;
using iso::Tensor;

TEST(Custom, LayerScalesAndLearns) {
  custom::Scale scale;
  const Tensor x = tensor({{1.f, 2.f}});
  EXPECT_CLOSE(scale(x), x, 0, 0);
  iso::GradientTape tape;
  EXPECT_CLOSE(tape.gradient(scale(x), scale.weights()[0]), tensor({1.f, 2.f}), 0, 0);
  EXPECT_EQ(scale.output_shape({5, 2}), iso::Shape({5, 2}));
}

TEST(Custom, LossesAgree) {
  const Tensor y = tensor({{1.f}, {5.f}}), p = tensor({{3.f}, {4.f}});
  const double expected = (0.1 * 2 + 0.9 * 1) / 2;
  EXPECT_NEAR((*iso::AnyLoss(custom::pinball))(y, p).item(), expected, 1e-6);
  EXPECT_NEAR(custom::Quantile(0.9)(y, p).item(), expected, 1e-6);
  EXPECT_NEAR(custom::Quantile(0.9)(y, p, tensor({0.f, 1.f})).item(), 0.45, 1e-6);
}

TEST(Custom, MetricCountsAndForgets) {
  custom::WithinOne metric;
  metric.update(tensor({1.f, 2.f}), tensor({1.5f, 4.f}), {});
  metric.update(tensor({1.f, 2.f}), tensor({1.f, 3.f}), {});
  EXPECT_NEAR(metric.result().item(), 0.75, 1e-6);
  metric.reset();
  EXPECT_EQ(metric.result().item(), 0);
}

TEST(Custom, OptimizerStepsByTheSign) {
  custom::SignDescent optimizer(0.5);
  const iso::Variable v(tensor({1.f, -1.f, 3.f}));
  optimizer.apply_gradients({tensor({2.f, -3.f, 0.f})}, {v});
  EXPECT_CLOSE(v, tensor({0.5f, -0.5f, 3.f}), 1e-6, 0);
}

TEST(Custom, AllTogetherTrain) {
  iso::set_seed(1);
  const Tensor x = iso::random_normal({256, 3}, 0, 1, {.seed = 2});
  const Tensor y = iso::sum(x, {1}, true);
  const iso::History history = custom::train(x, y);
  EXPECT_LT(history["loss"].back(), 0.3 * history["loss"].front());
  EXPECT_GT(history["within_one"].back(), 0.9);
  EXPECT_LT(history["pinball"].back(), history["pinball"].front());
}

TEST(Custom, ThePageShowsThisCode) {
  const auto text_of = [](const std::string& path) {
    std::ifstream in(ISOCHRON_SOURCE_DIR + path);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  };
  const std::string page = text_of("/docs/custom.md"), source = text_of("/tests/nn/custom_test.cpp");
  int blocks = 0;
  for (size_t at = page.find("```cpp\n"); at != std::string::npos; at = page.find("```cpp\n", at)) {
    at += 7;
    const std::string block = page.substr(at, page.find("```", at) - at);
    EXPECT_NE(source.find(block), std::string::npos) << "not in this file:\n" << block;
    ++blocks;
  }
  EXPECT_EQ(blocks, 6);
}

}  // namespace
