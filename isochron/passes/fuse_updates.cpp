// Updates by the same method with the same settings become one node over all their parameters: one call, one barrier.
// Nodes are joined only when as many updates lie before them, so that none of them can depend on another.
#include <algorithm>

#include "isochron/passes/rewriter.h"
#include "isochron/passes/rewrites.h"

namespace isochron {
namespace {

struct UpdateGroup {
  int32_t depth;
  std::vector<int32_t> members;
};

size_t shared_inputs(const GraphNode& node) {
  return static_cast<size_t>(node.attributes.get_or<int64_t>("shared", 0));
}

bool alike(const Graph& graph, const GraphNode& a, const GraphNode& b) {
  const size_t shared = shared_inputs(a);
  return a.op == b.op && a.attributes == b.attributes && a.phase == b.phase &&
         graph.spec(a.inputs[shared]).dtype == graph.spec(b.inputs[shared]).dtype &&
         std::equal(a.inputs.begin(), a.inputs.begin() + shared, b.inputs.begin());
}

}  // namespace

void fuse_updates(Graph& graph) {
  const auto count = static_cast<int32_t>(graph.nodes.size());
  std::vector<int32_t> depth(graph.nodes.size(), 0);
  std::vector<UpdateGroup> groups;
  for (int32_t i = 0; i < count; ++i) {
    const GraphNode& node = graph.nodes[static_cast<size_t>(i)];
    int32_t& own = depth[static_cast<size_t>(i)];
    for (ValueId in : node.inputs) {
      const GraphNode& source = graph[in];
      own = std::max(own, depth[static_cast<size_t>(in.node)] + (source.op && !source.op->updates.empty() ? 1 : 0));
    }
    if (!node.op || node.op->updates.empty() || !node.attributes.find("shared")) continue;
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const UpdateGroup& group) {
      return group.depth == own && alike(graph, graph.nodes[static_cast<size_t>(group.members[0])], node);
    });
    if (found == groups.end())
      groups.push_back({own, {i}});
    else
      found->members.push_back(i);
  }
  Rewriter rewriter(graph);
  for (const UpdateGroup& group : groups) {
    if (group.members.size() == 1) continue;
    GraphNode all = graph.nodes[static_cast<size_t>(group.members[0])];
    const size_t shared = shared_inputs(all);
    const auto at = static_cast<int32_t>(graph.nodes.size());
    std::vector<std::pair<ValueId, ValueId>> renamed;
    for (int32_t member : group.members) {
      const GraphNode& node = graph.nodes[static_cast<size_t>(member)];
      const bool first = member == group.members[0];
      if (!first) all.inputs.append(node.inputs.begin() + shared, node.inputs.end());
      for (int32_t o = 0; o < static_cast<int32_t>(node.outputs.size()); ++o) {
        const auto place = first ? o : static_cast<int32_t>(all.outputs.size());
        if (!first) all.outputs.push_back(node.outputs[static_cast<size_t>(o)]);
        renamed.push_back({{member, o}, {at, place}});
      }
    }
    graph.nodes.push_back(std::move(all));
    for (const auto& [from, to] : renamed) rewriter.replace(from, to);
  }
  rewriter.finish();
}

}  // namespace isochron
