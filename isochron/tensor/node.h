// A value that is known or still to be computed: the graph under every Tensor.
//
// A Node is one application of an op: inputs, constant arguments, the specs of its outputs, and, once
// computed, their bytes. A node with no op inputs and a result is a leaf. Nodes never change after they
// were made, except that results arrive and inputs are dropped when nobody can ask for them any more.
#pragma once

#include <atomic>
#include <cstdint>
#include <source_location>
#include <utility>

#include "isochron/base/pooled.h"
#include "isochron/base/small_vector.h"
#include "isochron/tensor/attributes.h"
#include "isochron/tensor/dtype.h"
#include "isochron/tensor/shape.h"
#include "isochron/tensor/storage.h"
#include "isochron/timeline/phase.h"

namespace isochron {

struct Op;  // ops/op.h
struct Node;

struct TensorSpec {
  DType dtype = DType::float32;
  Shape shape;
  int64_t bytes() const { return shape.elements() * static_cast<int64_t>(size_of(dtype)); }
  bool operator==(const TensorSpec&) const = default;
};

// "float32(32, 784)".
std::string to_string(const TensorSpec& spec);

// Counted reference to a node. The last reference frees the node, and chains of any length without recursion.
class NodePtr {
 public:
  NodePtr() = default;
  explicit NodePtr(Node* node);
  NodePtr(const NodePtr& other);
  NodePtr(NodePtr&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  NodePtr& operator=(NodePtr other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~NodePtr() {
    if (node_) release();
  }
  Node* get() const { return node_; }
  Node* operator->() const { return node_; }
  Node& operator*() const { return *node_; }
  explicit operator bool() const { return node_ != nullptr; }
  bool operator==(const NodePtr& other) const = default;

 private:
  void release();
  Node* node_ = nullptr;
};

// One output of a node.
struct Value {
  NodePtr node;
  int index = 0;
  const TensorSpec& spec() const;
  bool operator==(const Value&) const = default;
};

// What a leaf stands for in a graph's signature.
enum class LeafRole : uint8_t {
  none,      // not a leaf
  data,      // bytes bound when the plan runs
  variable,  // likewise, and the plan may update them in place
  argument,  // of a function being traced: no bytes yet
  stale,     // a variable's old bytes, overwritten by a later update
};

struct Node : Pooled<Node> {
  const Op* op = nullptr;
  SmallVector<Value, 3> inputs;
  SmallVector<TensorSpec, 1> outputs;
  SmallVector<Storage, 1> results;  // empty until computed
  Attributes attributes;
  std::source_location where;  // the user's line that asked for it
  std::atomic<int32_t> references{0};
  std::atomic<int32_t> handles{0};  // Tensors that hold this node
  int32_t depth = 0;                // longest chain of ops below; bounds growing graphs
  int32_t history = 0;              // longest chain that gradients go back, down to variables
  LeafRole role = LeafRole::none;
  Phase phase = Phase::forward;  // what running it counts as
  bool differentiable = false;   // a variable or watched tensor lies below
  bool released = false;         // computed, and its history was dropped
  bool lost = false;             // so was a history too long to be kept, of this or of what it was made from
  uint64_t variable = 0;         // id of the variable this is a value of; 0: none
  bool superseded = false;       // the variable was assigned once more before this value was computed
  // Scratch of graph walks: valid while `mark` is the walk's own number.
  uint64_t mark = 0;
  int32_t position = 0;

  bool computed() const { return !results.empty(); }
  // Gradients begin or end here, whatever lies below.
  void set_differentiable(bool on) {
    differentiable = on;
    lost = false;
    history = 0;
  }
};

inline NodePtr::NodePtr(Node* node) : node_(node) {
  if (node_) node_->references.fetch_add(1, std::memory_order_relaxed);
}
inline NodePtr::NodePtr(const NodePtr& other) : NodePtr(other.node_) {}
inline const TensorSpec& Value::spec() const { return node->outputs[static_cast<size_t>(index)]; }

// A leaf with these bytes.
Value make_leaf(TensorSpec spec, Storage bytes, LeafRole role = LeafRole::data);

// The phase that nodes made on this thread count as, and how to set it for a scope.
Phase current_node_phase();
class NodePhaseScope {
 public:
  explicit NodePhaseScope(Phase phase);
  ~NodePhaseScope();
  NodePhaseScope(const NodePhaseScope&) = delete;

 private:
  Phase before_;
};

}  // namespace isochron
