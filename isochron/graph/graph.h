// A graph taken out of the pending nodes, ready for passes: plain indices, free to be rewritten.
//
//   Graph g = …;
//   fmt::print("{}", to_string(g));      // %3 = matmul(%0, %1) transpose_a=false … : float32(32, 10)
//
// Nodes stand in an order in which every input comes before its use (after topological_sort()).
#pragma once

#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "isochron/ops/op.h"

namespace isochron {

struct ValueId {
  int32_t node = -1;
  int32_t output = 0;
  bool operator==(const ValueId&) const = default;
};

struct Graph;

struct GraphNode {
  const Op* op = nullptr;  // null: an input of the graph
  SmallVector<ValueId, 3> inputs;
  Specs outputs;
  Attributes attributes;
  Phase phase = Phase::forward;
  std::source_location where;
  LeafRole role = LeafRole::none;     // of an input
  std::shared_ptr<const Graph> body;  // of a fused node: what it does to one element
};

// Output `output` of the graph becomes the new content of input `input`, in place.
struct GraphUpdate {
  int32_t output = 0;
  int32_t input = 0;
};

struct Graph {
  std::vector<GraphNode> nodes;
  std::vector<int32_t> inputs;  // nodes, in the order in which they are bound
  std::vector<ValueId> outputs;
  std::vector<GraphUpdate> updates;

  const TensorSpec& spec(ValueId v) const {
    return nodes[static_cast<size_t>(v.node)].outputs[static_cast<size_t>(v.output)];
  }
  GraphNode& operator[](ValueId v) { return nodes[static_cast<size_t>(v.node)]; }
  const GraphNode& operator[](ValueId v) const { return nodes[static_cast<size_t>(v.node)]; }
  std::vector<TensorSpec> input_specs(const GraphNode& node) const;

  ValueId add_input(TensorSpec spec, LeafRole role = LeafRole::data);
  // Appends a node and works out its output specs. Phase and line are taken from `like`.
  ValueId add(const Op& op, std::initializer_list<ValueId> in, Attributes attributes, const GraphNode& like);
  // Every use of `from`, outputs included, becomes a use of `to`.
  void replace(ValueId from, ValueId to);
  // The nodes become those of `order`, in that order. Nothing that stays may read one that goes.
  void arrange(std::vector<int32_t> order);
  // Puts nodes in topological order (stable) and drops those no output needs; inputs stay.
  void topological_sort();
  // How often each value is used, outputs included, indexed by node and output.
  std::vector<SmallVector<int32_t, 1>> use_counts() const;
};

// The input that output `output` of an updating node takes the place of. Such nodes take some shared inputs
// (attribute "shared" says how many), then groups of equal size, one per parameter.
int updated_input(const GraphNode& node, size_t output);

// Readable text, one line a node; and the same for Graphviz.
std::string to_string(const Graph& graph);
std::string to_graphviz(const Graph& graph);

// Checks order, references, specs against the ops' rules, and updates; InternalError naming the node.
void verify(const Graph& graph);

}  // namespace isochron
