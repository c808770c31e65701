#include "isochron/graph/graph.h"

#include <algorithm>
#include <optional>

namespace isochron {

std::vector<TensorSpec> Graph::input_specs(const GraphNode& node) const {
  std::vector<TensorSpec> specs;
  specs.reserve(node.inputs.size());
  for (ValueId in : node.inputs) specs.push_back(spec(in));
  return specs;
}

ValueId Graph::add_input(TensorSpec spec, LeafRole role) {
  GraphNode& node = nodes.add();
  node.role = role;
  node.outputs.push_back(spec);
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

// The nodes that outputs need, and all inputs, as they stand; or nothing, where they do not stand in order: inputs
// first, and every node after what it reads.
std::optional<std::vector<int32_t>> needed_in_order(const Graph& graph) {
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    if (graph.inputs[i] != static_cast<int32_t>(i)) return std::nullopt;
  std::vector<uint8_t> needed(graph.nodes.size(), 0);
  std::fill_n(needed.begin(), graph.inputs.size(), uint8_t{1});
  for (ValueId out : graph.outputs) needed[static_cast<size_t>(out.node)] = 1;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (ValueId in : graph.nodes[i].inputs) {
      if (in.node >= static_cast<int32_t>(i)) return std::nullopt;
      needed[static_cast<size_t>(in.node)] = 1;
    }
  }
  std::vector<int32_t> order;
  order.reserve(needed.size());
  for (size_t i = 0; i < needed.size(); ++i)
    if (needed[i]) order.push_back(static_cast<int32_t>(i));
  return order;
}

std::vector<int32_t> sorted_order(const Graph& graph) {
  const NodeList& nodes = graph.nodes;
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

void NodeList::arrange(std::span<const int32_t> order) {
  std::vector<Owner> arranged;
  arranged.reserve(std::max(order.size(), nodes_.capacity()));
  for (int32_t from : order) arranged.push_back(std::move(nodes_[static_cast<size_t>(from)]));
  nodes_ = std::move(arranged);
}

void Graph::arrange(std::span<const int32_t> order) {
  std::vector<int32_t> moved(nodes.size(), -1);
  for (size_t i = 0; i < order.size(); ++i) moved[static_cast<size_t>(order[i])] = static_cast<int32_t>(i);
  nodes.arrange(order);
  for (GraphNode& node : nodes)
    for (ValueId& in : node.inputs) in.node = moved[static_cast<size_t>(in.node)];
  for (int32_t& input : inputs) input = moved[static_cast<size_t>(input)];
  for (ValueId& out : outputs) out.node = moved[static_cast<size_t>(out.node)];
}

void Graph::topological_sort() {
  const std::optional<std::vector<int32_t>> order = needed_in_order(*this);
  // Most passes change little: a graph that stays as it is is not moved.
  if (order && order->size() == nodes.size()) return;
  arrange(order ? *order : sorted_order(*this));
}

UseCounts::UseCounts(const Graph& graph) {
  first_.reserve(graph.nodes.size());
  int32_t values = 0;
  for (const GraphNode& node : graph.nodes) {
    first_.push_back(values);
    values += static_cast<int32_t>(node.outputs.size());
  }
  counts_.assign(static_cast<size_t>(values), 0);
  const auto count = [&](ValueId v) { ++counts_[static_cast<size_t>(first_[static_cast<size_t>(v.node)] + v.output)]; };
  for (const GraphNode& node : graph.nodes)
    for (ValueId in : node.inputs) count(in);
  for (ValueId out : graph.outputs) count(out);
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
