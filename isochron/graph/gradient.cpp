#include "isochron/graph/gradient.h"

#include <unordered_set>

#include "isochron/base/flat_map.h"
#include "isochron/graph/walk.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/tensor/engine.h"

namespace isochron {
namespace {

// The differentiable nodes below the targets down to `ended`, inputs before uses.
std::vector<NodePtr> differentiable_below(std::span<const Tensor> targets, std::span<const Tensor> ends) {
  std::unordered_set<const Node*> ended;
  for (const Tensor& end : ends) ended.insert(end.value().node.get());
  std::vector<NodePtr> order;
  FlatMap<const Node*, bool> seen;
  std::vector<std::pair<NodePtr, size_t>> stack;
  const auto open = [&](const NodePtr& node) {
    if (node->differentiable && seen.try_emplace(node.get()).second) stack.emplace_back(node, 0);
  };
  for (const Tensor& target : targets) {
    open(target.value().node);
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      // A variable's value is where gradients end, however it came about.
      if (node->variable || next == node->inputs.size() || ended.contains(node.get())) {
        order.push_back(node);
        stack.pop_back();
        continue;
      }
      const NodePtr below = node->inputs[next++].node;
      open(below);
    }
  }
  return order;
}

using Slots = SmallVector<Tensor, 1>;

struct Adjoints {
  FlatMap<const Node*, Slots> of_node;
  std::vector<VariableGradient> of_variable;
  FlatMap<uint64_t, size_t> place_of_variable;

  void add(const Value& value, const Tensor& gradient) {
    Slots& slots = of_node[value.node.get()];
    if (slots.empty()) slots.resize(value.node->outputs.size());
    Tensor& slot = slots[static_cast<size_t>(value.index)];
    slot = slot.defined() ? slot + gradient : gradient;
  }
  Tensor* find(uint64_t variable) {
    const size_t* place = place_of_variable.find(variable);
    return place ? &of_variable[*place].gradient : nullptr;
  }
  void add_to_variable(uint64_t variable, const Tensor& gradient) {
    const auto [place, fresh] = place_of_variable.try_emplace(variable, of_variable.size());
    if (fresh)
      of_variable.push_back({variable, gradient});
    else
      of_variable[*place].gradient = of_variable[*place].gradient + gradient;
  }
};

void check_target(const Tensor& target) {
  check_history(*target.value().node);
  if (target.value().node->released)
    fail<StateError>("gradient",
                     "the history of this value was released by an optimizer step or an earlier gradient; "
                     "take gradients before the step, or use a persistent tape");
  if (!is_floating(target.dtype()))
    fail<DTypeError>("gradient", "only floating values have gradients, got {}", target.dtype());
}

Adjoints differentiate(std::span<const Tensor> targets, std::span<const Tensor> seeds,
                       std::span<const Tensor> ends = {}) {
  NodePhaseScope phase(Phase::backward);
  const TakingGradients nothing_is_computed;
  Adjoints adjoints;
  for (size_t i = 0; i < targets.size(); ++i) {
    check_target(targets[i]);
    adjoints.add(targets[i].value(), i < seeds.size() && seeds[i].defined() ? seeds[i] : ones_like(targets[i]));
  }
  const std::vector<NodePtr> order = differentiable_below(targets, ends);
  std::unordered_set<const Node*> ended;
  for (const Tensor& end : ends) ended.insert(end.value().node.get());
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const NodePtr& node = *it;
    const Slots* found = adjoints.of_node.find(node.get());
    if (!found) continue;
    if (node->variable) {
      adjoints.add_to_variable(node->variable, (*found)[0]);
      continue;
    }
    if (!node->op || node->inputs.empty() || ended.contains(node.get())) continue;
    if (!node->op->gradient)
      fail<ValueError>(node->op->name, "has no gradient: {}; put stop_gradient around it or leave it out of the loss",
                       node->op->no_gradient);
    const std::vector<Tensor> outputs(found->begin(), found->end());
    const Gradients input_gradients = node->op->gradient(GradientContext(node, outputs));
    ISO_CHECK(input_gradients.size() == node->inputs.size());
    for (size_t i = 0; i < input_gradients.size(); ++i) {
      if (!input_gradients[i].defined()) continue;
      check_history(*node->inputs[i].node);
      if (node->inputs[i].node->differentiable) adjoints.add(node->inputs[i], input_gradients[i]);
    }
  }
  return adjoints;
}

}  // namespace

void check_history(const Node& node) {
  if (!node.lost) return;
  const std::string where =
      node.where.line() ? fmt::format(" ({}:{})", node.where.file_name(), node.where.line()) : std::string();
  fail<StateError>("gradient",
                   "the history behind {}{} was too long to be kept; detach() what is carried from step to step, or "
                   "allow longer ones by set_history_limit()",
                   node.op ? node.op->name : "a value", where);
}

std::vector<Tensor> gradients(std::span<const Tensor> targets, std::span<const Tensor> seeds,
                              std::span<const Tensor> sources, bool end_at_sources) {
  Adjoints adjoints = differentiate(targets, seeds, end_at_sources ? sources : std::span<const Tensor>());
  std::vector<Tensor> result;
  for (const Tensor& source : sources) {
    const Value& value = source.value();
    if (source.state()->variable) {
      const Tensor* found = adjoints.find(source.state()->variable);
      result.push_back(found ? *found : Tensor());
      continue;
    }
    const Slots* found = adjoints.of_node.find(value.node.get());
    result.push_back(found ? (*found)[static_cast<size_t>(value.index)] : Tensor());
  }
  return result;
}

std::vector<VariableGradient> variable_gradients(const Tensor& target, const Tensor& seed) {
  return differentiate({&target, 1}, {&seed, 1}).of_variable;
}

}  // namespace isochron
