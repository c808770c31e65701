#include "isochron/exec/variables.h"

#include <cstring>

#include "isochron/tensor/deferred.h"

namespace isochron {

void* writable_bytes(TensorState& variable) {
  Node& leaf = *variable.value.node;
  ISO_CHECK(leaf.role == LeafRole::variable && leaf.computed());
  if (leaf.handles.load(std::memory_order_relaxed) > 1 || !leaf.results[0].unique()) {
    fill_deferred(leaf.results[0]);
    Storage copy = Storage::allocate(leaf.results[0].bytes());
    std::memcpy(copy.data(), leaf.results[0].data(), static_cast<size_t>(leaf.outputs[0].bytes()));
    Value fresh = make_leaf(leaf.outputs[0], std::move(copy), LeafRole::variable);
    fresh.node->variable = variable.variable;
    fresh.node->differentiable = variable.trainable;
    variable.set(std::move(fresh));
  }
  const Storage& bytes = variable.value.node->results[0];
  fill_deferred(bytes);
  return bytes.data();
}

void bytes_overwritten(TensorState& variable) {
  Node& leaf = *variable.value.node;
  if (leaf.references.load(std::memory_order_relaxed) == 1) return;
  Value fresh = make_leaf(leaf.outputs[0], std::move(leaf.results[0]), LeafRole::variable);
  leaf.results.clear();
  leaf.role = LeafRole::stale;
  fresh.node->variable = variable.variable;
  fresh.node->differentiable = variable.trainable;
  variable.set(std::move(fresh));
}

void overwrite(const Variable& variable, const Tensor& value) {
  ISO_CHECK(variable.spec() == value.spec());
  value.eval();
  variable.eval();
  std::memcpy(writable_bytes(*variable.state()), value.raw_data(), static_cast<size_t>(variable.spec().bytes()));
  bytes_overwritten(*variable.state());
}

}  // namespace isochron
