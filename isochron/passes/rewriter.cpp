#include "isochron/passes/rewriter.h"

namespace isochron {

ValueId Rewriter::add(const Op& op, std::initializer_list<ValueId> in, Attributes attributes, ValueId like) {
  return graph.add(op, in, std::move(attributes), graph[like]);
}

void Rewriter::replace(ValueId from, ValueId to) {
  const auto node = static_cast<size_t>(from.node);
  if (replaced_.size() <= node) replaced_.resize(graph.nodes.size());
  SmallVector<ValueId, 1>& outputs = replaced_[node];
  while (outputs.size() < graph.nodes[node].outputs.size())
    outputs.push_back({from.node, static_cast<int32_t>(outputs.size())});
  outputs[static_cast<size_t>(from.output)] = to;
}

ValueId Rewriter::now(ValueId v) const {
  while (static_cast<size_t>(v.node) < replaced_.size()) {
    const SmallVector<ValueId, 1>& outputs = replaced_[static_cast<size_t>(v.node)];
    if (outputs.empty() || outputs[static_cast<size_t>(v.output)] == v) break;
    v = outputs[static_cast<size_t>(v.output)];
  }
  return v;
}

void Rewriter::refresh(GraphNode& node) const {
  for (ValueId& in : node.inputs) in = now(in);
}

void Rewriter::finish() {
  if (!edited && replaced_.empty() && graph.nodes.size() == count_) return;
  if (!replaced_.empty())
    for (GraphNode& node : graph.nodes) refresh(node);
  for (ValueId& out : graph.outputs) out = now(out);
  graph.topological_sort();
}

void rewrite(Graph& graph, RewriteRule rule) {
  Rewriter rewriter(graph);
  const auto count = static_cast<int32_t>(graph.nodes.size());
  for (int32_t i = 0; i < count; ++i) {
    GraphNode& node = graph.nodes[static_cast<size_t>(i)];
    rewriter.refresh(node);
    if (!node.op || node.outputs.size() != 1) continue;
    ValueId at{i, 0};
    while (const std::optional<ValueId> better = rule(rewriter, at)) {
      at = *better;
      if (at.node < count) break;  // visited already
    }
    if (at != ValueId{i, 0}) rewriter.replace({i, 0}, at);
  }
  rewriter.finish();
}

}  // namespace isochron
