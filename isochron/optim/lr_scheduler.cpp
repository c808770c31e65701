#include "isochron/optim/lr_scheduler.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "isochron/base/names.h"

namespace isochron::optim::lr_scheduler {
namespace {

void need_positive(const char* scheduler, const char* what, int64_t value) {
  if (value < 1) fail<ValueError>(scheduler, "{} must be positive, got {}", what, value);
}

std::vector<double> rates_of(const Optimizer& optimizer) {
  std::vector<double> rates;
  for (size_t group = 0; group < optimizer.param_groups(); ++group) rates.push_back(optimizer.learning_rate(group));
  return rates;
}

const std::vector<double>& entry(const char* scheduler, const SchedulerState& state, const std::string& name,
                                 size_t size) {
  const auto found = state.find(name);
  if (found == state.end()) fail<ValueError>(scheduler, "the state has no \"{}\"", name);
  if (found->second.size() != size)
    fail<ValueError>(scheduler, "\"{}\" needs {} numbers, the state has {}", name, size, found->second.size());
  return found->second;
}

void need_one_of(const char* scheduler, const char* what, const std::string& given,
                 const std::vector<std::string_view>& known) {
  if (std::find(known.begin(), known.end(), given) == known.end())
    fail<ValueError>(scheduler, "unknown {} \"{}\"{}", what, given, did_you_mean(given, known));
}

double cosine(double share) { return (1 + std::cos(std::numbers::pi * share)) / 2; }

}  // namespace

LRScheduler::LRScheduler(const char* kind, const Optimizer& optimizer) : optimizer_(optimizer), kind_(kind) {
  for (size_t group = 0; group < optimizer_.param_groups(); ++group)
    base_.push_back(optimizer_.base_learning_rate(group));
}

void LRScheduler::set_rates(int64_t epoch) {
  if (optimizer_.param_groups() != base_.size())
    fail<StateError>(kind_, "the optimizer had {} groups when the scheduler was made and has {} now; add groups first",
                     base_.size(), optimizer_.param_groups());
  epoch_ = epoch;
  for (size_t group = 0; group < base_.size(); ++group)
    optimizer_.set_learning_rate(rate(epoch, optimizer_.learning_rate(group), base_[group], group), group);
}

void LRScheduler::step() { set_rates(epoch_ + 1); }
std::vector<double> LRScheduler::get_last_lr() const { return rates_of(optimizer_); }

void LRScheduler::restart() {
  for (size_t group = 0; group < base_.size(); ++group) optimizer_.set_learning_rate(base_[group], group);
  set_rates(0);
}

SchedulerState LRScheduler::state_dict() const {
  return {{"last_epoch", {static_cast<double>(epoch_)}}, {"base_lrs", base_}};
}
void LRScheduler::load_state_dict(const SchedulerState& state) {
  const double epoch = entry(kind_, state, "last_epoch", 1)[0];
  base_ = entry(kind_, state, "base_lrs", base_.size());
  epoch_ = static_cast<int64_t>(epoch);
}

StepLR::StepLR(const Optimizer& optimizer, int64_t step_size, double gamma)
    : LRScheduler("StepLR", optimizer), step_size_(step_size), gamma_(gamma) {
  need_positive("StepLR", "step_size", step_size);
  begin();
}
double StepLR::rate(int64_t epoch, double now, double, size_t) const {
  return epoch > 0 && epoch % step_size_ == 0 ? now * gamma_ : now;
}

MultiStepLR::MultiStepLR(const Optimizer& optimizer, std::vector<int64_t> milestones, double gamma)
    : LRScheduler("MultiStepLR", optimizer), milestones_(std::move(milestones)), gamma_(gamma) {
  begin();
}
double MultiStepLR::rate(int64_t epoch, double now, double, size_t) const {
  return now * std::pow(gamma_, static_cast<double>(std::count(milestones_.begin(), milestones_.end(), epoch)));
}

ExponentialLR::ExponentialLR(const Optimizer& optimizer, double gamma)
    : LRScheduler("ExponentialLR", optimizer), gamma_(gamma) {
  begin();
}
double ExponentialLR::rate(int64_t epoch, double now, double, size_t) const { return epoch > 0 ? now * gamma_ : now; }

ConstantLR::ConstantLR(const Optimizer& optimizer, double factor, int64_t total_iters)
    : LRScheduler("ConstantLR", optimizer), factor_(factor), total_(total_iters) {
  if (!(factor > 0 && factor <= 1)) fail<ValueError>("ConstantLR", "factor must be in (0, 1], got {}", factor);
  begin();
}
double ConstantLR::rate(int64_t epoch, double now, double, size_t) const {
  return epoch == 0 ? now * factor_ : epoch == total_ ? now / factor_ : now;
}

LinearLR::LinearLR(const Optimizer& optimizer, LinearLROptions options)
    : LRScheduler("LinearLR", optimizer), options_(options) {
  if (!(options.start_factor > 0 && options.start_factor <= 1) || !(options.end_factor >= 0 && options.end_factor <= 1))
    fail<ValueError>("LinearLR", "start_factor must be in (0, 1] and end_factor in [0, 1], got {} and {}",
                     options.start_factor, options.end_factor);
  need_positive("LinearLR", "total_iters", options.total_iters);
  begin();
}
double LinearLR::rate(int64_t epoch, double now, double, size_t) const {
  const auto& [start, end, total] = options_;
  if (epoch == 0) return now * start;
  if (epoch > total) return now;
  // What the factor is now over what it was.
  const double before = static_cast<double>(total) * start + static_cast<double>(epoch - 1) * (end - start);
  return now * (1 + (end - start) / before);
}

PolynomialLR::PolynomialLR(const Optimizer& optimizer, int64_t total_iters, double power)
    : LRScheduler("PolynomialLR", optimizer), total_(total_iters), power_(power) {
  need_positive("PolynomialLR", "total_iters", total_iters);
  begin();
}
double PolynomialLR::rate(int64_t epoch, double now, double, size_t) const {
  if (epoch == 0 || epoch > total_) return now;
  return now * std::pow(static_cast<double>(total_ - epoch) / static_cast<double>(total_ - epoch + 1), power_);
}

CosineAnnealingLR::CosineAnnealingLR(const Optimizer& optimizer, int64_t T_max, double eta_min)
    : LRScheduler("CosineAnnealingLR", optimizer), half_(T_max), least_(eta_min) {
  need_positive("CosineAnnealingLR", "T_max", T_max);
  begin();
}
double CosineAnnealingLR::rate(int64_t epoch, double now, double base, size_t) const {
  if (epoch == 0) return now;
  const auto share = [&](int64_t at) { return cosine(static_cast<double>(at) / static_cast<double>(half_)); };
  // Up again from the bottom, where the rate before says nothing.
  if ((epoch - 1 - half_) % (2 * half_) == 0) return now + (base - least_) * (1 - share(1));
  return share(epoch) / share(epoch - 1) * (now - least_) + least_;
}

CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(const Optimizer& optimizer,
                                                         CosineAnnealingWarmRestartsOptions options)
    : LRScheduler("CosineAnnealingWarmRestarts", optimizer), options_(options) {
  need_positive("CosineAnnealingWarmRestarts", "T_0", options.T_0);
  need_positive("CosineAnnealingWarmRestarts", "T_mult", options.T_mult);
  begin();
}
double CosineAnnealingWarmRestarts::rate(int64_t epoch, double, double base, size_t) const {
  int64_t length = options_.T_0;
  for (; epoch >= length; length *= options_.T_mult) {
    if (options_.T_mult == 1) {
      epoch %= length;
      break;
    }
    epoch -= length;
  }
  return options_.eta_min +
         (base - options_.eta_min) * cosine(static_cast<double>(epoch) / static_cast<double>(length));
}

LambdaLR::LambdaLR(const Optimizer& optimizer, std::vector<Function> lr_lambdas)
    : LRScheduler("LambdaLR", optimizer), functions_(std::move(lr_lambdas)) {
  if (functions_.size() != 1 && functions_.size() != base_.size())
    fail<ValueError>("LambdaLR", "needs one function, or one for each of {} groups, got {}", base_.size(),
                     functions_.size());
  begin();
}
double LambdaLR::rate(int64_t epoch, double, double base, size_t group) const {
  return base * functions_[functions_.size() == 1 ? 0 : group](epoch);
}

MultiplicativeLR::MultiplicativeLR(const Optimizer& optimizer, LambdaLR::Function lr_lambda)
    : LRScheduler("MultiplicativeLR", optimizer), function_(std::move(lr_lambda)) {
  begin();
}
double MultiplicativeLR::rate(int64_t epoch, double now, double, size_t) const {
  return epoch > 0 ? now * function_(epoch) : now;
}

OneCycleLR::OneCycleLR(const Optimizer& optimizer, OneCycleOptions options)
    : LRScheduler("OneCycleLR", optimizer), total_(options.total_steps), schedule_(std::move(options)) {
  begin();
}
double OneCycleLR::rate(int64_t epoch, double, double, size_t) const {
  // The usual loop asks once more after its last update.
  if (epoch > total_)
    fail<ValueError>("OneCycleLR", "step() was called {} times for a cycle of {} steps; raise total_steps", epoch,
                     total_);
  return schedule_.value_at(std::min(epoch, total_ - 1));
}

CyclicLR::CyclicLR(const Optimizer& optimizer, CyclicLROptions options)
    : LRScheduler("CyclicLR", optimizer), options_(std::move(options)) {
  need_positive("CyclicLR", "step_size_up", options_.step_size_up);
  need_positive("CyclicLR", "step_size_down", options_.step_size_down.value_or(1));
  if (!options_.scale_fn) need_one_of("CyclicLR", "mode", options_.mode, {"triangular", "triangular2", "exp_range"});
  need_one_of("CyclicLR", "scale_mode", options_.scale_mode, {"cycle", "iterations"});
  std::fill(base_.begin(), base_.end(), options_.base_lr);
  begin();
}
double CyclicLR::height(double cycle, double step) const {
  if (options_.scale_fn) return options_.scale_fn(options_.scale_mode == "cycle" ? cycle : step);
  if (options_.mode == "triangular2") return std::pow(2, 1 - cycle);
  return options_.mode == "exp_range" ? std::pow(options_.gamma, step) : 1;
}
double CyclicLR::rate(int64_t epoch, double, double base, size_t) const {
  const auto up = static_cast<double>(options_.step_size_up), step = static_cast<double>(epoch);
  const double total = up + static_cast<double>(options_.step_size_down.value_or(options_.step_size_up));
  const double cycle = std::floor(1 + step / total), at = step - (cycle - 1) * total;
  const double share = at <= up ? at / up : (total - at) / (total - up);
  return base + (options_.max_lr - base) * share * height(cycle, step);
}

SequentialLR::SequentialLR(const Optimizer& optimizer, std::vector<std::shared_ptr<LRScheduler>> schedulers,
                           std::vector<int64_t> milestones)
    : LRScheduler("SequentialLR", optimizer), schedulers_(std::move(schedulers)), milestones_(std::move(milestones)) {
  if (schedulers_.empty() || milestones_.size() + 1 != schedulers_.size())
    fail<ValueError>("SequentialLR", "needs one milestone less than schedulers, got {} and {}", milestones_.size(),
                     schedulers_.size());
  for (size_t i = 0; i < milestones_.size(); ++i)
    if (milestones_[i] <= (i ? milestones_[i - 1] : 0))
      fail<ValueError>("SequentialLR", "milestones must be positive and grow, got {} behind {}", milestones_[i],
                       i ? milestones_[i - 1] : 0);
  for (const auto& scheduler : schedulers_)
    if (!scheduler || scheduler->optimizer_.iterations().state() != optimizer_.iterations().state())
      fail<ValueError>("SequentialLR", "all schedulers must belong to the optimizer that was given");
  restart();
}
void SequentialLR::restart() {
  epoch_ = 0;
  schedulers_.front()->restart();
}
void SequentialLR::step() {
  ++epoch_;
  const auto next = std::upper_bound(milestones_.begin(), milestones_.end(), epoch_);
  LRScheduler& scheduler = *schedulers_[static_cast<size_t>(next - milestones_.begin())];
  if (next != milestones_.begin() && *(next - 1) == epoch_)
    scheduler.restart();
  else
    scheduler.step();
}
double SequentialLR::rate(int64_t, double now, double, size_t) const { return now; }

SchedulerState SequentialLR::state_dict() const {
  SchedulerState state = LRScheduler::state_dict();
  for (size_t i = 0; i < schedulers_.size(); ++i)
    for (auto& [name, values] : schedulers_[i]->state_dict()) state[std::to_string(i) + "." + name] = values;
  return state;
}
void SequentialLR::load_state_dict(const SchedulerState& state) {
  LRScheduler::load_state_dict(state);
  for (size_t i = 0; i < schedulers_.size(); ++i) {
    const std::string prefix = std::to_string(i) + ".";
    SchedulerState part;
    for (const auto& [name, values] : state)
      if (name.starts_with(prefix)) part[name.substr(prefix.size())] = values;
    schedulers_[i]->load_state_dict(part);
  }
}

ReduceLROnPlateau::ReduceLROnPlateau(const Optimizer& optimizer, ReduceLROnPlateauOptions options)
    : optimizer_(optimizer), options_(std::move(options)) {
  constexpr const char* kName = "ReduceLROnPlateau";
  need_one_of(kName, "mode", options_.mode, {"min", "max"});
  need_one_of(kName, "threshold_mode", options_.threshold_mode, {"rel", "abs"});
  if (!(options_.factor < 1)) fail<ValueError>(kName, "factor must be below 1, got {}", options_.factor);
  best_ = std::numeric_limits<double>::infinity() * (options_.mode == "min" ? 1 : -1);
}

bool ReduceLROnPlateau::better(double value) const {
  const bool least = options_.mode == "min";
  const double by = options_.threshold_mode == "abs" ? options_.threshold : options_.threshold * best_;
  if (std::isinf(best_)) return least ? value < best_ : value > best_;
  return least ? value < best_ - by : value > best_ + by;
}

void ReduceLROnPlateau::step(double metric) {
  ++epoch_;
  if (better(metric)) {
    best_ = metric;
    bad_epochs_ = 0;
  } else {
    ++bad_epochs_;
  }
  if (cooldown_ > 0) {
    --cooldown_;
    bad_epochs_ = 0;
  }
  if (bad_epochs_ <= options_.patience) return;
  for (size_t group = 0; group < optimizer_.param_groups(); ++group) {
    const double old = optimizer_.learning_rate(group), next = std::max(old * options_.factor, options_.min_lr);
    if (old - next > options_.eps) optimizer_.set_learning_rate(next, group);
  }
  cooldown_ = options_.cooldown;
  bad_epochs_ = 0;
}

std::vector<double> ReduceLROnPlateau::get_last_lr() const { return rates_of(optimizer_); }

SchedulerState ReduceLROnPlateau::state_dict() const {
  const auto one = [](auto value) { return std::vector{static_cast<double>(value)}; };
  return {{"best", one(best_)},
          {"num_bad_epochs", one(bad_epochs_)},
          {"cooldown_counter", one(cooldown_)},
          {"last_epoch", one(epoch_)}};
}
void ReduceLROnPlateau::load_state_dict(const SchedulerState& state) {
  const auto one = [&](const char* name) { return entry("ReduceLROnPlateau", state, name, 1)[0]; };
  const double best = one("best");
  const auto bad = static_cast<int64_t>(one("num_bad_epochs")),
             cooldown = static_cast<int64_t>(one("cooldown_counter"));
  epoch_ = static_cast<int64_t>(one("last_epoch"));
  best_ = best;
  bad_epochs_ = bad;
  cooldown_ = cooldown;
}

}  // namespace isochron::optim::lr_scheduler
