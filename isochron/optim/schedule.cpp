#include "isochron/optim/schedule.h"

#include <cmath>
#include <numbers>

#include "isochron/base/names.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/optim/checks.h"

namespace isochron {
namespace {

using optim::require_count;
using optim::require_not_negative;
using optim::require_positive;
using optim::require_share;

Tensor number(double value) { return constant(value, DType::float64); }

// From 1 at fraction 0 down to 0 at fraction 1.
Tensor half_cosine(const Tensor& fraction) { return 0.5 * (1 + cos(std::numbers::pi * fraction)); }

}  // namespace

Tensor Schedule::operator()(const Tensor& step) const { return at(cast(step, DType::float64)); }

double Schedule::value_at(int64_t step) const {
  return (*this)(scalar(static_cast<double>(step), DType::int64)).item();
}

ExponentialDecay::ExponentialDecay(ExponentialDecayOptions options) : options_(options) {
  require_not_negative("ExponentialDecay", "initial_learning_rate", options_.initial_learning_rate);
  require_count("ExponentialDecay", "decay_steps", options_.decay_steps);
  require_positive("ExponentialDecay", "decay_rate", options_.decay_rate);
}

Tensor ExponentialDecay::at(const Tensor& step) const {
  const Tensor periods = step / options_.decay_steps;
  return options_.initial_learning_rate * pow(options_.decay_rate, options_.staircase ? floor(periods) : periods);
}

InverseTimeDecay::InverseTimeDecay(InverseTimeDecayOptions options) : options_(options) {
  require_not_negative("InverseTimeDecay", "initial_learning_rate", options_.initial_learning_rate);
  require_count("InverseTimeDecay", "decay_steps", options_.decay_steps);
  require_not_negative("InverseTimeDecay", "decay_rate", options_.decay_rate);
}

Tensor InverseTimeDecay::at(const Tensor& step) const {
  const Tensor periods = step / options_.decay_steps;
  return options_.initial_learning_rate / (1 + options_.decay_rate * (options_.staircase ? floor(periods) : periods));
}

PiecewiseConstantDecay::PiecewiseConstantDecay(PiecewiseConstantDecayOptions options) : options_(std::move(options)) {
  const auto& [boundaries, values] = options_;
  if (values.size() != boundaries.size() + 1)
    fail<ValueError>("PiecewiseConstantDecay",
                     "values must be one more than boundaries, got {} values and {} boundaries", values.size(),
                     boundaries.size());
  for (size_t i = 1; i < boundaries.size(); ++i)
    if (boundaries[i] <= boundaries[i - 1])
      fail<ValueError>("PiecewiseConstantDecay", "boundaries must increase, got {} after {}", boundaries[i],
                       boundaries[i - 1]);
  for (double value : values) require_not_negative("PiecewiseConstantDecay", "values", value);
}

Tensor PiecewiseConstantDecay::at(const Tensor& step) const {
  Tensor value = number(options_.values.back());
  for (size_t i = options_.boundaries.size(); i-- > 0;)
    value = where(step <= options_.boundaries[i], number(options_.values[i]), value);
  return value;
}

PolynomialDecay::PolynomialDecay(PolynomialDecayOptions options) : options_(options) {
  require_not_negative("PolynomialDecay", "initial_learning_rate", options_.initial_learning_rate);
  require_count("PolynomialDecay", "decay_steps", options_.decay_steps);
  require_not_negative("PolynomialDecay", "end_learning_rate", options_.end_learning_rate);
  require_positive("PolynomialDecay", "power", options_.power);
}

Tensor PolynomialDecay::at(const Tensor& step) const {
  const double steps = static_cast<double>(options_.decay_steps);
  const Tensor done = options_.cycle ? step / (steps * maximum(ceil(step / steps), 1)) : minimum(step, steps) / steps;
  return (options_.initial_learning_rate - options_.end_learning_rate) * pow(1 - done, options_.power) +
         options_.end_learning_rate;
}

CosineDecay::CosineDecay(CosineDecayOptions options) : options_(options) {
  require_not_negative("CosineDecay", "initial_learning_rate", options_.initial_learning_rate);
  require_count("CosineDecay", "decay_steps", options_.decay_steps);
  require_share("CosineDecay", "alpha", options_.alpha);
  require_count("CosineDecay", "warmup_steps", options_.warmup_steps, 0);
  if (options_.warmup_target) require_not_negative("CosineDecay", "warmup_target", *options_.warmup_target);
  if (options_.warmup_steps > 0 && !options_.warmup_target)
    fail<ValueError>("CosineDecay", "warmup_steps is {} but warmup_target is not set", options_.warmup_steps);
}

Tensor CosineDecay::at(const Tensor& step) const {
  const double warmup = options_.warmup_target ? static_cast<double>(options_.warmup_steps) : 0;
  const double top = options_.warmup_target.value_or(options_.initial_learning_rate);
  const Tensor done = clip((step - warmup) / options_.decay_steps, 0, 1);
  const Tensor decayed = top * ((1 - options_.alpha) * half_cosine(done) + options_.alpha);
  if (warmup == 0) return decayed;
  const double rise = (top - options_.initial_learning_rate) / warmup;
  return where(step < warmup, rise * step + options_.initial_learning_rate, decayed);
}

CosineDecayRestarts::CosineDecayRestarts(CosineDecayRestartsOptions options) : options_(options) {
  require_not_negative("CosineDecayRestarts", "initial_learning_rate", options_.initial_learning_rate);
  require_count("CosineDecayRestarts", "first_decay_steps", options_.first_decay_steps);
  require_share("CosineDecayRestarts", "alpha", options_.alpha);
  require_positive("CosineDecayRestarts", "m_mul", options_.m_mul);
  if (!(options_.t_mul >= 1))
    fail<ValueError>("CosineDecayRestarts", "t_mul must be at least 1, got {}", options_.t_mul);
}

Tensor CosineDecayRestarts::at(const Tensor& step) const {
  const Tensor periods = step / options_.first_decay_steps;
  const double growth = options_.t_mul;
  Tensor restart, done;
  if (growth == 1) {
    restart = floor(periods);
    done = periods - restart;
  } else {
    // The slack keeps a step that begins a period from being counted to the one before by rounding.
    restart = floor(log(1 + periods * (growth - 1)) / std::log(growth) + 1e-9);
    const Tensor length = pow(growth, restart);
    done = (periods - (length - 1) / (growth - 1)) / length;
  }
  return options_.initial_learning_rate *
         ((1 - options_.alpha) * pow(options_.m_mul, restart) * half_cosine(done) + options_.alpha);
}

OneCycle::OneCycle(OneCycleOptions options) : options_(std::move(options)) {
  require_not_negative("OneCycle", "max_lr", options_.max_lr);
  require_count("OneCycle", "total_steps", options_.total_steps);
  require_share("OneCycle", "pct_start", options_.pct_start);
  require_positive("OneCycle", "div_factor", options_.div_factor);
  require_positive("OneCycle", "final_div_factor", options_.final_div_factor);
  if (options_.anneal_strategy != "cos" && options_.anneal_strategy != "linear")
    fail<ValueError>("OneCycle", "unknown anneal_strategy \"{}\"{}", options_.anneal_strategy,
                     did_you_mean(options_.anneal_strategy, {"cos", "linear"}));
}

Tensor OneCycle::at(const Tensor& step) const {
  struct Part {
    double end, from, to;
  };
  const double first = options_.max_lr / options_.div_factor, last = first / options_.final_div_factor;
  const double steps = static_cast<double>(options_.total_steps), rise = options_.pct_start * steps;
  std::vector<Part> parts = {{rise - 1, first, options_.max_lr}};
  if (options_.three_phase) {
    parts.push_back({2 * rise - 2, options_.max_lr, first});
    parts.push_back({steps - 1, first, last});
  } else {
    parts.push_back({steps - 1, options_.max_lr, last});
  }
  Tensor value = number(last);
  for (size_t i = parts.size(); i-- > 0;) {
    const double begin = i ? parts[i - 1].end : 0, length = parts[i].end - begin;
    if (length <= 0) continue;
    const Tensor done = (step - begin) / length;
    const Tensor moved = options_.anneal_strategy == "cos" ? 1 - half_cosine(done) : done;
    value = where(step <= parts[i].end, parts[i].from + (parts[i].to - parts[i].from) * moved, value);
  }
  return value;
}

}  // namespace isochron
