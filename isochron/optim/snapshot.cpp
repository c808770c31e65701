#include "isochron/exec/variables.h"
#include "isochron/optim/state.h"

namespace isochron {
namespace {

void take(const std::string& owner, const Variable& variable, const Tensor& value) {
  if (!value.defined() || value.spec() != variable.spec())
    fail<ValueError>(owner, "the state of \"{}\" must be {}, got {}", variable.name(), to_string(variable.spec()),
                     value.defined() ? to_string(value.spec()) : "nothing");
  overwrite(variable, value);
}

}  // namespace

OptimizerSnapshot Optimizer::snapshot() const {
  OptimizerSnapshot out{.iterations = state_->iterations};
  for (const State::Group& group : state_->groups)
    out.groups.push_back({group.rate, group.schedule, group.weight_decay});
  for (const State::Tracked& tracked : state_->tracked)
    out.entries.push_back({tracked.variable,
                           tracked.group,
                           tracked.decays,
                           {tracked.slots.begin(), tracked.slots.end()},
                           tracked.accumulator,
                           tracked.average});
  out.globals.assign(state_->globals.begin(), state_->globals.end());
  out.undecayed = state_->undecayed;
  out.undecayed_names = state_->undecayed_names;
  return out;
}

void Optimizer::restore(const OptimizerSnapshot& snapshot) {
  State& state = *state_;
  if (!state.tracked.empty())
    fail<StateError>(name(), "has state already: restore into a new optimizer of the same options");
  if (snapshot.groups.empty()) fail<ValueError>(name(), "the state has no group of parameters");
  take(name(), state.iterations, snapshot.iterations);
  state.groups.clear();
  for (const OptimizerSnapshot::Group& group : snapshot.groups) {
    state.add_group(group.schedule ? LearningRate(group.schedule) : LearningRate(0), group.weight_decay);
    if (!group.schedule) take(name(), state.groups.back().rate, group.rate);
  }
  state.undecayed = snapshot.undecayed;
  state.undecayed_names = snapshot.undecayed_names;
  for (const OptimizerSnapshot::Entry& entry : snapshot.entries) {
    if (entry.group >= state.groups.size())
      fail<ValueError>(name(), "there are {} groups of parameters, got number {}", state.groups.size(), entry.group);
    State::Tracked& tracked = state.track(entry.variable, entry.group, slots(entry.variable));
    tracked.decays = entry.decays;
    for (const auto& [slot, value] : entry.slots) take(name(), state.slot_of(tracked, {slot}), value);
    if (tracked.accumulator.defined()) take(name(), tracked.accumulator, entry.accumulator);
    if (tracked.average.defined()) take(name(), tracked.average, entry.average);
  }
  for (const auto& [slot, value] : snapshot.globals) {
    if (!value.defined()) fail<ValueError>(name(), "the state has no \"{}\"", slot);
    take(name(), global_slot(slot, 0, value.spec()), value);
  }
}

}  // namespace isochron
