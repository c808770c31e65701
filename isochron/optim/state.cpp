#include "isochron/optim/state.h"

#include <algorithm>
#include <cmath>

#include "isochron/exec/variables.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/op.h"
#include "isochron/ops/reduce.h"
#include "isochron/optim/checks.h"
#include "isochron/tensor/deferred.h"
#include "isochron/tensor/zeroed_storage.h"

namespace isochron {

Variable filled_variable(const TensorSpec& spec, double initial, std::string name) {
  const bool zeros = initial == 0 && !std::signbit(initial);
  const auto size = static_cast<size_t>(spec.bytes());
  if (zeros && worth_deferring(size))
    return Variable(Tensor::from_storage(deferred_storage(size, {}), spec),
                    {.name = std::move(name), .trainable = false});
  Storage bytes = zeros ? zeroed_storage(size) : Storage::allocate(size);
  visit_dtype(spec.dtype, [&]<class T>(Type<T>) {
    if (zeros) return;
    T* elements = reinterpret_cast<T*>(bytes.data());
    if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
      std::fill_n(elements, spec.shape.elements(), T(static_cast<float>(initial)));
    else
      std::fill_n(elements, spec.shape.elements(), static_cast<T>(initial));
  });
  return Variable(Tensor::from_storage(std::move(bytes), spec), {.name = std::move(name), .trainable = false});
}

Tensor sum_of_squares(const Tensor& gradient) { return sum(square(gradient)); }

Tensor norm_scale(const Tensor& squares, double limit) {
  const Tensor norm = sqrt(squares);
  return limit / maximum(norm, limit) + (norm - norm);
}

Optimizer::State::State(OptimizerOptions given)
    : options(std::move(given)), iterations(filled_variable({DType::int64, {}}, 0, "iterations")) {
  using namespace optim;
  const std::string& owner = options.name;
  const auto positive = [&](const char* option, const std::optional<double>& value) {
    if (value) require_positive(owner, option, *value);
  };
  positive("clipnorm", options.clipnorm);
  positive("clipvalue", options.clipvalue);
  positive("global_clipnorm", options.global_clipnorm);
  positive("loss_scale_factor", options.loss_scale_factor);
  if (int{options.clipnorm.has_value()} + options.clipvalue.has_value() + options.global_clipnorm.has_value() > 1)
    fail<ValueError>(owner, "only one of clipnorm, clipvalue and global_clipnorm can be set");
  require_share(owner, "ema_momentum", options.ema_momentum);
  if (options.ema_overwrite_frequency)
    require_count(owner, "ema_overwrite_frequency", *options.ema_overwrite_frequency);
  if (options.gradient_accumulation_steps)
    require_count(owner, "gradient_accumulation_steps", *options.gradient_accumulation_steps, 2);
  add_group(options.learning_rate, options.weight_decay);
}

void Optimizer::State::add_group(const std::optional<LearningRate>& rate, std::optional<double> weight_decay) {
  const LearningRate& used = rate ? *rate : options.learning_rate;
  Group group{.rate = {}, .schedule = used.schedule(), .weight_decay = weight_decay};
  if (weight_decay) optim::require_not_negative(options.name, "weight_decay", *weight_decay);
  if (!group.schedule) {
    optim::require_not_negative(options.name, "learning_rate", used.initial());
    const std::string name = groups.empty() ? "learning_rate" : fmt::format("learning_rate_{}", groups.size());
    group.rate = filled_variable({DType::float64, {}}, used.initial(), name);
  }
  groups.push_back(std::move(group));
}

Tensor Optimizer::State::learning_rate(const Group& group) const {
  if (!group.schedule) return group.rate;
  const Tensor rate = (*group.schedule)(iterations);
  if (rate.rank() != 0 || !is_floating(rate.dtype()))
    fail<ShapeError>(options.name, "a schedule must give a floating scalar, got {}", to_string(rate.spec()));
  return cast(rate, DType::float64);
}

Optimizer::State::Tracked* Optimizer::State::find(const Variable& variable) {
  const auto found = index.find(variable.state()->variable);
  return found == index.end() ? nullptr : &tracked[found->second];
}

bool Optimizer::State::knows(const Parameters& variables) {
  return std::all_of(variables.begin(), variables.end(), [&](const Variable& variable) { return find(variable); });
}

bool Optimizer::State::decays(const Variable& variable) const {
  return std::none_of(undecayed.begin(), undecayed.end(),
                      [&](const Variable& other) { return other.state()->variable == variable.state()->variable; }) &&
         std::none_of(undecayed_names.begin(), undecayed_names.end(),
                      [&](const std::string& part) { return variable.name().find(part) != std::string::npos; });
}

void Optimizer::State::check_dtype(const Variable& variable) const {
  if (variable.dtype() != DType::float32 && variable.dtype() != DType::float64)
    fail<DTypeError>(options.name,
                     "variables must be float32 or float64, \"{}\" is {}; keep float32 weights and cast "
                     "them where they are used",
                     variable.name(), variable.dtype());
}

void Optimizer::State::follow(Tracked& entry) const {
  const DType dtype = entry.variable.dtype();
  if (dtype == entry.dtype) return;
  check_dtype(entry.variable);
  for (const auto& [name, slot] : entry.slots) convert(slot, dtype);
  for (const Variable& extra : {entry.accumulator, entry.average})
    if (extra.defined()) convert(extra, dtype);
  entry.dtype = dtype;
}

Optimizer::State::Tracked& Optimizer::State::track(const Variable& variable, size_t group,
                                                   const std::vector<Slot>& slots) {
  if (Tracked* known = find(variable)) return *known;
  check_dtype(variable);
  Tracked entry{.variable = variable};
  entry.dtype = variable.dtype();
  entry.name = variable.name().empty() ? fmt::format("parameter_{}", tracked.size()) : variable.name();
  entry.group = group;
  entry.decays = decays(variable);
  for (const Slot& slot : slots) slot_of(entry, slot);
  if (options.gradient_accumulation_steps)
    entry.accumulator = filled_variable(variable.spec(), 0, entry.name + "/gradient_accumulator");
  if (options.use_ema) entry.average = filled_variable(variable.spec(), 0, entry.name + "/average");
  index[variable.state()->variable] = tracked.size();
  tracked.push_back(std::move(entry));
  return tracked.back();
}

Tensor Optimizer::State::processed(Tensor gradient, const Tracked& entry, const Tensor& enabled) const {
  if (options.loss_scale_factor) gradient = gradient / *options.loss_scale_factor;
  if (options.gradient_accumulation_steps) {
    const Tensor total = entry.accumulator + gradient;
    entry.accumulator.assign(where(enabled, zeros_like(total), total));
    gradient = total / static_cast<double>(*options.gradient_accumulation_steps);
  }
  if (options.clipnorm) gradient = gradient * norm_scale(sum_of_squares(gradient), *options.clipnorm);
  if (options.clipvalue) gradient = clip(gradient, -*options.clipvalue, *options.clipvalue);
  return gradient;
}

std::vector<Variable> Optimizer::State::variables() const {
  std::vector<Variable> all = {iterations};
  for (const Group& group : groups)
    if (group.rate.defined()) all.push_back(group.rate);
  for (const auto& [name, variable] : globals) all.push_back(variable);
  for (const Tracked& entry : tracked) {
    for (const auto& [name, slot] : entry.slots) all.push_back(slot);
    for (const Variable& extra : {entry.accumulator, entry.average})
      if (extra.defined()) all.push_back(extra);
  }
  return all;
}

void Optimizer::State::forget_pending() {
  before.clear();
  if (tracing_on_this_thread()) return;  // the trace takes back what it assigned
  std::vector<Variable> all = variables();
  for (const Tracked& entry : tracked) all.push_back(entry.variable);
  for (const Variable& variable : all)
    if (TensorState& held = *variable.state(); held.settled.node) held.set(std::exchange(held.settled, {}));
}

TensorSpec Optimizer::State::spec_of(const Slot& slot, const Variable& variable) {
  return slot.shape ? TensorSpec{variable.dtype(), *slot.shape} : variable.spec();
}

Variable Optimizer::State::slot_of(Tracked& entry, const Slot& slot) {
  for (const auto& [name, variable] : entry.slots)
    if (name == slot.name) return variable;
  const TensorSpec spec = spec_of(slot, entry.variable);
  entry.slots.emplace_back(slot.name, filled_variable(spec, slot.initial, entry.name + "/" + slot.name));
  return entry.slots.back().second;
}

}  // namespace isochron
