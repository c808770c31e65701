#include "isochron/graph/graph.h"

namespace isochron {

std::vector<TensorSpec> Graph::input_specs(const GraphNode& node) const {
  std::vector<TensorSpec> specs;
  specs.reserve(node.inputs.size());
  for (ValueId in : node.inputs) specs.push_back(spec(in));
  return specs;
}

ValueId Graph::add_input(TensorSpec spec, LeafRole role) {
  GraphNode node;
  node.role = role;
  node.outputs.push_back(spec);
  nodes.push_back(std::move(node));
  inputs.push_back(static_cast<int32_t>(nodes.size() - 1));
  return {inputs.back(), 0};
}

ValueId Graph::add(const Op& op, std::initializer_list<ValueId> in, Attributes attributes, const GraphNode& like) {
  GraphNode node;
  node.op = &op;
  node.phase = like.phase;
  node.where = like.where;
  for (ValueId v : in) node.inputs.push_back(v);
  node.outputs = infer(op, input_specs(node), attributes);
  node.attributes = std::move(attributes);
  nodes.push_back(std::move(node));
  return {static_cast<int32_t>(nodes.size() - 1), 0};
}

void Graph::replace(ValueId from, ValueId to) {
  for (GraphNode& node : nodes)
    for (ValueId& in : node.inputs)
      if (in == from) in = to;
  for (ValueId& out : outputs)
    if (out == from) out = to;
}

namespace {

// Inputs first, and every node after what it reads.
bool in_order(const Graph& graph) {
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    if (graph.inputs[i] != static_cast<int32_t>(i)) return false;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    for (ValueId in : graph.nodes[i].inputs)
      if (in.node >= static_cast<int32_t>(i)) return false;
  return true;
}

// The nodes that outputs need, and all inputs, of a graph in order.
std::vector<int32_t> needed_in_order(const Graph& graph) {
  std::vector<uint8_t> needed(graph.nodes.size(), 0);
  for (int32_t input : graph.inputs) needed[static_cast<size_t>(input)] = 1;
  for (ValueId out : graph.outputs) needed[static_cast<size_t>(out.node)] = 1;
  for (size_t i = graph.nodes.size(); i-- > 0;)
    if (needed[i])
      for (ValueId in : graph.nodes[i].inputs) needed[static_cast<size_t>(in.node)] = 1;
  std::vector<int32_t> order;
  order.reserve(needed.size());
  for (size_t i = 0; i < needed.size(); ++i)
    if (needed[i]) order.push_back(static_cast<int32_t>(i));
  return order;
}

std::vector<int32_t> sorted_order(const Graph& graph) {
  const std::vector<GraphNode>& nodes = graph.nodes;
  const size_t count = nodes.size();
  std::vector<int32_t> order;
  order.reserve(count);
  std::vector<uint8_t> state(count, 0);  // 0 new, 1 open, 2 done
  std::vector<std::pair<int32_t, size_t>> stack;
  const auto visit = [&](int32_t root) {
    if (state[static_cast<size_t>(root)]) return;
    stack.emplace_back(root, 0);
    state[static_cast<size_t>(root)] = 1;
    while (!stack.empty()) {
      auto& [at, next] = stack.back();
      const GraphNode& node = nodes[static_cast<size_t>(at)];
      if (next == node.inputs.size()) {
        state[static_cast<size_t>(at)] = 2;
        order.push_back(at);
        stack.pop_back();
        continue;
      }
      const int32_t in = node.inputs[next++].node;
      ISO_CHECK(state[static_cast<size_t>(in)] != 1);
      if (state[static_cast<size_t>(in)] == 0) {
        state[static_cast<size_t>(in)] = 1;
        stack.emplace_back(in, 0);
      }
    }
  };
  for (int32_t input : graph.inputs) visit(input);
  // Needed nodes first, then visited in their old order, so that a sorted graph stays as it is.
  std::vector<uint8_t> needed(count, 0);
  std::vector<int32_t> work;
  for (ValueId out : graph.outputs) work.push_back(out.node);
  while (!work.empty()) {
    const auto at = static_cast<size_t>(work.back());
    work.pop_back();
    if (needed[at]) continue;
    needed[at] = 1;
    for (ValueId in : nodes[at].inputs) work.push_back(in.node);
  }
  for (size_t i = 0; i < count; ++i)
    if (needed[i]) visit(static_cast<int32_t>(i));
  return order;
}

}  // namespace

void Graph::arrange(std::vector<int32_t> order) {
  const size_t kept = order.size();
  std::vector<int32_t> moved(nodes.size(), -1);
  for (size_t i = 0; i < kept; ++i) moved[static_cast<size_t>(order[i])] = static_cast<int32_t>(i);
  for (size_t i = 0; i < nodes.size(); ++i)
    if (moved[i] < 0) order.push_back(static_cast<int32_t>(i));
  // In place, cycle by cycle: the nodes of a deep model fill megabytes, whose first touch costs more than the moves.
  for (size_t first = 0; first < order.size(); ++first) {
    if (order[first] == static_cast<int32_t>(first)) continue;
    GraphNode held = std::move(nodes[first]);
    size_t gap = first;
    for (auto from = static_cast<size_t>(order[gap]); from != first; from = static_cast<size_t>(order[gap])) {
      nodes[gap] = std::move(nodes[from]);
      order[gap] = static_cast<int32_t>(gap);
      gap = from;
    }
    nodes[gap] = std::move(held);
    order[gap] = static_cast<int32_t>(gap);
  }
  nodes.resize(kept);
  for (GraphNode& node : nodes)
    for (ValueId& in : node.inputs) in.node = moved[static_cast<size_t>(in.node)];
  for (int32_t& input : inputs) input = moved[static_cast<size_t>(input)];
  for (ValueId& out : outputs) out.node = moved[static_cast<size_t>(out.node)];
}

void Graph::topological_sort() {
  // Most passes change little: a graph that stays as it is is not moved.
  const bool sorted = in_order(*this);
  std::vector<int32_t> order = sorted ? needed_in_order(*this) : sorted_order(*this);
  if (sorted && order.size() == nodes.size()) return;
  arrange(std::move(order));
}

std::vector<SmallVector<int32_t, 1>> Graph::use_counts() const {
  std::vector<SmallVector<int32_t, 1>> uses(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) uses[i].resize(nodes[i].outputs.size(), 0);
  const auto count = [&](ValueId v) { ++uses[static_cast<size_t>(v.node)][static_cast<size_t>(v.output)]; };
  for (const GraphNode& node : nodes)
    for (ValueId in : node.inputs) count(in);
  for (ValueId out : outputs) count(out);
  return uses;
}

int updated_input(const GraphNode& node, size_t output) {
  const std::vector<int>& pattern = node.op->updates;
  const auto shared = static_cast<size_t>(node.attributes.get_or<int64_t>("shared", 0));
  const size_t groups = node.outputs.size() / pattern.size();
  const size_t group_inputs = (node.inputs.size() - shared) / groups;
  return static_cast<int>(shared + output / pattern.size() * group_inputs) + pattern[output % pattern.size()];
}

void verify(const Graph& graph) {
  const auto expect = [](bool holds, const char* what, size_t node) {
    if (!holds) throw InternalError(what, __FILE__, __LINE__, fmt::format("node %{}", node));
  };
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& node = graph.nodes[i];
    for (ValueId in : node.inputs) {
      expect(in.node >= 0 && static_cast<size_t>(in.node) < i, "inputs before their uses", i);
      expect(static_cast<size_t>(in.output) < graph.nodes[static_cast<size_t>(in.node)].outputs.size(),
             "an output that exists", i);
    }
    if (!node.op) {
      expect(node.role != LeafRole::none && node.outputs.size() == 1, "an input with a role and one value", i);
    } else if (!node.body) {
      expect(infer(*node.op, graph.input_specs(node), node.attributes) == node.outputs,
             "specs as the op's rule gives them", i);
    }
  }
  for (ValueId out : graph.outputs)
    expect(out.node >= 0 && static_cast<size_t>(out.node) < graph.nodes.size(), "an output that exists",
           graph.nodes.size());
  for (const GraphUpdate& update : graph.updates)
    expect(graph.spec(graph.outputs[static_cast<size_t>(update.output)]) ==
               graph.nodes[static_cast<size_t>(graph.inputs[static_cast<size_t>(update.input)])].outputs[0],
           "an update of the same spec", static_cast<size_t>(update.input));
}

}  // namespace isochron
