#include "isochron/optim/optimizer.h"

#include "isochron/exec/evaluate.h"
#include "isochron/graph/tape.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/reduce.h"
#include "isochron/optim/checks.h"
#include "isochron/optim/state.h"

namespace isochron {
namespace {

Tensor sum_of_squares(const Tensor& gradient) { return sum(square(gradient)); }

// The factor that brings this norm down to `limit`; NaN when the norm is not finite, as in Keras.
Tensor norm_scale(const Tensor& squares, double limit) {
  const Tensor norm = sqrt(squares);
  return limit / maximum(norm, limit) + (norm - norm);
}

}  // namespace

Optimizer::Optimizer(OptimizerOptions options) {
  if (options.name.empty()) options.name = "optimizer";
  state_ = std::make_shared<State>(std::move(options));
}
Optimizer::~Optimizer() = default;

void Optimizer::build(const Parameters& variables) {
  const std::vector<Slot> kept = slots();
  for (const Variable& variable : variables) state_->track(variable, 0, kept);
}

void Optimizer::add_param_group(ParamGroup group) {
  for (const Variable& variable : group.params)
    if (state_->find(variable)) fail<ValueError>(name(), "parameter \"{}\" is in a group already", variable.name());
  state_->add_group(group.lr, group.weight_decay ? group.weight_decay : state_->options.weight_decay);
  const std::vector<Slot> kept = slots();
  for (const Variable& variable : group.params) state_->track(variable, state_->groups.size() - 1, kept);
}

void Optimizer::apply_gradients(const std::vector<Tensor>& gradients, const Parameters& variables) {
  State& state = *state_;
  const OptimizerOptions& options = state.options;
  if (gradients.size() != variables.size())
    fail<ValueError>(name(), "needs one gradient per variable, got {} gradients and {} variables", gradients.size(),
                     variables.size());
  ++state.calls;
  bool any = false;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    any = true;
    const Variable& variable = variables[i];
    if (gradients[i].spec() != variable.spec())
      fail<ShapeError>(name(), "the gradient of \"{}\" must be {} like the variable, got {}", variable.name(),
                       to_string(variable.spec()), to_string(gradients[i].spec()));
  }
  if (!any)
    fail<ValueError>(name(), "no gradient for any of {} variables: the loss does not depend on them", variables.size());
  build(variables);
  for (const Variable& variable : variables) {
    State::Tracked& entry = *state.find(variable);
    if (entry.last_call == state.calls) fail<ValueError>(name(), "variable \"{}\" was given twice", variable.name());
    entry.last_call = state.calls;
  }

  NodePhaseScope phase(Phase::update);
  const int64_t collected = options.gradient_accumulation_steps.value_or(1);
  const Tensor updates_done = collected > 1 ? floor_div(state.iterations, collected) : Tensor(state.iterations.read());
  const Tensor enabled = collected > 1 ? equal(mod(state.iterations + 1, collected), 0) : Tensor();

  struct Part {  // of one dtype, group and decay: updated together
    DType dtype;
    size_t group;
    bool decays;
    std::vector<Update> updates;
  };
  std::vector<Part> parts;
  Tensor squares;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    State::Tracked& entry = *state.find(variables[i]);
    Tensor gradient = gradients[i];
    if (options.loss_scale_factor) gradient = gradient / *options.loss_scale_factor;
    if (collected > 1) {
      const Tensor total = entry.accumulator + gradient;
      entry.accumulator.assign(where(enabled, zeros_like(total), total));
      gradient = total / static_cast<double>(collected);
    }
    if (options.clipnorm) gradient = gradient * norm_scale(sum_of_squares(gradient), *options.clipnorm);
    if (options.clipvalue) gradient = clip(gradient, -*options.clipvalue, *options.clipvalue);
    if (options.global_clipnorm) {
      const Tensor own = cast(sum_of_squares(gradient), DType::float64);
      squares = squares.defined() ? squares + own : own;
    }
    auto part = parts.begin();
    while (part != parts.end() &&
           (part->dtype != gradient.dtype() || part->group != entry.group || part->decays != entry.decays))
      ++part;
    if (part == parts.end()) part = parts.insert(part, {gradient.dtype(), entry.group, entry.decays, {}});
    part->updates.push_back({entry.variable, gradient, {}});
    for (const auto& [name, slot] : entry.slots) part->updates.back().slots.push_back(slot);
  }
  Shared shared{.learning_rate = {}, .step = updates_done, .gradient_scale = {}, .enabled = enabled};
  if (squares.defined()) shared.gradient_scale = norm_scale(squares, *options.global_clipnorm);
  begin_update(shared);
  for (const Part& part : parts) {
    const State::Group& group = state.groups[part.group];
    shared.learning_rate = state.learning_rate(group);
    shared.weight_decay = part.decays ? group.weight_decay.value_or(0) : 0;
    update_all(part.updates, shared);
  }
  if (options.use_ema) update_averages(updates_done);
  state.iterations.assign_add(constant(1, DType::int64));
  end_step();
}

void Optimizer::update_averages(const Tensor& updates_done) {
  const OptimizerOptions& options = state_->options;
  const Tensor first = equal(updates_done, 0);
  for (const State::Tracked& entry : state_->tracked) {
    const Variable &variable = entry.variable, &average = entry.average;
    const Tensor keep = where(first, constant(0, variable.dtype()), constant(options.ema_momentum, variable.dtype()));
    average.assign(keep * average + (1 - keep) * variable);
    if (options.ema_overwrite_frequency)
      variable.assign(where(equal(mod(updates_done + 1, *options.ema_overwrite_frequency), 0), average, variable));
  }
}

void Optimizer::update_all(const std::vector<Update>& updates, const Shared& shared) {
  State& state = *state_;
  for (const Update& update : updates) {
    const Variable& variable = update.variable;
    const DType dtype = variable.dtype();
    const Tensor rate = cast(shared.learning_rate, dtype);
    state.before = {{variable, variable.read()}};
    for (const Variable& kept : update.slots) state.before.emplace_back(kept, kept.read());
    if (shared.weight_decay != 0) variable.assign(variable - variable * (rate * shared.weight_decay));
    update_one(shared.gradient_scale.defined() ? update.gradient * cast(shared.gradient_scale, dtype) : update.gradient,
               variable, rate);
    if (shared.enabled.defined())
      for (const auto& [changed, old] : state.before) changed.assign(where(shared.enabled, changed, old));
    state.before.clear();
  }
}

void Optimizer::update_one(const Tensor&, const Variable&, const Tensor&) {
  fail<StateError>(name(), "this optimizer does not say how to update a variable: override update_one()");
}
void Optimizer::begin_update(const Shared&) {}

Tensor Optimizer::minimize(const std::function<Tensor()>& loss, const Parameters& variables) {
  GradientTape tape;
  const Tensor value = loss();
  apply_gradients(tape.gradient(value, variables), variables);
  return value;
}

void Optimizer::step() {
  if (state_->tracked.empty())
    fail<StateError>(name(), "has no parameters; give them to the constructor, build() or add_param_group()");
  std::vector<Tensor> gradients;
  Parameters variables;
  for (const State::Tracked& entry : state_->tracked)
    if (Tensor gradient = entry.variable.grad(); gradient.defined()) {
      gradients.push_back(std::move(gradient));
      variables.push_back(entry.variable);
    }
  if (!variables.empty()) apply_gradients(gradients, variables);
}

void Optimizer::zero_grad() const {
  for (const State::Tracked& entry : state_->tracked) entry.variable.zero_grad();
}

double Optimizer::learning_rate(size_t group) const {
  if (group >= param_groups()) fail<IndexError>(name(), "has {} groups, not one of index {}", param_groups(), group);
  return state_->learning_rate(state_->groups[group]).item();
}

void Optimizer::set_learning_rate(double value, size_t group) {
  if (group >= param_groups()) fail<IndexError>(name(), "has {} groups, not one of index {}", param_groups(), group);
  optim::require_not_negative(name(), "learning_rate", value);
  const State::Group& chosen = state_->groups[group];
  if (chosen.schedule)
    fail<StateError>(
        name(), "the learning rate follows a schedule and can't be set to {}; construct the optimizer with a number",
        value);
  chosen.rate.assign(scalar(value, DType::float64));
}

size_t Optimizer::param_groups() const { return state_->groups.size(); }
const Variable& Optimizer::iterations() const { return state_->iterations; }
const std::string& Optimizer::name() const { return state_->options.name; }
const OptimizerOptions& Optimizer::options() const { return state_->options; }

std::vector<Variable> Optimizer::variables() const {
  std::vector<Variable> all = {state_->iterations};
  for (const State::Group& group : state_->groups)
    if (group.rate.defined()) all.push_back(group.rate);
  for (const auto& [name, variable] : state_->globals) all.push_back(variable);
  for (const State::Tracked& entry : state_->tracked) {
    for (const auto& [name, slot] : entry.slots) all.push_back(slot);
    for (const Variable& extra : {entry.accumulator, entry.average})
      if (extra.defined()) all.push_back(extra);
  }
  return all;
}

void Optimizer::exclude_from_weight_decay(const Parameters& variables, const std::vector<std::string>& names) {
  if (state_->calls > 0)
    fail<StateError>(name(), "variables can be excluded from weight decay before the first update only");
  for (const Variable& variable : variables) state_->undecayed.push_back(variable.state()->variable);
  state_->undecayed_names.insert(state_->undecayed_names.end(), names.begin(), names.end());
  for (State::Tracked& entry : state_->tracked) entry.decays = state_->decays(entry.variable);
}

void Optimizer::finalize_variable_values(const Parameters& variables) {
  if (!state_->options.use_ema) return;
  for (const Variable& variable : variables) {
    const State::Tracked* entry = state_->find(variable);
    if (!entry) fail<ValueError>(name(), "variable \"{}\" was never given to this optimizer", variable.name());
    variable.assign(entry->average.read());
  }
  end_step();
}

Variable Optimizer::slot(const Variable& variable, const std::string& slot_name, double initial) const {
  State::Tracked* entry = state_->find(variable);
  if (!entry)
    fail<ValueError>(name(), "variable \"{}\" has no state here; build() the optimizer with it", variable.name());
  const size_t known = entry->slots.size();
  Variable kept = state_->slot_of(*entry, slot_name, initial);
  if (entry->slots.size() > known) state_->before.emplace_back(kept, kept.read());
  return kept;
}

Variable Optimizer::global_slot(const std::string& slot_name, double initial) const {
  for (const auto& [known, variable] : state_->globals)
    if (known == slot_name) return variable;
  state_->globals.emplace_back(slot_name, filled_variable({DType::float64, {}}, initial, slot_name));
  return state_->globals.back().second;
}

}  // namespace isochron
