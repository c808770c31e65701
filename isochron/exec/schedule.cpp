#include "isochron/exec/schedule.h"

#include <algorithm>

namespace isochron {
namespace {

// Nodes that overwrite an input of the graph, and all that depend on one.
std::vector<uint8_t> updating_nodes(const Graph& graph) {
  std::vector<uint8_t> late(graph.nodes.size(), 0);
  for (const GraphUpdate& update : graph.updates) {
    const auto node = static_cast<size_t>(graph.outputs[static_cast<size_t>(update.output)].node);
    late[node] = graph.nodes[node].op != nullptr;
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& node = graph.nodes[i];
    late[i] |= node.op && !node.op->updates.empty();
    for (ValueId in : node.inputs) late[i] |= late[static_cast<size_t>(in.node)];
  }
  return late;
}

// By node: whether it is best computed at once, because only updating nodes read it, or because it costs nothing.
std::vector<uint8_t> eager_nodes(const Graph& graph, const std::vector<uint8_t>& late) {
  static const Op &reshape = op_named("reshape"), &cast = op_named("cast");
  std::vector<uint8_t> read(graph.nodes.size(), 0), by_updates(graph.nodes.size(), 1);
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const GraphNode& node = graph.nodes[i];
    by_updates[i] &= read[i];
    for (ValueId in : node.inputs) {
      read[static_cast<size_t>(in.node)] = 1;
      const bool hands_on = node.op == &reshape || node.op == &cast;
      by_updates[static_cast<size_t>(in.node)] &= late[i] || (hands_on && by_updates[i]);
    }
  }
  std::vector<uint8_t> eager(graph.nodes.size(), 0);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& node = graph.nodes[i];
    eager[i] = !late[i] && !node.inputs.empty() && (node.op == &reshape || by_updates[i]);
  }
  return eager;
}

}  // namespace

void order_for_running(Graph& graph) {
  const size_t count = graph.nodes.size();
  const std::vector<uint8_t> late = updating_nodes(graph), eager = eager_nodes(graph, late);
  // Where a node runs: at its own place, after its last operand, or after everything.
  std::vector<int32_t> place(count);
  std::vector<std::vector<int32_t>> after(count + 1);
  std::vector<int32_t> order;
  order.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    place[i] = static_cast<int32_t>(late[i] ? count : i);
    if (eager[i]) {
      place[i] = 0;
      for (ValueId in : graph.nodes[i].inputs) place[i] = std::max(place[i], place[static_cast<size_t>(in.node)]);
    }
    if (place[i] != static_cast<int32_t>(i)) after[static_cast<size_t>(place[i])].push_back(static_cast<int32_t>(i));
  }
  for (size_t i = 0; i <= count; ++i) {
    if (i < count && place[i] == static_cast<int32_t>(i)) order.push_back(static_cast<int32_t>(i));
    order.insert(order.end(), after[i].begin(), after[i].end());
  }
  graph.arrange(order);
}

}  // namespace isochron
