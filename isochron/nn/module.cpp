#include "isochron/nn/module.h"

#include <algorithm>
#include <set>
#include <typeinfo>

#include "isochron/base/demangled.h"
#include "isochron/exec/variables.h"
#include "isochron/ops/op.h"

namespace isochron::nn {

// What the copies of a module share.
struct Module::State {
  struct Named {
    std::string name;
    Variable variable;
    bool buffer;
  };
  struct Child {
    std::string name;
    std::shared_ptr<State> state;
    std::shared_ptr<Module> module;  // a handle of it
  };
  std::vector<Named> variables;
  std::vector<Child> children;
  std::string type, description;
  bool training = true;

  // f(path, variable, buffer) for this module's variables and those below, each once.
  template <class F>
  void each_variable(const std::string& prefix, std::set<const TensorState*>& seen, F& f) const {
    for (const Named& own : variables)
      if (seen.insert(own.variable.state().get()).second) f(prefix + own.name, own.variable, own.buffer);
    for (const Child& child : children) child.state->each_variable(prefix + child.name + ".", seen, f);
  }
  template <class F>
  void each_variable(F f) const {
    std::set<const TensorState*> seen;
    each_variable("", seen, f);
  }
  template <class F>
  void each_module(const F& f) {
    f(*this);
    for (const Child& child : children) child.state->each_module(f);
  }
  bool holds(const State* other) {
    bool found = false;
    each_module([&](const State& state) { found |= &state == other; });
    return found;
  }
  void check_name(const char* what, const std::string& name) const {
    if (name.empty() || name.find('.') != std::string::npos)
      fail<ValueError>(what, "a name must not be empty or have a dot, got \"{}\"", name);
    const auto same = [&](const auto& entry) { return entry.name == name; };
    if (std::any_of(variables.begin(), variables.end(), same) || std::any_of(children.begin(), children.end(), same))
      fail<ValueError>(what, "\"{}\" is registered already", name);
  }
  void print(std::string& out, const std::string& indent) const {
    out += type + "(" + description;
    for (const Child& child : children) {
      out += "\n" + indent + "  (" + child.name + "): ";
      child.state->print(out, indent + "  ");
    }
    out += children.empty() ? ")" : "\n" + indent + ")";
  }
};

Module::Module() : state_(std::make_shared<State>()) {}

Tensor Module::forward(Tensor) {
  fail<StateError>(class_name_of(typeid(*this)), "has no forward(Tensor): define `Tensor forward(Tensor x) override`");
}

std::vector<std::pair<std::string, Variable>> Module::named_parameters() const {
  std::vector<std::pair<std::string, Variable>> out;
  state_->each_variable([&](std::string path, const Variable& variable, bool buffer) {
    if (!buffer) out.emplace_back(std::move(path), variable);
  });
  return out;
}
std::vector<std::pair<std::string, Variable>> Module::named_buffers() const {
  std::vector<std::pair<std::string, Variable>> out;
  state_->each_variable([&](std::string path, const Variable& variable, bool buffer) {
    if (buffer) out.emplace_back(std::move(path), variable);
  });
  return out;
}
std::vector<Variable> Module::parameters() const {
  std::vector<Variable> out;
  for (auto& [path, variable] : named_parameters()) out.push_back(variable);
  return out;
}

int64_t Module::count_params() const {
  int64_t count = 0;
  for (const Variable& variable : parameters()) count += variable.elements();
  return count;
}

void Module::zero_grad() const {
  for (const Variable& variable : parameters()) variable.zero_grad();
}
void Module::set_requires_grad(bool on) {
  for (Variable& variable : parameters()) variable.set_requires_grad(on);
}

std::vector<std::pair<std::string, std::shared_ptr<Module>>> Module::named_children() const {
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> out;
  for (const State::Child& child : state_->children) out.emplace_back(child.name, child.module);
  return out;
}
std::vector<std::shared_ptr<Module>> Module::children() const {
  std::vector<std::shared_ptr<Module>> out;
  for (const State::Child& child : state_->children) out.push_back(child.module);
  return out;
}
std::vector<std::pair<std::string, std::shared_ptr<Module>>> Module::named_modules() const {
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> out;
  std::set<const State*> seen;
  const auto walk = [&](const auto& self, const State& state, const std::string& prefix) -> void {
    for (const State::Child& child : state.children) {
      if (!seen.insert(child.state.get()).second) continue;
      out.emplace_back(prefix + child.name, child.module);
      self(self, *child.state, prefix + child.name + ".");
    }
  };
  walk(walk, *state_, "");
  return out;
}
void Module::apply(const std::function<void(Module&)>& f) {
  for (const State::Child& child : state_->children) child.module->apply(f);
  f(*this);
}

std::vector<NamedWeight> Module::named_weights() const {
  std::vector<NamedWeight> out;
  for (const auto& [name, variable] : named_parameters()) out.push_back({name, variable});
  for (const auto& [name, variable] : named_buffers()) out.push_back({name, variable});
  return out;
}
std::vector<std::pair<std::string, Tensor>> Module::state_dict() const {
  std::vector<std::pair<std::string, Tensor>> out;
  for (const auto& [name, variable] : named_weights()) out.emplace_back(name, variable.read().detach());
  return out;
}
IncompatibleKeys Module::load_state_dict(const std::vector<std::pair<std::string, Tensor>>& state,
                                         LoadStateDictOptions options) {
  for (const auto& [name, tensor] : state)
    if (!tensor.defined()) fail<ValueError>("load_state_dict", "\"{}\" is an undefined tensor", name);
  WeightMatch match = match_weights(named_weights(), state, "the state has");
  IncompatibleKeys keys{match.missing, match.extra};
  if (!options.strict) {
    match.missing.clear();
    match.extra.clear();
  }
  if (const std::string report = match.report(); !report.empty())
    fail<ValueError>("load_state_dict", "the state does not fit {}; nothing was loaded{}", class_name_of(typeid(*this)),
                     report);
  match.take();
  return keys;
}

Module& Module::to(DType dtype) {
  if (!is_floating(dtype))
    fail<DTypeError>("to", "modules compute in floating dtypes, got {}; see Tensor::to() for data", dtype);
  if (tracing_on_this_thread())
    fail<StateError>("to", "a module can't change its dtype within a traced function; call to() before it");
  state_->each_variable([&](const std::string&, const Variable& variable, bool) {
    if (is_floating(variable.dtype())) convert(variable, dtype);
  });
  return *this;
}

void Module::train(bool on) {
  state_->each_module([on](State& state) { state.training = on; });
}
bool Module::is_training() const { return state_->training; }

std::string Module::summary() const {
  state_->type = class_name_of(typeid(*this));
  std::string text;
  state_->print(text, "");
  int64_t trainable = 0;
  for (const Variable& variable : parameters())
    if (variable.trainable()) trainable += variable.elements();
  return text + fmt::format("\nparameters: {}, trainable: {}\n", count_params(), trainable);
}

void Module::describe(std::string text) { state_->description = std::move(text); }

void Module::add_module(const std::string& name, const Module& module, std::shared_ptr<Module> handle) {
  state_->check_name("register_module", name);
  if (module.state_->holds(state_.get()))
    fail<ValueError>("register_module", "\"{}\" is or holds the module it is registered in", name);
  module.state_->type = class_name_of(typeid(module));
  state_->children.push_back({name, module.state_, std::move(handle)});
}

void Module::add_variable(const char* what, const std::string& name, const Variable& variable, bool buffer) {
  state_->check_name(what, name);
  state_->variables.push_back({name, variable, buffer});
}

Variable Module::register_parameter(const std::string& name, const Tensor& value) {
  if (!is_floating(value.dtype()))
    fail<DTypeError>("register_parameter",
                     "only floating tensors can be trained, got {} for \"{}\"; see "
                     "register_buffer()",
                     value.dtype(), name);
  const bool is_variable = value.state()->variable != 0;
  const Variable variable = is_variable ? Variable::of(value) : Variable(value, {.name = name});
  add_variable("register_parameter", name, variable, false);
  return variable;
}

Variable Module::register_buffer(const std::string& name, const Tensor& value) {
  const Variable variable(value, {.name = name, .trainable = false});
  add_variable("register_buffer", name, variable, true);
  return variable;
}

}  // namespace isochron::nn
