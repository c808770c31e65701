// Learning rates that change with the step.
//
//   iso::Adam optimizer({.learning_rate = iso::CosineDecay({.initial_learning_rate = 0.1, .decay_steps = 1000})});
//   iso::Adam same(iso::CosineDecay(0.1, 1000));                  // the first arguments by their place
//   iso::SGD other(iso::LambdaSchedule([](iso::Tensor step) { return 0.1 / (step + 1.0); }));
//   iso::ExponentialDecay({.initial_learning_rate = 0.1, .decay_steps = 30, .decay_rate = 0.5}).value_at(60);  // 0.025
//
// A schedule is evaluated in the graph, in float64, from the optimizer's int64 iteration count, so it works the same in
// eager loops, in iso::function and in fit. Names, arguments and formulas are those of Keras 3; OneCycle is PyTorch's
// OneCycleLR. Options that make no sense throw ValueError where they are given.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "isochron/base/options.h"
#include "isochron/tensor/tensor.h"

namespace isochron {

class Schedule {
 public:
  virtual ~Schedule() = default;
  // step: float64 scalar. The result is a floating scalar.
  virtual Tensor at(const Tensor& step) const = 0;
  // step: an integer scalar.
  Tensor operator()(const Tensor& step) const;
  double value_at(int64_t step) const;
};

struct ExponentialDecayOptions {
  double initial_learning_rate = 0.001;
  int64_t decay_steps = 1;
  double decay_rate = 0.96;
  bool staircase = false;
};
ISO_OPTIONS(ExponentialDecayOptions, initial_learning_rate, decay_steps, decay_rate, staircase)
// initial * decay_rate ^ (step / decay_steps)
class ExponentialDecay final : public Schedule {
 public:
  explicit ExponentialDecay(ExponentialDecayOptions options);
  ExponentialDecay(double initial_learning_rate, int64_t decay_steps, double decay_rate, bool staircase = false)
      : ExponentialDecay(ExponentialDecayOptions{initial_learning_rate, decay_steps, decay_rate, staircase}) {}
  ISO_ARGUMENTS(options_)
  Tensor at(const Tensor& step) const override;

 private:
  ExponentialDecayOptions options_;
};

struct InverseTimeDecayOptions {
  double initial_learning_rate = 0.001;
  int64_t decay_steps = 1;
  double decay_rate = 0.5;
  bool staircase = false;
};
ISO_OPTIONS(InverseTimeDecayOptions, initial_learning_rate, decay_steps, decay_rate, staircase)
// initial / (1 + decay_rate * step / decay_steps)
class InverseTimeDecay final : public Schedule {
 public:
  explicit InverseTimeDecay(InverseTimeDecayOptions options);
  InverseTimeDecay(double initial_learning_rate, int64_t decay_steps, double decay_rate, bool staircase = false)
      : InverseTimeDecay(InverseTimeDecayOptions{initial_learning_rate, decay_steps, decay_rate, staircase}) {}
  ISO_ARGUMENTS(options_)
  Tensor at(const Tensor& step) const override;

 private:
  InverseTimeDecayOptions options_;
};

struct PiecewiseConstantDecayOptions {
  std::vector<int64_t> boundaries;
  std::vector<double> values;  // one more than boundaries
};
ISO_OPTIONS(PiecewiseConstantDecayOptions, boundaries, values)
// values[i] up to and including step boundaries[i]
class PiecewiseConstantDecay final : public Schedule {
 public:
  explicit PiecewiseConstantDecay(PiecewiseConstantDecayOptions options);
  PiecewiseConstantDecay(std::vector<int64_t> boundaries, std::vector<double> values)
      : PiecewiseConstantDecay(PiecewiseConstantDecayOptions{std::move(boundaries), std::move(values)}) {}
  ISO_ARGUMENTS(options_)
  Tensor at(const Tensor& step) const override;

 private:
  PiecewiseConstantDecayOptions options_;
};

struct PolynomialDecayOptions {
  double initial_learning_rate = 0.001;
  int64_t decay_steps = 1;
  double end_learning_rate = 0.0001;
  double power = 1.0;
  bool cycle = false;
};
ISO_OPTIONS(PolynomialDecayOptions, initial_learning_rate, decay_steps, end_learning_rate, power, cycle)
class PolynomialDecay final : public Schedule {
 public:
  explicit PolynomialDecay(PolynomialDecayOptions options);
  PolynomialDecay(double initial_learning_rate, int64_t decay_steps, double end_learning_rate = 0.0001,
                  double power = 1.0, bool cycle = false)
      : PolynomialDecay(PolynomialDecayOptions{initial_learning_rate, decay_steps, end_learning_rate, power, cycle}) {}
  ISO_ARGUMENTS(options_)
  Tensor at(const Tensor& step) const override;

 private:
  PolynomialDecayOptions options_;
};

struct CosineDecayOptions {
  double initial_learning_rate = 0.001;
  int64_t decay_steps = 1;
  double alpha = 0.0;  // the end, as a share of the start
  std::optional<double> warmup_target = {};
  int64_t warmup_steps = 0;
};
ISO_OPTIONS(CosineDecayOptions, initial_learning_rate, decay_steps, alpha, warmup_target, warmup_steps)
class CosineDecay final : public Schedule {
 public:
  explicit CosineDecay(CosineDecayOptions options);
  CosineDecay(double initial_learning_rate, int64_t decay_steps, double alpha = 0)
      : CosineDecay(CosineDecayOptions{
            .initial_learning_rate = initial_learning_rate, .decay_steps = decay_steps, .alpha = alpha}) {}
  ISO_ARGUMENTS(options_)
  Tensor at(const Tensor& step) const override;

 private:
  CosineDecayOptions options_;
};

struct CosineDecayRestartsOptions {
  double initial_learning_rate = 0.001;
  int64_t first_decay_steps = 1;
  double t_mul = 2.0;  // each period is so much longer than the one before
  double m_mul = 1.0;  // and starts so much higher
  double alpha = 0.0;
};
ISO_OPTIONS(CosineDecayRestartsOptions, initial_learning_rate, first_decay_steps, t_mul, m_mul, alpha)
class CosineDecayRestarts final : public Schedule {
 public:
  explicit CosineDecayRestarts(CosineDecayRestartsOptions options);
  CosineDecayRestarts(double initial_learning_rate, int64_t first_decay_steps, double t_mul = 2.0, double m_mul = 1.0,
                      double alpha = 0.0)
      : CosineDecayRestarts(CosineDecayRestartsOptions{initial_learning_rate, first_decay_steps, t_mul, m_mul, alpha}) {
  }
  ISO_ARGUMENTS(options_)
  Tensor at(const Tensor& step) const override;

 private:
  CosineDecayRestartsOptions options_;
};

struct OneCycleOptions {
  double max_lr = 0.1;
  int64_t total_steps = 1;
  double pct_start = 0.3;
  std::string anneal_strategy = "cos";  // or "linear"
  double div_factor = 25;
  double final_div_factor = 1e4;
  bool three_phase = false;
};
ISO_OPTIONS(OneCycleOptions, max_lr, total_steps, pct_start, anneal_strategy, div_factor, final_div_factor, three_phase)
// Up from max_lr / div_factor to max_lr, then down to (max_lr / div_factor) / final_div_factor.
class OneCycle final : public Schedule {
 public:
  explicit OneCycle(OneCycleOptions options);
  OneCycle(double max_lr, int64_t total_steps)
      : OneCycle(OneCycleOptions{.max_lr = max_lr, .total_steps = total_steps}) {}
  ISO_ARGUMENTS(options_)
  Tensor at(const Tensor& step) const override;

 private:
  OneCycleOptions options_;
};

// Any function of the step, built from ops.
class LambdaSchedule final : public Schedule {
 public:
  explicit LambdaSchedule(std::function<Tensor(const Tensor& step)> function) : function_(std::move(function)) {}
  Tensor at(const Tensor& step) const override { return function_(step); }

 private:
  std::function<Tensor(const Tensor&)> function_;
};

// What an optimizer takes: a number or a schedule.
class LearningRate {
 public:
  LearningRate(double value) : value_(value) {}
  LearningRate(std::shared_ptr<const Schedule> schedule) : schedule_(std::move(schedule)) {}
  template <class S>
  requires std::is_base_of_v<Schedule, S> LearningRate(S schedule)
      : schedule_(std::make_shared<const S>(std::move(schedule))) {}

  double initial() const { return schedule_ ? schedule_->value_at(0) : value_; }
  const std::shared_ptr<const Schedule>& schedule() const { return schedule_; }

 private:
  double value_ = 0;
  std::shared_ptr<const Schedule> schedule_;
};

}  // namespace isochron
