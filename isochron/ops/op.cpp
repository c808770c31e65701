#include "isochron/ops/op.h"

#include <deque>
#include <map>

#include "isochron/ops/no_grad.h"
#include "isochron/tensor/engine.h"

namespace isochron {
namespace {

struct Registry {
  std::deque<Op> ops;
  std::map<std::string_view, const Op*> by_name;
  std::deque<Composite> composites;
  static Registry& global() {
    static Registry registry;
    return registry;
  }
};

NodePtr make_node(const Op& op, std::span<const Tensor> inputs, Attributes attributes, std::source_location where) {
  if (nodes_since_evaluation() > pending_limit() && !tracing_on_this_thread() && !TakingGradients::active())
    engine_hooks().overgrown();
  SmallVector<TensorSpec, 4> specs;
  for (const Tensor& input : inputs) {
    if (!input.defined()) fail<StateError>(op.name, "input {} is an undefined tensor", specs.size());
    specs.push_back(input.spec());
  }
  NodePtr node(new Node);
  node->outputs = infer(op, specs, attributes);
  node->op = &op;
  node->attributes = std::move(attributes);
  node->where = where;
  node->phase = current_node_phase();
  for (const Tensor& input : inputs) {
    const Value& value = input.value();
    node->inputs.push_back(value);
    node->depth = std::max(node->depth, value.node->depth + 1);
    node->lost |= value.node->lost;
    if (!value.node->differentiable) continue;
    node->differentiable = true;
    node->history = std::max(node->history, value.node->history + 1);
  }
  if (NoGradGuard::active()) node->set_differentiable(false);
  ++nodes_since_evaluation();
  return node;
}

}  // namespace

const Op& register_op(Op op) {
  Registry& registry = Registry::global();
  ISO_CHECK(op.gradient || op.no_gradient);
  registry.ops.push_back(std::move(op));
  const Op& stored = registry.ops.back();
  const bool fresh = registry.by_name.emplace(stored.name, &stored).second;
  ISO_CHECK(fresh);
  return stored;
}

const Op* find_op(std::string_view name) {
  const auto& by_name = Registry::global().by_name;
  const auto it = by_name.find(name);
  return it == by_name.end() ? nullptr : it->second;
}

const Op& op_named(std::string_view name) {
  const Op* op = find_op(name);
  if (!op) throw InternalError("an op that exists", __FILE__, __LINE__, std::string(name));
  return *op;
}

std::vector<const Op*> all_ops() {
  std::vector<const Op*> ops;
  for (const auto& [name, op] : Registry::global().by_name) ops.push_back(op);
  return ops;
}

bool register_composites(std::initializer_list<Composite> composites) {
  for (const Composite& composite : composites) Registry::global().composites.push_back(composite);
  return true;
}

std::vector<const Composite*> all_composites() {
  std::vector<const Composite*> composites;
  for (const Composite& composite : Registry::global().composites) composites.push_back(&composite);
  return composites;
}

Specs infer(const Op& op, std::span<const TensorSpec> inputs, const Attributes& attributes) {
  ISO_CHECK(op.arity < 0 || static_cast<size_t>(op.arity) == inputs.size());
  return op.rule({op.name, inputs, attributes});
}

Cost cost_of(const Op& op, std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs,
             const Attributes& attributes) {
  if (op.cost) return op.cost({op.name, inputs, attributes}, outputs);
  Cost cost;
  for (const TensorSpec& input : inputs) cost.bytes += static_cast<double>(input.bytes());
  for (const TensorSpec& output : outputs) {
    cost.bytes += static_cast<double>(output.bytes());
    cost.flops += static_cast<double>(output.shape.elements());
  }
  return cost;
}

namespace {
thread_local int no_grad_guards = 0;
thread_local int gradients_taken = 0;
}  // namespace
TakingGradients::TakingGradients() { ++gradients_taken; }
TakingGradients::~TakingGradients() { --gradients_taken; }
bool TakingGradients::active() { return gradients_taken > 0; }
NoGradGuard::NoGradGuard() { ++no_grad_guards; }
NoGradGuard::~NoGradGuard() { --no_grad_guards; }
bool NoGradGuard::active() { return no_grad_guards > 0; }

bool& tracing_on_this_thread() {
  thread_local bool tracing = false;
  return tracing;
}

Tensor apply(const Op& op, std::initializer_list<Tensor> inputs, Attributes attributes, std::source_location where) {
  return Tensor(Value{make_node(op, {inputs.begin(), inputs.size()}, std::move(attributes), where), 0});
}

Tensor apply(const Op& op, const std::vector<Tensor>& inputs, Attributes attributes, std::source_location where) {
  return Tensor(Value{make_node(op, inputs, std::move(attributes), where), 0});
}

std::vector<Tensor> apply_many(const Op& op, const std::vector<Tensor>& inputs, Attributes attributes,
                               std::source_location where) {
  const NodePtr node = make_node(op, inputs, std::move(attributes), where);
  std::vector<Tensor> outputs;
  for (int i = 0; i < static_cast<int>(node->outputs.size()); ++i) outputs.emplace_back(Value{node, i});
  return outputs;
}

}  // namespace isochron
