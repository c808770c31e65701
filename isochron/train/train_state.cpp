#include "isochron/train/train_state.h"

#include <fmt/core.h>

#include <unordered_set>

#include "isochron/base/joined.h"
#include "isochron/checkpoint/weight_names.h"
#include "isochron/exec/variables.h"
#include "isochron/ops/random_key.h"

namespace isochron {

NamedVariables weight_variables(const Model& model) {
  NamedVariables out;
  for (const NamedWeight& weight : weights_by_structure(model))
    out.emplace_back("weights/" + weight.name, weight.variable);
  return out;
}

NamedVariables state_variables(const Model& model, const TrainingState& state) {
  NamedVariables out = weight_variables(model);
  std::unordered_set<uint64_t> known;
  // "dense_7/kernel", a name that is unique in the process, and what the structure calls it.
  std::unordered_map<std::string, std::string> structural;
  for (const auto& [name, variable] : out) {
    known.insert(variable.state()->variable);
    structural[variable.name()] = name.substr(name.find('/') + 1);
  }
  const auto stable = [&](const std::string& name) {
    const size_t slash = name.rfind('/');
    if (slash == std::string::npos) return name;
    const auto weight = structural.find(name.substr(0, slash));
    return (weight == structural.end() ? "" : weight->second + "/") + name.substr(slash + 1);
  };
  const auto add = [&](const char* group, const std::vector<Variable>& variables) {
    size_t i = 0;
    for (const Variable& variable : variables)
      if (known.insert(variable.state()->variable).second)
        out.emplace_back(fmt::format("{}/{}/{}", group, i++, stable(variable.name())), variable);
  };
  add("optimizer", model.optimizer().variables());
  add("metrics", state.metric_variables());
  add("other", state.updated_variables());
  return out;
}

void put_random_state(StateDict& state) {
  state.put("random/seed", static_cast<int64_t>(get_seed()));
  state.put("random/counter", static_cast<int64_t>(random_counter()));
}

void restore_random_state(const StateDict& state) {
  set_seed(static_cast<uint64_t>(state.integer("random/seed")));
  set_random_counter(static_cast<uint64_t>(state.integer("random/counter")));
}

void restore_variables(const Checkpoint& checkpoint, const NamedVariables& variables) {
  constexpr size_t kShown = 8;
  std::vector<std::string> wrong;
  std::unordered_set<std::string> known;
  for (const auto& [name, variable] : variables) {
    known.insert(name);
    if (!checkpoint.state.has(name)) {
      wrong.push_back(fmt::format("{} is not in it", name));
    } else if (const TensorSpec& saved = checkpoint.state.tensor(name).spec(); saved != variable.spec()) {
      wrong.push_back(fmt::format("{} is {}, saved as {}", name, to_string(variable.spec()), to_string(saved)));
    }
  }
  for (const auto& [name, tensor] : checkpoint.state.tensors())
    for (const char* group : {"weights/", "optimizer/", "metrics/", "other/"})
      if (name.starts_with(group) && !known.contains(name))
        wrong.push_back(fmt::format("{} is not in this model", name));
  if (!wrong.empty()) {
    const size_t more = wrong.size() > kShown ? wrong.size() - kShown : 0;
    wrong.resize(wrong.size() - more);
    fail<FileError>("resume",
                    "{} was saved by another model, optimizer or choice of metrics; nothing was changed:\n  {}{}\n"
                    "Train the same model, or take its weights alone with load_weights()",
                    checkpoint.info.path, joined(wrong, "\n  "), more ? fmt::format("\n  and {} more", more) : "");
  }
  for (const auto& [name, variable] : variables) overwrite(variable, checkpoint.state.tensor(name));
}

}  // namespace isochron
