#include "isochron/exec/schedule.h"

#include <gtest/gtest.h>

#include "isochron/ops/op.h"

namespace isochron {
namespace {

TensorSpec square() { return {DType::float32, {4, 4}}; }

// Where the only node with this op stands.
size_t place_of(const Graph& graph, std::string_view op) {
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[i].op && graph.nodes[i].op->name == op) return i;
  ADD_FAILURE() << "no " << op;
  return 0;
}

TEST(Schedule, WhatOnlyUpdatesReadIsComputedAtOnceAndUpdatesComeLast) {
  Graph graph;
  const ValueId x = graph.add_input(square()), w = graph.add_input(square());
  const GraphNode like{};
  const ValueId y = graph.add(op_named("exp"), {x}, {}, like);
  const ValueId z = graph.add(op_named("tanh"), {y}, {}, like);
  const ValueId loss = graph.add(op_named("sin"), {z}, {}, like);
  const ValueId gradient = graph.add(op_named("cos"), {y}, {}, like);  // last in order, though it could be third
  const ValueId updated = graph.add(op_named("sub"), {w, gradient}, {}, like);
  const ValueId after = graph.add(op_named("neg"), {loss}, {}, like);
  graph.outputs = {after, updated};
  graph.updates = {{1, 1}};

  order_for_running(graph);

  verify(graph);
  EXPECT_EQ(place_of(graph, "cos"), place_of(graph, "exp") + 1);
  EXPECT_LT(place_of(graph, "cos"), place_of(graph, "tanh"));
  EXPECT_EQ(place_of(graph, "sub"), graph.nodes.size() - 1);
  EXPECT_EQ(graph.outputs[1].node, static_cast<int32_t>(place_of(graph, "sub")));
  EXPECT_EQ(graph.nodes[static_cast<size_t>(graph.inputs[1])].op, nullptr);
}

TEST(Schedule, WhatOthersReadTooStaysWhereItIs) {
  Graph graph;
  const ValueId x = graph.add_input(square()), w = graph.add_input(square());
  const GraphNode like{};
  const ValueId y = graph.add(op_named("exp"), {x}, {}, like);
  const ValueId z = graph.add(op_named("tanh"), {y}, {}, like);
  const ValueId shared = graph.add(op_named("cos"), {y}, {}, like);
  const ValueId sum = graph.add(op_named("add"), {z, shared}, {}, like);
  graph.outputs = {sum, graph.add(op_named("sub"), {w, shared}, {}, like)};
  graph.updates = {{1, 1}};

  order_for_running(graph);

  verify(graph);
  EXPECT_LT(place_of(graph, "tanh"), place_of(graph, "cos"));
}

}  // namespace
}  // namespace isochron
