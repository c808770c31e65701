#include "isochron/tensor/node.h"

#include <vector>

namespace isochron {
namespace {
thread_local Phase node_phase = Phase::forward;
}

std::string to_string(const TensorSpec& spec) { return fmt::format("{}{}", spec.dtype, spec.shape); }

void NodePtr::release() {
  if (node_->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  // Freeing a node releases its inputs; collecting them here keeps a chain of any length off the stack.
  thread_local std::vector<Node*> dying;
  thread_local bool draining = false;
  dying.push_back(node_);
  if (draining) return;
  draining = true;
  while (!dying.empty()) {
    Node* node = dying.back();
    dying.pop_back();
    delete node;
  }
  draining = false;
}

Value make_leaf(TensorSpec spec, Storage bytes, LeafRole role) {
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
