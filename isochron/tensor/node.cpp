#include "isochron/tensor/node.h"

#include <vector>

namespace isochron {
namespace {
thread_local Phase node_phase = Phase::forward;
}

std::string to_string(const TensorSpec& spec) { return fmt::format("{}{}", spec.dtype, spec.shape); }

void NodePtr::release() {
  if (node_->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  // Freeing a node releases its inputs; collecting them here keeps a chain of any length off the stack. The list is
  // no thread_local object: tensors in static storage are freed after those are gone.
  thread_local SmallVector<Node*, 16>* dying = nullptr;
  if (dying) {
    dying->push_back(node_);
    return;
  }
  SmallVector<Node*, 16> list{node_};
  dying = &list;
  while (!list.empty()) {
    Node* node = list.back();
    list.pop_back();
    delete node;
  }
  dying = nullptr;
}

Value make_leaf(TensorSpec spec, Storage bytes, LeafRole role) {
  if (spec.shape.is_partial()) fail<ShapeError>("tensor", "extents must be known, got shape {}", spec.shape);
  Value value{NodePtr(new Node), 0};
  value.node->role = role;
  value.node->outputs.push_back(spec);
  if (bytes) value.node->results.push_back(std::move(bytes));
  return value;
}

Phase current_node_phase() { return node_phase; }
NodePhaseScope::NodePhaseScope(Phase phase) : before_(std::exchange(node_phase, phase)) {}
NodePhaseScope::~NodePhaseScope() { node_phase = before_; }

}  // namespace isochron
