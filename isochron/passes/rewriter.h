// How a pass changes a graph in one walk: nodes are visited in order, a value may be said to equal another, and every
// later use goes to that other one.
//
//   rewrite(graph, [](Rewriter& r, ValueId v) -> std::optional<ValueId> {
//     const GraphNode& node = r.graph[v];
//     if (node.op == known_ops().stop_gradient) return node.inputs[0];
//     return std::nullopt;
//   });
//
// Linear in nodes. Nodes a rule adds are given to the rule again, so chains collapse in one walk.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "isochron/graph/graph.h"

namespace isochron {

class Rewriter {
 public:
  explicit Rewriter(Graph& g) : graph(g), count_(g.nodes.size()) {}
  Graph& graph;
  // To be set where a node's inputs were changed in place, which may leave others without a reader.
  bool edited = false;

  // Appends a node; phase and line are those of node `like`.
  ValueId add(const Op& op, std::initializer_list<ValueId> in, Attributes attributes, ValueId like);
  // Every use of `from` that is not yet visited becomes one of `to`.
  void replace(ValueId from, ValueId to);
  // What stands for this value now.
  ValueId now(ValueId v) const;
  // Points the node's inputs to what stands for them now.
  void refresh(GraphNode& node) const;
  // Points the graph's outputs likewise, sorts, and drops what is no longer needed. Most passes find nothing to do in
  // most graphs: this then costs nothing.
  void finish();

 private:
  size_t count_;                                   // of nodes, at first
  std::vector<SmallVector<ValueId, 1>> replaced_;  // by node and output; empty: itself
};

// The value that stands for output 0 of the node, which has one output; nullopt to keep it.
using RewriteRule = std::optional<ValueId> (*)(Rewriter& rewriter, ValueId value);
void rewrite(Graph& graph, RewriteRule rule);

}  // namespace isochron
