#include "isochron/exec/function.h"

#include <cstring>

#include "isochron/base/clock.h"
#include "isochron/base/flat_map.h"
#include "isochron/exec/evaluate.h"
#include "isochron/exec/first_bad_op.h"
#include "isochron/exec/trial.h"
#include "isochron/exec/variables.h"
#include "isochron/graph/walk.h"
#include "isochron/ops/random_key.h"
#include "isochron/tensor/deferred.h"
#include "isochron/tensor/engine.h"

namespace isochron {
namespace {

// The trace going on on this thread: which variables it has assigned, and what they were before.
struct Trace {
  struct Assigned {
    std::shared_ptr<TensorState> state;
    Value before;
  };
  std::vector<Assigned> assigned;
  FlatMap<const TensorState*, size_t> known;  // places in `assigned`
  Trace* outer;

  Trace() : outer(std::exchange(current(), this)) { tracing_on_this_thread() = true; }
  ~Trace() {
    current() = outer;
    tracing_on_this_thread() = outer != nullptr;
    for (Assigned& entry : assigned) {
      entry.state->set(entry.before);
      entry.state->settled = {};
    }
  }
  // What the variable was when the trace began.
  const Value& before(const TensorState& variable) const {
    const size_t* place = known.find(&variable);
    return place ? assigned[*place].before : variable.value;
  }
  static Trace*& current() {
    thread_local Trace* trace = nullptr;
    return trace;
  }
};

std::byte* bytes_of(const Value& value) {
  const Storage& bytes = value.node->results[static_cast<size_t>(value.index)];
  fill_deferred(bytes);
  return bytes.data();
}

// The variable whose value this is, unless it is an old one that somebody kept.
std::shared_ptr<TensorState> variable_with(const Value& leaf) {
  if (leaf.node->role != LeafRole::variable) return nullptr;
  std::shared_ptr<TensorState> variable = find_variable(leaf.node->variable);
  const bool current = variable && (variable->settled.node ? variable->settled : variable->value).node == leaf.node;
  return current ? variable : nullptr;
}

// What is pending on this thread may be the value of a variable a plan reads, or read one that it updates in place.
// Histories stay: a prediction between a forward and a backward pass is no end of a step.
void compute_pending() {
  if (nodes_since_evaluation()) eval({});
}

}  // namespace

void note_assignment(const std::shared_ptr<TensorState>& variable) {
  Trace* trace = Trace::current();
  if (!trace || !trace->known.try_emplace(variable.get(), trace->assigned.size()).second) return;
  trace->assigned.push_back({variable, variable->value});
}

namespace {
thread_local int open_trial_scopes = 0;
}
struct TrialScope::State {
  Trace trace;
};
TrialScope::TrialScope() : state_(std::make_unique<State>()) { ++open_trial_scopes; }
TrialScope::~TrialScope() { --open_trial_scopes; }
bool TrialScope::active() { return open_trial_scopes > 0; }

// What one run of the body did.
struct TracedPlan::Recording {
  Walk walk;  // keeps the nodes
  Graph graph;
  std::vector<Input> inputs;
  std::vector<TensorSpec> results;
  int64_t random_keys = 0;
  // Variables the code reads that another thread has assigned and left pending. What was recorded is of no use then.
  std::vector<std::shared_ptr<TensorState>> unsettled;
};

TracedPlan::Recording TracedPlan::record(std::span<const TensorSpec> arguments, const TracedBody& body) {
  Recording recorded;
  std::vector<Tensor> placeholders;
  FlatMap<const Node*, int32_t> argument_of;
  for (const TensorSpec& spec : arguments) {
    placeholders.emplace_back(make_leaf(spec, {}, LeafRole::argument));
    argument_of.try_emplace(placeholders.back().value().node.get(), static_cast<int32_t>(argument_of.size()));
  }
  const Tensor key(make_leaf({DType::int64, {2}}, {}, LeafRole::argument));

  Trace trace;
  TracedRandomKeys keys(key);
  const TensorList results = body(placeholders);
  recorded.random_keys = keys.taken();

  std::vector<Value> roots;
  for (const Tensor& result : results) {
    roots.push_back(result.value());
    recorded.results.push_back(result.spec());
  }
  for (const Trace::Assigned& entry : trace.assigned) roots.push_back(entry.state->value);
  recorded.walk = walk_from(std::move(roots), true);
  for (const Node* node : recorded.walk.nodes) {
    std::shared_ptr<TensorState> variable = node->variable ? find_variable(node->variable) : nullptr;
    if (variable && trace.before(*variable).node.get() == node) recorded.unsettled.push_back(std::move(variable));
  }
  if (!recorded.unsettled.empty()) return recorded;
  Graph& graph = recorded.graph;
  graph = graph_from(recorded.walk);

  FlatMap<uint64_t, int32_t> input_of_variable;
  for (const Value& leaf : recorded.walk.leaves) {
    Input input{Input::captured, 0, nullptr, false, leaf};
    if (const int32_t* argument = argument_of.find(leaf.node.get())) {
      input = {Input::argument, *argument, nullptr, false, {}};
    } else if (leaf.node == key.value().node) {
      input = {Input::random_key, 0, nullptr, false, {}};
    } else if (std::shared_ptr<TensorState> variable = variable_with(leaf)) {
      input = {Input::variable, 0, std::move(variable), false, {}};
      input_of_variable[leaf.node->variable] = static_cast<int32_t>(recorded.inputs.size());
    } else if (!leaf.node->computed()) {
      fail<StateError>("function", "the traced code uses an argument of another function that is being traced");
    }
    recorded.inputs.push_back(std::move(input));
  }
  for (size_t i = 0; i < trace.assigned.size(); ++i) {
    const std::shared_ptr<TensorState>& state = trace.assigned[i].state;
    const auto [input, fresh] =
        input_of_variable.try_emplace(state->variable, static_cast<int32_t>(recorded.inputs.size()));
    if (fresh) {
      graph.add_input(state->value.spec(), LeafRole::variable);
      recorded.inputs.push_back({Input::variable, 0, state, false, {}});
    }
    recorded.inputs[static_cast<size_t>(*input)].updated = true;
    graph.updates.push_back({static_cast<int32_t>(results.size() + i), *input});
  }
  for (Input& input : recorded.inputs)
    if (input.kind == Input::variable) input.dtype = trace.before(*input.variable_state).spec().dtype;
  return recorded;
}

std::unique_ptr<TracedPlan> TracedPlan::trace(std::span<const TensorSpec> arguments, const TracedBody& body) {
  std::lock_guard lock(graph_mutex());
  // Pending values the body may capture are computed first: they are constants to it.
  compute_pending();
  const int64_t start = monotonic_ns();
  std::unique_ptr<TracedPlan> traced(new TracedPlan);
  traced->arguments_.assign(arguments.begin(), arguments.end());
  Recording recorded = record(arguments, body);
  while (!recorded.unsettled.empty()) {
    for (const std::shared_ptr<TensorState>& variable : recorded.unsettled) settle(variable);
    recorded = record(arguments, body);
  }
  traced->conversions_ = conversions_of_variables();
  traced->random_keys_ = recorded.random_keys;
  traced->inputs_ = std::move(recorded.inputs);
  traced->results_ = std::move(recorded.results);
  traced->trace_seconds_ = seconds_between(start, monotonic_ns());
  traced->input_pointers_.resize(traced->inputs_.size());
  traced->output_pointers_.resize(recorded.graph.outputs.size());
  recorded.walk = {};  // what compiling allocates takes the place of the recorded nodes
  traced->plan_ = Executable::compile(std::move(recorded.graph));
  return traced;
}

std::vector<Variable> TracedPlan::updated_variables() const {
  std::vector<Variable> out;
  for (const Input& input : inputs_)
    if (input.updated) out.push_back(Variable::of(Tensor(input.variable_state)));
  return out;
}

const TensorState* TracedPlan::converted_variable() {
  const int64_t now = conversions_of_variables();
  if (conversions_ == now) return nullptr;
  for (const Input& input : inputs_)
    if (input.kind == Input::variable && input.variable_state->value.spec().dtype != input.dtype)
      return input.variable_state.get();
  conversions_ = now;
  return nullptr;
}

void* TracedPlan::bytes_of_input(const Input& input, std::span<const void* const> arguments) {
  switch (input.kind) {
    case Input::argument:
      return const_cast<void*>(arguments[static_cast<size_t>(input.index)]);
    case Input::random_key:
      return random_key_;
    case Input::captured:
      return bytes_of(input.value);
    case Input::variable:
      return bytes_of(input.variable_state->value);
  }
  return nullptr;
}

void* ScratchVariables::bytes_of(const TensorState& settled) {
  Storage& copy = copies_[settled.variable];
  if (!copy) {
    const Storage& bytes = settled.value.node->results[0];
    fill_deferred(bytes);
    copy = Storage::allocate(bytes.bytes());
    std::memcpy(copy.data(), bytes.data(), bytes.bytes());
  }
  return copy.data();
}

void TracedPlan::bind(std::vector<Input>& inputs, std::span<const void* const> arguments, std::vector<void*>& pointers,
                      ScratchVariables* scratch) {
  for (const Input& input : inputs)
    if (input.kind == Input::variable) settle(input.variable_state);
  for (size_t i = 0; i < inputs.size(); ++i)
    pointers[i] = !inputs[i].updated ? bytes_of_input(inputs[i], arguments)
                  : scratch          ? scratch->bytes_of(*inputs[i].variable_state)
                                     : writable_bytes(*inputs[i].variable_state);
}

void TracedPlan::run(std::span<const void* const> arguments, std::span<void* const> results, bool check_numbers,
                     ScratchVariables* scratch) {
  std::lock_guard lock(graph_mutex());
  if (const TensorState* variable = converted_variable())
    fail<StateError>("run", "variable \"{}\" has become {} since this step was compiled; compile() the model again",
                     variable->name, variable->value.spec().dtype);
  compute_pending();
  if (random_keys_) {
    random_key_[0] = static_cast<int64_t>(get_seed());
    random_key_[1] = static_cast<int64_t>(take_random_streams(static_cast<uint64_t>(random_keys_)));
  }
  bind(inputs_, arguments, input_pointers_, scratch);
  for (size_t i = 0; i < results.size(); ++i) output_pointers_[i] = results[i];
  plan_->run(input_pointers_, output_pointers_, check_numbers);
  if (scratch) return;
  for (const Input& input : inputs_)
    if (input.updated) bytes_overwritten(*input.variable_state);
}

std::optional<NumberOrigin> TracedPlan::explain(std::span<const void* const> arguments, const TracedBody& body) {
  std::lock_guard lock(graph_mutex());
  end_step();
  NodeLabels labels;
  Recording recorded = record(arguments_, body);
  for (Input& input : recorded.inputs) input.updated = false;  // nothing will be
  std::vector<void*> pointers(recorded.inputs.size());
  bind(recorded.inputs, arguments, pointers, nullptr);
  std::vector<std::string> names(recorded.walk.leaves.size());
  for (const Node* node : recorded.walk.nodes) names.push_back(labels.of(node));
  const std::optional<BadOrigin> found = find_bad_origin(recorded.graph, pointers, names);
  if (!found) return std::nullopt;
  if (found->input < 0) return NumberOrigin{-1, found->text};
  const Input& input = recorded.inputs[static_cast<size_t>(found->input)];
  if (input.kind == Input::argument) return NumberOrigin{input.index, found->text};
  if (input.kind == Input::variable)
    return NumberOrigin{
        -1, fmt::format("variable \"{}\" held {} before this step; unless it did from the start, an earlier step had a "
                        "finite loss and a gradient that was not (sqrt, norm, log or a division near 0 have such)",
                        input.variable_state->name, found->text)};
  return NumberOrigin{-1, fmt::format("a tensor the code uses held {}", found->text)};
}

Storage held_bytes(const Tensor& argument) {
  const Value& value = argument.value();
  return value.node->results[static_cast<size_t>(value.index)];
}

TracedPlan& TracedFunction::plan_for(std::span<const Tensor> arguments) {
  plans_.remove_if([](const std::unique_ptr<TracedPlan>& plan) { return plan->converted_variable(); });
  for (auto it = plans_.begin(); it != plans_.end(); ++it) {
    const std::vector<TensorSpec>& specs = (*it)->arguments();
    bool same = true;
    for (size_t i = 0; i < specs.size() && same; ++i) same = specs[i] == arguments[i].spec();
    if (!same) continue;
    plans_.splice(plans_.begin(), plans_, it);
    return *plans_.front();
  }
  std::vector<TensorSpec> specs;
  std::string signature;
  for (const Tensor& argument : arguments) {
    specs.push_back(argument.spec());
    signature += (signature.empty() ? "" : ", ") + to_string(argument.spec());
  }
  plans_.push_front(TracedPlan::trace(specs, body_));
  if (plans_.size() > kKept) plans_.pop_back();
  ++report_.traces;
  report_.trace_seconds += plans_.front()->trace_seconds();
  report_.compile_seconds += plans_.front()->executable().compile_seconds();
  if (report_.signatures.size() < kKept) report_.signatures.push_back(std::move(signature));
  return *plans_.front();
}

TensorList TracedFunction::call(std::span<const Tensor> arguments) {
  // Inside another trace the code is simply part of that one.
  if (tracing_on_this_thread()) {
    // An argument is the value that a variable has now, here as elsewhere.
    std::vector<Tensor> values;
    for (const Tensor& argument : arguments) values.emplace_back(argument.value());
    return body_(values);
  }
  std::lock_guard lock(graph_mutex());
  ++report_.calls;
  for (const Tensor& argument : arguments) argument.eval();
  TracedPlan& plan = plan_for(arguments);
  SmallVector<const void*, 4> argument_pointers;
  SmallVector<Storage, 4> held;
  for (const Tensor& argument : arguments) {
    argument_pointers.push_back(argument.raw_data());
    held.push_back(held_bytes(argument));
  }
  SmallVector<void*, 3> result_pointers;
  SmallVector<Storage, 3> bytes;
  for (const TensorSpec& spec : plan.results()) {
    bytes.push_back(Storage::allocate(static_cast<size_t>(spec.bytes())));
    result_pointers.push_back(bytes.back().data());
  }
  plan.run(std::span<const void* const>(argument_pointers.data(), argument_pointers.size()),
           std::span<void* const>(result_pointers.data(), result_pointers.size()));
  TensorList results;
  for (size_t i = 0; i < bytes.size(); ++i)
    results.push_back(Tensor::from_storage(std::move(bytes[i]), plan.results()[i]));
  return results;
}

FunctionReport TracedFunction::report() const { return report_; }

}  // namespace isochron
