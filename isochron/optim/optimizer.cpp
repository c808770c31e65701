#include "isochron/optim/optimizer.h"

#include <algorithm>

#include "isochron/base/prefault.h"
#include "isochron/exec/evaluate.h"
#include "isochron/graph/tape.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/optim/checks.h"
#include "isochron/optim/state.h"
#include "isochron/timeline/timeline.h"

namespace isochron {

Optimizer::Optimizer(OptimizerOptions options) {
  if (options.name.empty()) options.name = "optimizer";
  state_ = std::make_shared<State>(std::move(options));
}
Optimizer::~Optimizer() = default;

void Optimizer::build(const Parameters& variables) {
  if (state_->knows(variables)) return;
  ScopedSpan span(Phase::init, "optimizer state");
  // Read before they are written, pages of zeros would cost two faults each in the first update.
  constexpr int64_t kMost = int64_t{64} << 20;
  if (const int64_t bytes = state_bytes(variables); bytes <= kMost) reserve_pages(static_cast<size_t>(bytes));
  for (const Variable& variable : variables) state_->track(variable, 0, slots(variable));
}

int64_t Optimizer::state_bytes(const Parameters& variables) const {
  const int64_t copies = state_->options.gradient_accumulation_steps.has_value() + int{state_->options.use_ema};
  int64_t bytes = 0;
  for (const Variable& variable : variables) {
    if (state_->find(variable)) continue;
    bytes += copies * variable.spec().bytes();
    for (const Slot& slot : slots(variable)) bytes += State::spec_of(slot, variable).bytes();
  }
  return bytes;
}

void Optimizer::add_param_group(ParamGroup group) {
  for (const Variable& variable : group.params)
    if (state_->find(variable)) fail<ValueError>(name(), "parameter \"{}\" is in a group already", variable.name());
  state_->add_group(group.lr, group.weight_decay ? group.weight_decay : state_->options.weight_decay);
  for (const Variable& variable : group.params) state_->track(variable, state_->groups.size() - 1, slots(variable));
}

void Optimizer::apply_gradients(const std::vector<Tensor>& gradients, const Parameters& variables) {
  check_gradients(gradients, variables);
  build(variables);
  ++state_->calls;
  for (const Variable& variable : variables) {
    State::Tracked& entry = *state_->find(variable);
    if (entry.last_call == state_->calls) fail<ValueError>(name(), "variable \"{}\" was given twice", variable.name());
    entry.last_call = state_->calls;
    state_->follow(entry);
  }
  try {
    record_update(gradients, variables);
  } catch (...) {
    state_->forget_pending();
    throw;
  }
  end_step();
}

void Optimizer::check_gradients(const std::vector<Tensor>& gradients, const Parameters& variables) const {
  if (gradients.size() != variables.size())
    fail<ValueError>(name(), "needs one gradient per variable, got {} gradients and {} variables", gradients.size(),
                     variables.size());
  bool any = false;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    any = true;
    if (gradients[i].spec() != variables[i].spec())
      fail<ShapeError>(name(), "the gradient of \"{}\" must be {} like the variable, got {}", variables[i].name(),
                       to_string(variables[i].spec()), to_string(gradients[i].spec()));
  }
  if (!any)
    fail<ValueError>(name(), "no gradient for any of {} variables: the loss does not depend on them", variables.size());
}

void Optimizer::record_update(const std::vector<Tensor>& gradients, const Parameters& variables) {
  State& state = *state_;
  const OptimizerOptions& options = state.options;
  NodePhaseScope phase(Phase::update);
  Shared shared{.learning_rate = {}, .step = updates_done(), .gradient_scale = {}, .enabled = {}};
  if (options.gradient_accumulation_steps)
    shared.enabled = equal(mod(state.iterations + 1, *options.gradient_accumulation_steps), 0);

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
    const Tensor gradient = state.processed(gradients[i], entry, shared.enabled);
    if (options.global_clipnorm) {
      const Tensor own = cast(sum_of_squares(gradient), DType::float64);
      squares = squares.defined() ? squares + own : own;
    }
    auto part = std::find_if(parts.begin(), parts.end(), [&](const Part& known) {
      return known.dtype == gradient.dtype() && known.group == entry.group && known.decays == entry.decays;
    });
    if (part == parts.end()) part = parts.insert(part, {gradient.dtype(), entry.group, entry.decays, {}});
    part->updates.push_back({entry.variable, gradient, {}});
    for (const auto& [name, slot] : entry.slots) part->updates.back().slots.push_back(slot);
  }
  if (squares.defined()) shared.gradient_scale = norm_scale(squares, *options.global_clipnorm);
  begin_update(shared);
  for (const Part& part : parts) {
    const State::Group& group = state.groups[part.group];
    shared.learning_rate = state.learning_rate(group);
    shared.decays = part.decays;
    shared.weight_decay = part.decays ? group.weight_decay.value_or(0) : 0;
    update_all(part.updates, shared);
  }
  if (options.use_ema) update_averages(shared.step);
  state.iterations.assign_add(constant(1, DType::int64));
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
    state.before = {{variable, Tensor(variable.value())}};
    for (const Variable& kept : update.slots) state.before.emplace_back(kept, Tensor(kept.value()));
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
std::vector<Optimizer::Slot> Optimizer::slots(const Variable&) const { return {}; }

Tensor Optimizer::updates_done() const {
  const std::optional<int64_t>& collected = state_->options.gradient_accumulation_steps;
  return collected ? floor_div(state_->iterations, *collected) : Tensor(state_->iterations.value());
}

Tensor Optimizer::minimize(const std::function<Tensor()>& loss, const Parameters& variables) {
  GradientTape tape;
  const Tensor value = loss();
  apply_gradients(tape.gradient(scale_loss(value), variables), variables);
  return value;
}

Tensor Optimizer::scale_loss(const Tensor& loss) const {
  return state_->options.loss_scale_factor ? loss * *state_->options.loss_scale_factor : loss;
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

Parameters Optimizer::parameters() const {
  Parameters all;
  for (const State::Tracked& entry : state_->tracked) all.push_back(entry.variable);
  return all;
}

Tensor Optimizer::step(const std::function<Tensor()>& closure) {
  const Tensor loss = closure();
  step();
  return loss;
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
  if (!tracing_on_this_thread()) chosen.rate.eval();
}

double Optimizer::base_learning_rate(size_t group) {
  const double now = learning_rate(group);
  std::optional<double>& base = state_->groups[group].base_rate;
  if (!base) base = now;
  return *base;
}

size_t Optimizer::param_groups() const { return state_->groups.size(); }
const Variable& Optimizer::iterations() const { return state_->iterations; }
const std::string& Optimizer::name() const { return state_->options.name; }
const OptimizerOptions& Optimizer::options() const { return state_->options; }

std::vector<Variable> Optimizer::variables() const { return state_->variables(); }

void Optimizer::exclude_from_weight_decay(const Parameters& variables, const std::vector<std::string>& names) {
  if (state_->calls > 0)
    fail<StateError>(name(), "variables can be excluded from weight decay before the first update only");
  state_->undecayed.insert(state_->undecayed.end(), variables.begin(), variables.end());
  state_->undecayed_names.insert(state_->undecayed_names.end(), names.begin(), names.end());
  for (State::Tracked& entry : state_->tracked) entry.decays = state_->decays(entry.variable);
}

void Optimizer::finalize_variable_values(const Parameters& variables) {
  if (!state_->options.use_ema) return;
  for (const Variable& variable : variables) {
    const State::Tracked* entry = state_->find(variable);
    if (!entry) fail<ValueError>(name(), "variable \"{}\" was never given to this optimizer", variable.name());
    variable.assign(entry->average);
  }
  end_step();
}

Variable Optimizer::slot(const Variable& variable, const std::string& slot_name, double initial) const {
  State::Tracked* entry = state_->find(variable);
  if (!entry)
    fail<ValueError>(name(), "variable \"{}\" has no state here; build() the optimizer with it", variable.name());
  const size_t known = entry->slots.size();
  Variable kept = state_->slot_of(*entry, {slot_name, initial});
  if (entry->slots.size() > known) state_->before.emplace_back(kept, Tensor(kept.value()));
  return kept;
}

Variable Optimizer::global_slot(const std::string& slot_name, double initial, const TensorSpec& spec) const {
  for (const auto& [known, variable] : state_->globals)
    if (known == slot_name) return variable;
  state_->globals.emplace_back(slot_name, filled_variable(spec, initial, slot_name));
  return state_->globals.back().second;
}

}  // namespace isochron
