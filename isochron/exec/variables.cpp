#include "isochron/exec/variables.h"

#include <atomic>
#include <cstring>

#include "isochron/exec/evaluate.h"
#include "isochron/graph/walk.h"
#include "isochron/ops/elementwise.h"
#include "isochron/tensor/deferred.h"

namespace isochron {

namespace {
std::atomic<int64_t> conversions{0};

Value variable_leaf(const TensorState& variable, const TensorSpec& spec, Storage bytes) {
  Value leaf = make_leaf(spec, std::move(bytes), LeafRole::variable);
  leaf.node->variable = variable.variable;
  leaf.node->set_differentiable(variable.trainable);
  return leaf;
}
}  // namespace

void become_leaf(TensorState& variable) {
  const Value& value = variable.value;
  variable.set(variable_leaf(variable, value.spec(), value.node->results[static_cast<size_t>(value.index)]));
  variable.settled = {};
}

void settle(const std::shared_ptr<TensorState>& variable) {
  if (variable->value.node->role == LeafRole::variable) return;
  Tensor(variable).eval();
  if (variable->value.node->role != LeafRole::variable) become_leaf(*variable);
}

void* writable_bytes(TensorState& variable) {
  Node& leaf = *variable.value.node;
  ISO_CHECK(leaf.role == LeafRole::variable && leaf.computed());
  if (leaf.handles.load(std::memory_order_relaxed) > 1 || !leaf.results[0].unique()) {
    fill_deferred(leaf.results[0]);
    Storage copy = Storage::allocate(leaf.results[0].bytes());
    std::memcpy(copy.data(), leaf.results[0].data(), static_cast<size_t>(leaf.outputs[0].bytes()));
    variable.set(variable_leaf(variable, leaf.outputs[0], std::move(copy)));
  }
  const Storage& bytes = variable.value.node->results[0];
  fill_deferred(bytes);
  return bytes.data();
}

void bytes_overwritten(TensorState& variable) {
  Node& leaf = *variable.value.node;
  if (leaf.references.load(std::memory_order_relaxed) == 1) return;
  Value fresh = variable_leaf(variable, leaf.outputs[0], std::move(leaf.results[0]));
  leaf.results.clear();
  leaf.role = LeafRole::stale;
  variable.set(std::move(fresh));
}

void convert(const Variable& variable, DType dtype) {
  if (variable.dtype() == dtype) return;
  const std::shared_ptr<TensorState>& state = variable.state();
  std::lock_guard lock(graph_mutex());
  eval({});  // what is pending may assign it
  settle(state);
  const auto converted = [&](const Tensor& old) { return cast(stop_gradient(old), dtype).eval(); };
  const Tensor fresh = converted(variable);
  if (state->gradient) state->gradient = converted(Tensor(state->gradient)).state();
  const NodePtr old = state->value.node;
  state->set(variable_leaf(*state, fresh.spec(), fresh.value().node->results[0]));
  ++conversions;
  // Whoever holds the old value keeps it; nothing else can be computed from it.
  old->role = LeafRole::data;
  if (old->handles.load(std::memory_order_relaxed) > 0) return;
  old->results.clear();
  old->role = LeafRole::stale;
}

int64_t conversions_of_variables() { return conversions; }

void overwrite(const Variable& variable, const Tensor& value) {
  ISO_CHECK(variable.spec() == value.spec());
  value.eval();
  settle(variable.state());
  std::memcpy(writable_bytes(*variable.state()), value.raw_data(), static_cast<size_t>(variable.spec().bytes()));
  bytes_overwritten(*variable.state());
}

}  // namespace isochron
