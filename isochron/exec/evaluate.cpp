#include "isochron/exec/evaluate.h"

#include <atomic>
#include <cstring>

#include "isochron/exec/function.h"
#include "isochron/exec/plan_cache.h"
#include "isochron/exec/variables.h"
#include "isochron/graph/gradient.h"
#include "isochron/graph/tape.h"
#include "isochron/ops/elementwise.h"
#include "isochron/tensor/deferred.h"
#include "isochron/tensor/engine.h"

namespace isochron {
namespace {

// A differentiable chain longer than this is most likely an accumulation; its history is dropped.
std::atomic<int64_t> history_limit{100'000};

const Op& kAssign = register_op({.name = "assign",
                                 .doc = "A new value of a variable.",
                                 .arity = 1,
                                 .rule = [](const RuleContext& c) -> Specs { return {c[0]}; },
                                 .no_gradient = "gradients end at variables",
                                 .elementwise = true});

void drop_history(Node& node) {
  node.inputs.clear();
  node.depth = node.history = 0;
  if (node.differentiable && !node.variable) {
    node.released = true;
    node.differentiable = false;
  }
}

void note_growth(const Node& node) {
  PlanCache::global().note_growth(fmt::format(
      "{}:{}: a chain of {} ops ending in {} grows from step to step; read its value (item()) or detach() it each step",
      node.where.file_name(), node.where.line(), node.depth, node.op ? node.op->name : "a leaf"));
}

struct Evaluation {
  std::vector<std::shared_ptr<TensorState>> states;  // pending handles, parallel to the first roots
  Walk walk;
  bool release = false;

  // Bytes of constants that are inputs of the plan.
  std::vector<double> lifted_bytes;
  std::vector<void*> inputs, outputs;
  std::vector<Storage> results;
  std::vector<std::pair<const TensorState*, Storage>> updated;

  void bind(const CachedPlan& cached);
  void publish();
};

// The old bytes of variable `id` that an update writes over: in place when nobody else can look at them.
Storage bytes_to_update(Node& leaf, bool release) {
  Storage& bytes = leaf.results[0];
  if (release && leaf.handles.load(std::memory_order_relaxed) == 0 && bytes.unique()) {
    Storage taken = std::move(bytes);
    leaf.results.clear();
    leaf.role = LeafRole::stale;
    return taken;
  }
  Storage copy = Storage::allocate(bytes.bytes());
  std::memcpy(copy.data(), bytes.data(), static_cast<size_t>(leaf.outputs[0].bytes()));
  return copy;
}

void Evaluation::bind(const CachedPlan& cached) {
  const Graph& graph = cached.plan->graph();
  for (const Value& leaf : walk.leaves) {
    const Storage& bytes = leaf.node->results[static_cast<size_t>(leaf.index)];
    fill_deferred(bytes);
    inputs.push_back(bytes.data());
  }
  lifted_bytes.reserve(walk.constants.size());
  for (size_t i = 0; i < cached.lifted.size(); ++i) {
    if (!cached.lifted[i]) continue;
    lifted_bytes.push_back(0);
    const Node& node = *walk.constants[i];
    visit_dtype(node.outputs[0].dtype, [&]<class T>(Type<T>) {
      const double value = node.attributes.get<double>("value");
      T stored{};
      if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
        stored = T(static_cast<float>(value));
      else
        stored = static_cast<T>(value);
      std::memcpy(&lifted_bytes.back(), &stored, sizeof stored);
    });
    inputs.push_back(&lifted_bytes.back());
  }
  results.resize(walk.roots.size());
  outputs.assign(walk.roots.size(), nullptr);
  for (const GraphUpdate& update : graph.updates) {
    const auto in = static_cast<size_t>(update.input), out = static_cast<size_t>(update.output);
    results[out] = bytes_to_update(*walk.leaves[in].node, release);
    inputs[in] = results[out].data();
  }
  for (size_t i = 0; i < walk.roots.size(); ++i) {
    if (results[i]) continue;
    results[i] = Storage::allocate(static_cast<size_t>(walk.roots[i].spec().bytes()));
    outputs[i] = results[i].data();
  }
}

void Evaluation::publish() {
  for (size_t i = 0; i < walk.roots.size(); ++i) {
    Node& node = *walk.roots[i].node;
    if (node.results.empty()) node.results.resize(node.outputs.size());
    node.results[static_cast<size_t>(walk.roots[i].index)] = std::move(results[i]);
  }
  for (const auto& state : states) {
    state->unlink();
    if (state->variable) become_leaf(*state);
  }
  for (const Value& root : walk.roots) {
    Node& node = *root.node;
    if (!node.computed() || node.role != LeafRole::none) continue;
    const bool too_long = node.differentiable && !release && node.history > history_limit;
    if (too_long) {
      note_growth(node);
      node.lost = true;
    }
    if (!node.differentiable || release || too_long) drop_history(node);
  }
}

// Computes the wanted values and everything pending on this thread.
void evaluate(std::span<const Value> wanted, bool release) {
  std::lock_guard lock(graph_mutex());
  Evaluation evaluation;
  evaluation.release = release && !GradientTape::recording();
  std::vector<Value> roots;
  const auto add_root = [&](const Value& value) {
    if (value.node->role == LeafRole::argument)
      fail<StateError>("evaluate",
                       "an argument of a function that is being traced has no value yet; compute with it in the "
                       "graph, or call the code outside iso::function");
    if (value.node->computed() || value.node->role != LeafRole::none) return;
    for (int i = 0; i < static_cast<int>(value.node->outputs.size()); ++i) {
      const Value output{value.node, i};
      if (value.node->mark != UINT64_MAX) roots.push_back(output);
    }
    value.node->mark = UINT64_MAX;  // each node once; the walk marks it anew
  };
  if (tracing_on_this_thread()) {
    for (const Value& value : wanted) add_root(value);
  } else {
    evaluation.states = pending_tensors_of_this_thread();
    for (const auto& state : evaluation.states) add_root(state->value);
    for (const Value& value : wanted) add_root(value);
  }
  nodes_since_evaluation() = 0;
  if (roots.empty()) return;
  try {
    evaluation.walk = walk_from(std::move(roots));
    CachedPlan& cached = PlanCache::global().plan_for(evaluation.walk);
    evaluation.bind(cached);
    cached.plan->run(evaluation.inputs, evaluation.outputs);
  } catch (...) {
    // Variables go back to what they were; their old bytes are as they were, for faults stop a plan before it updates.
    for (const GraphUpdate& update : evaluation.walk.updates) {
      Node& leaf = *evaluation.walk.leaves[static_cast<size_t>(update.input)].node;
      if (leaf.role != LeafRole::stale) continue;
      leaf.role = LeafRole::variable;
      leaf.results.push_back(std::move(evaluation.results[static_cast<size_t>(update.output)]));
    }
    for (const auto& state : evaluation.states)
      if (state->variable && state->settled.node) state->set(std::exchange(state->settled, {}));
    throw;
  }
  evaluation.publish();
}

Value assigned_value(const std::shared_ptr<TensorState>& variable, const Value& value) {
  note_assignment(variable);
  Value assigned = apply(kAssign, {Tensor(value)}).value();
  assigned.node->variable = variable->variable;
  assigned.node->set_differentiable(variable->trainable);
  Node& before = *variable->value.node;
  if (before.computed())
    variable->settled = variable->value;
  else
    before.superseded = before.variable == variable->variable;
  return assigned;
}

void backward(const Value& target, const Value* seed) {
  check_history(*target.node);
  if (!target.node->differentiable)
    fail<StateError>("backward",
                     "the tensor depends on nothing that requires a gradient; was it detached, made under a "
                     "NoGradGuard, is every parameter frozen, or has step() run since, which drops histories? "
                     "set_requires_grad() makes a tensor a "
                     "parameter");
  for (auto& [id, gradient] : variable_gradients(Tensor(target), seed ? Tensor(*seed) : Tensor())) {
    const std::shared_ptr<TensorState> state = find_variable(id);
    if (!state || !state->trainable) continue;
    if (gradient.dtype() != state->value.spec().dtype)
      fail<StateError>("backward", "parameter \"{}\" has become {} since this was computed; compute it again",
                       state->name, state->value.spec().dtype);
    NodePhaseScope phase(Phase::backward);
    state->gradient = (state->gradient ? Tensor(state->gradient) + gradient : gradient).state();
  }
}

void overgrown() {
  const std::vector<std::shared_ptr<TensorState>> pending = pending_tensors_of_this_thread();
  const TensorState* deepest = nullptr;
  for (const auto& state : pending)
    if (!deepest || state->value.node->depth > deepest->value.node->depth) deepest = state.get();
  if (deepest) {
    std::lock_guard lock(graph_mutex());
    note_growth(*deepest->value.node);
  }
  evaluate({}, false);
}

const bool kHooked = [] {
  EngineHooks& hooks = engine_hooks();
  hooks.evaluate = [](std::span<const Value> values) { evaluate(values, false); };
  hooks.assigned_value = assigned_value;
  hooks.backward = backward;
  hooks.overgrown = overgrown;
  return true;
}();

}  // namespace

void eval(std::span<const Tensor> tensors) {
  std::vector<Value> values;
  for (const Tensor& tensor : tensors) values.push_back(tensor.value());
  evaluate(values, false);
}
void eval(std::initializer_list<Tensor> tensors) { eval(std::span(tensors.begin(), tensors.size())); }

void end_step() {
  if (!tracing_on_this_thread()) evaluate({}, true);
}

void set_history_limit(int64_t ops) {
  if (ops < 1) fail<ValueError>("set_history_limit", "needs at least one op, got {}", ops);
  history_limit = ops;
}

void set_pending_limit(int64_t nodes) {
  if (nodes < 1) fail<ValueError>("set_pending_limit", "needs at least one node, got {}", nodes);
  pending_limit() = nodes;
}

namespace debug {
namespace {
Graph pending_graph(const Tensor& tensor) {
  std::lock_guard lock(graph_mutex());
  return graph_from(walk_from({tensor.value()}, true));
}
}  // namespace
std::string graph(const Tensor& tensor) { return to_string(pending_graph(tensor)); }
std::string graphviz(const Tensor& tensor) { return to_graphviz(pending_graph(tensor)); }
std::string optimized_graph(const Tensor& tensor) {
  return to_string(Executable::compile(pending_graph(tensor))->graph());
}
std::string plan(const Tensor& tensor) { return Executable::compile(pending_graph(tensor))->to_string(); }
}  // namespace debug

}  // namespace isochron
