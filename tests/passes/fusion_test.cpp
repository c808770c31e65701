// Fused nodes, by their printed form.
#include <gtest/gtest.h>

#include "isochron/graph/tape.h"
#include "isochron/kernels/kernel.h"
#include "isochron/ops/check.h"
#include "isochron/ops/conv.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/indexing.h"
#include "isochron/ops/matmul.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"
#include "pass_helpers.h"

namespace isochron::test {
namespace {

Tensor floats() { return tensor({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}}); }

size_t nodes_named(const Graph& graph, std::string_view name) {
  size_t count = 0;
  for (const GraphNode& node : graph.nodes) count += node.op && node.op->name == name;
  return count;
}

TEST(MatmulEpilogue, TakesBiasAndActivation) {
  const Tensor x = floats(), w = tensor({{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}}), b = tensor({1.f, 2.f});
  EXPECT_EQ(after({"matmul_epilogue"}, {relu(matmul(x, w) + b)}),
            "%0 = data : float32(2, 3)\n"
            "%1 = data : float32(3, 2)\n"
            "%2 = data : float32(2,)\n"
            "%3 = matmul_epilogue(%0, %1, %2) transpose_a=false transpose_b=false activation=relu alpha=0 "
            "pre_activation=false : float32(2, 2)\n"
            "return %3\n");
}

TEST(MatmulEpilogue, ValuesBeforeTheActivationThatOthersNeedAreASecondOutput) {
  const Tensor x = floats(), w = tensor({{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}}), b = tensor({1.f, 2.f});
  const Tensor z = matmul(x, w) + b;
  EXPECT_EQ(after({"matmul_epilogue"}, {silu(z), exp(z)}),
            "%0 = data : float32(2, 3)\n"
            "%1 = data : float32(3, 2)\n"
            "%2 = data : float32(2,)\n"
            "%3 = matmul_epilogue(%0, %1, %2) transpose_a=false transpose_b=false activation=silu alpha=0 "
            "pre_activation=true : float32(2, 2), float32(2, 2)\n"
            "%4 = exp(%3.1) : float32(2, 2)\n"
            "return %3.0, %4\n");
}

TEST(MatmulEpilogue, IsThatOfAConvolutionToo) {
  const Tensor x = zeros({1, 4, 2}), kernel = zeros({3, 2, 5}), bias = zeros({5});
  Graph graph = graph_of({tanh(conv(x, kernel) + bias)});
  run_pass(graph, "matmul_epilogue");
  EXPECT_EQ(nodes_named(graph, "conv_epilogue"), 1u);
  EXPECT_EQ(nodes_named(graph, "add") + nodes_named(graph, "tanh") + nodes_named(graph, "conv"), 0u);
}

TEST(MatmulEpilogue, LeavesProductsThatOthersNeedAndColumnsAlone) {
  const Tensor x = floats(), w = tensor({{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}});
  const Tensor product = matmul(x, w);
  Graph graph = graph_of({product + tensor({1.f, 2.f}), product});
  run_pass(graph, "matmul_epilogue");
  EXPECT_EQ(nodes_named(graph, "matmul_epilogue"), 0u);
  graph = graph_of({matmul(x, w) + tensor({{1.f}, {2.f}})});
  run_pass(graph, "matmul_epilogue");
  EXPECT_EQ(nodes_named(graph, "matmul_epilogue"), 0u);
}

TEST(MatmulEpilogue, TakesAMatrixThatIsAddedThroughAReshape) {
  const Tensor more = zeros({1, 2, 2}).eval();
  const Tensor x = floats(), w = tensor({{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}}), b = tensor({1.f, 2.f});
  EXPECT_EQ(after({"matmul_epilogue"}, {more + reshape(matmul(x, w) + b, {1, 2, 2})}),
            "%0 = data : float32(2, 3)\n"
            "%1 = data : float32(3, 2)\n"
            "%2 = data : float32(2,)\n"
            "%3 = data : float32(1, 2, 2)\n"
            "%4 = reshape(%3) shape=[2, 2] : float32(2, 2)\n"
            "%5 = matmul_epilogue(%0, %1, %2, %4) transpose_a=false transpose_b=false activation=none alpha=0 "
            "pre_activation=false residual=true : float32(2, 2)\n"
            "%6 = reshape(%5) shape=[1, 2, 2] : float32(1, 2, 2)\n"
            "return %6\n");
  // Two products: one takes the other, and a third matrix stays outside of what is read elsewhere.
  const Tensor first = matmul(x, w), second = matmul(x, w * 2);
  Graph graph = graph_of({relu(first + second), first});
  run_pass(graph, "matmul_epilogue");
  EXPECT_EQ(nodes_named(graph, "matmul_epilogue"), 1u);
  EXPECT_EQ(nodes_named(graph, "matmul"), 1u);
  EXPECT_EQ(nodes_named(graph, "add") + nodes_named(graph, "relu"), 0u);
}

TEST(MatmulEpilogue, TheGradientOfReluIsAGateOfManyRows) {
  for (const int64_t rows : {64, 65}) {
    const Tensor hidden = ones({rows, 3}).eval(), dy = ones({rows, 2}).eval(), w = ones({3, 2}).eval();
    const Tensor gradient = matmul(dy, w, {.transpose_b = true});
    Graph graph = graph_of({where(hidden > 0, gradient, 0), gradient * 2});
    run_pass(graph, "matmul_epilogue");
    EXPECT_EQ(nodes_named(graph, "where"), 1u) << "others read the product";
    graph = graph_of({where(hidden > 0, matmul(dy, w, {.transpose_b = true}), 0)});
    run_pass(graph, "matmul_epilogue");
    EXPECT_EQ(nodes_named(graph, "where"), rows > 64 ? 0u : 1u);
    EXPECT_EQ(nodes_named(graph, "greater"), rows > 64 ? 0u : 1u);
    graph = graph_of({where(hidden > 1, matmul(dy, w, {.transpose_b = true}), 0)});
    run_pass(graph, "matmul_epilogue");
    EXPECT_EQ(nodes_named(graph, "where"), 1u);
  }
}

TEST(ColumnSums, ABiasGradientComesWithTheKernels) {
  const Tensor x = ones({100, 3}).eval(), dy = ones({10, 10, 4}).eval();
  const Tensor kernel = matmul(x, reshape(dy, {100, 4}), {.transpose_a = true});
  Graph graph = graph_of({kernel, sum(dy, {0, 1})});
  run_pass(graph, "column_sums");
  EXPECT_EQ(nodes_named(graph, "matmul_epilogue"), 1u);
  EXPECT_EQ(nodes_named(graph, "sum") + nodes_named(graph, "matmul"), 0u);
}

TEST(ColumnSums, NotOfFewRowsNorOverOtherAxesNorInACircle) {
  const Tensor few = ones({5, 4}).eval(), many = ones({100, 4}).eval();
  for (const std::vector<Tensor>& tensors :
       std::vector<std::vector<Tensor>>{{matmul(few, few, {.transpose_a = true}), sum(few, {0})},
                                        {matmul(many, many, {.transpose_a = true}), sum(many, {1})},
                                        {matmul(many, many, {.transpose_b = true}), sum(many, {0})},
                                        {matmul(many * sum(many, {0}), many, {.transpose_a = true})}}) {
    Graph graph = graph_of(tensors);
    run_pass(graph, "column_sums");
    EXPECT_EQ(nodes_named(graph, "matmul_epilogue"), 0u) << to_string(graph);
  }
}

TEST(FuseElementwise, AChainIsOneNodeAndItsNumbersAreInside) {
  const Tensor x = floats(), row = tensor({1.f, 2.f, 3.f});
  EXPECT_EQ(after({"fuse_elementwise"}, {tanh(x * 2 + row)}),
            "%0 = data : float32(2, 3)\n"
            "%1 = data : float32(3,)\n"
            "%2 = fused(%0, %1) compute=0 steps=3 {constant mul add tanh} : float32(2, 3)\n"
            "return %2\n");
}

TEST(FuseElementwise, ValuesNeededOutsideAreFurtherOutputs) {
  const Tensor x = floats();
  const Tensor a = exp(x), b = tanh(a);
  EXPECT_EQ(after({"fuse_elementwise"}, {a, b, sum(a)}),
            "%0 = data : float32(2, 3)\n"
            "%1 = fused(%0) compute=0 steps=2 {exp tanh} : float32(2, 3), float32(2, 3)\n"
            "%2 = sum(%1.1) axes=[0, 1] keepdims=false : float32()\n"
            "return %1.1, %1.0, %2\n");
}

TEST(FuseElementwise, NoCycleThroughAReduction) {
  // exp(x) feeds both the sum and the division, which needs the sum: two groups.
  const Tensor e = exp(floats());
  Graph graph = graph_of({tanh(e / sum(e))});
  run_pass(graph, "fuse_elementwise");
  EXPECT_EQ(nodes_named(graph, "fused") + nodes_named(graph, "exp"), 2u);
  EXPECT_EQ(nodes_named(graph, "sum"), 1u);
}

TEST(FuseElementwise, AMaskOfTheForwardPassIsMadeWhereItIsUsed) {
  const Tensor x = floats(), w = tensor({{1.f, 2.f, 3.f}, {3.f, 4.f, 1.f}, {5.f, 6.f, 2.f}});
  const Tensor y = matmul(x, w), mask = y > 0, g = matmul(y, w);
  Graph graph = graph_of({where(mask, g * 3, 0)});
  run_pass(graph, "fuse_elementwise");
  EXPECT_EQ(nodes_named(graph, "greater"), 0u);
  EXPECT_EQ(nodes_named(graph, "fused"), 1u);
}

TEST(FuseElementwise, TypesThatMemoryWouldChangeStayApart) {
  // uint8 wraps, a cast to integers truncates, one to bool makes 0 or 1: none of it happens in a register.
  const Tensor bytes = tensor({200, 100}, DType::uint8), x = floats();
  for (const Tensor& y : {cast(bytes + bytes, DType::float32) * 2, cast(cast(x, DType::int32), DType::float32) * 2,
                          cast(cast(x, DType::boolean), DType::float32) * 2}) {
    Graph graph = graph_of({y});
    run_pass(graph, "fuse_elementwise");
    EXPECT_GT(graph.nodes.size(), 2u) << to_string(graph);
  }
}

TEST(FuseElementwise, LongChainsAreCut) {
  Tensor y = floats();
  for (int i = 0; i < 500; ++i) y = tanh(y) + floats();
  Graph graph = graph_of({y});
  run_pass(graph, "fuse_elementwise");
  EXPECT_GT(nodes_named(graph, "fused"), 2u);
  EXPECT_LT(nodes_named(graph, "fused"), 40u);
}

TEST(FuseElementwise, EveryElementwiseOpHasATileForm) {
  for (const Op* op : all_ops()) {
    if (!op->elementwise) continue;
    const std::span<const KernelEntry* const> kernels = kernels_of(op->name);
    EXPECT_TRUE(std::any_of(kernels.begin(), kernels.end(), [](const KernelEntry* kernel) {
      return kernel->name == std::string_view("tile");
    })) << op->name;
  }
}

TEST(FuseReductions, AMeanOfSquaresIsOneNode) {
  const Tensor a = floats(), b = floats();
  EXPECT_EQ(after({"fuse_elementwise", "fuse_reductions"}, {mean(square(a - b))}),
            "%0 = data : float32(2, 3)\n"
            "%1 = data : float32(2, 3)\n"
            "%2 = fused_reduce(%0, %1) compute=0 steps=2 shape=[2, 3] reduce=mean begin=0 end=2 {sub square} : "
            "float32()\n"
            "return %2\n");
}

TEST(FuseReductions, WhatOthersReadIsStoredToo) {
  const Tensor x = floats();
  const Tensor y = exp(x) * 2;
  EXPECT_EQ(after({"fuse_elementwise", "fuse_reductions"}, {y, sum(y, {0})}),
            "%0 = data : float32(2, 3)\n"
            "%1 = fused_reduce(%0) compute=0 steps=2 shape=[2, 3] reduce=sum begin=0 end=1 {exp constant mul} : "
            "float32(2, 3), float32(3,)\n"
            "return %1.0, %1.1\n");
}

TEST(FuseReductions, AxesThatAreNotNeighboursStayApart) {
  const Tensor x = ones({2, 3, 4}), y = reshape(floats(), {2, 3, 1});
  Graph graph = graph_of({sum(exp(x * y + y), {0, 2})});
  run_pass(graph, "fuse_elementwise");
  run_pass(graph, "fuse_reductions");
  EXPECT_EQ(nodes_named(graph, "sum"), 1u);
  EXPECT_EQ(nodes_named(graph, "fused_reduce"), 0u);
}

// x^T dy goes into the update of w; b's gradient is a sum and stays an input.
struct Step {
  Variable w{ones({3, 2})}, b{zeros({2})};
  Tensor x = tensor({{1.f, 2.f, 3.f}}), dy = tensor({{1.f, 2.f}});
  Tensor dw = matmul(x, dy, {.transpose_a = true}), db = sum(dy, {0});
  std::vector<Tensor> shared{constant(0.1, DType::float32), constant(0, DType::int64), constant(1, DType::float32),
                             constant(1, DType::boolean)};
  std::vector<Tensor> update(const std::vector<Tensor>& groups, double decay = 0) const {
    std::vector<Tensor> inputs = shared;
    inputs.insert(inputs.end(), groups.begin(), groups.end());
    return apply_many(op_named("sgd_update"), inputs, {{"shared", int64_t{4}}, {"weight_decay", decay}});
  }
};

TEST(FuseUpdates, EqualMethodsAndSettingsMeet) {
  const Step s;
  Graph graph = graph_of({s.update({s.w, s.dw})[0], s.update({s.b, s.db})[0]});
  run_pass(graph, "fuse_updates");
  EXPECT_EQ(nodes_named(graph, "sgd_update"), 1u);
  graph = graph_of({s.update({s.w, s.dw})[0], s.update({s.b, s.db}, 0.1)[0]});
  run_pass(graph, "fuse_updates");
  EXPECT_EQ(nodes_named(graph, "sgd_update"), 2u);
}

TEST(FuseUpdates, ASecondStepStaysBehindTheFirst) {
  const Step s;
  const Tensor once = s.update({s.w, s.dw})[0];
  Graph graph = graph_of({s.update({once, s.dw})[0]});
  run_pass(graph, "fuse_updates");
  EXPECT_EQ(nodes_named(graph, "sgd_update"), 2u);
}

TEST(GradientIntoUpdate, AProductIsNeverStored) {
  const Step s;
  const std::vector<Tensor> updated = s.update({s.w, s.dw, s.b, s.db});
  Graph graph = graph_of(updated);
  run_pass(graph, "gradient_into_update");
  EXPECT_EQ(nodes_named(graph, "matmul"), 0u);
  EXPECT_EQ(nodes_named(graph, "sgd_update"), 2u);
}

TEST(GradientIntoUpdate, LeavesGradientsThatOthersReadAndOperandsThatChange) {
  const Step s;
  Graph graph = graph_of({s.update({s.w, s.dw})[0], s.dw});
  run_pass(graph, "gradient_into_update");
  EXPECT_EQ(nodes_named(graph, "matmul"), 1u);
  const Variable other(ones({1, 3}));
  graph = graph_of({s.update({s.w, matmul(other, s.dy, {.transpose_a = true})})[0]});
  run_pass(graph, "gradient_into_update");
  EXPECT_EQ(nodes_named(graph, "matmul"), 1u);
}

TEST(GradientIntoUpdate, OnlyGradientsThatLeaveTheCacheAndHaveFewRows) {
  const auto products_left = [](int64_t rows, int64_t width) {
    const Step s;
    const Variable w(zeros({width, width}));
    const Tensor side = ones({rows, width});
    Graph graph = graph_of({s.update({w, matmul(side, side, {.transpose_a = true})})[0]});
    run_pass(graph, "gradient_into_update");
    return nodes_named(graph, "matmul");
  };
  EXPECT_EQ(products_left(1, 8), 0u);
  EXPECT_EQ(products_left(8, 8), 1u);
  EXPECT_EQ(products_left(8, 512), 0u);
  EXPECT_EQ(products_left(128, 512), 1u);
}

// What check_finite reads after the pass, beside its first input.
std::vector<Shape> looked_at(const std::vector<Watched>& watched) {
  Graph graph = graph_of({check_finite(scalar(1), "loss", watched)});
  run_pass(graph, "watched_factors");
  std::vector<Shape> shapes;
  for (const GraphNode& node : graph.nodes)
    if (node.op && node.op->name == std::string_view("check_finite"))
      for (size_t i = 1; i < node.inputs.size(); ++i) shapes.push_back(graph.spec(node.inputs[i]).shape);
  return shapes;
}

TEST(WatchedFactors, TheLeastThatTellsIsLookedAt) {
  const Tensor x = relu(ones({4, 80})), dy = tanh(matmul(x, ones({80, 8})));
  const Tensor kernel = matmul(x, dy, {.transpose_a = true});
  EXPECT_EQ(looked_at({{kernel, "kernel"}}), (std::vector<Shape>{{4, 8}}));
  EXPECT_EQ(looked_at({{kernel, "kernel"}, {sum(dy, {0}), "bias"}}), (std::vector<Shape>{{8}}));
  EXPECT_EQ(looked_at({{kernel, "kernel"}, {reshape(dy, {32}), "same"}}), (std::vector<Shape>{{4, 8}}));
  const Tensor small = matmul(slice(x, {0, 0}, {4, 2}), dy, {.transpose_a = true});
  EXPECT_EQ(looked_at({{small, "small"}}), (std::vector<Shape>{{2, 8}}));
  EXPECT_EQ(looked_at({{scatter_add(zeros({100, 8}), tensor({1, 2, 3, 1}), dy), "table"}}),
            (std::vector<Shape>{{4, 8}}));
}

TEST(CompileTime, NodesOfADeepModelGrowWithItsDepthAlone) {
  const auto nodes_of = [](int layers) {
    std::vector<Variable> weights;
    Tensor y = zeros({4, 8});
    for (int i = 0; i < layers; ++i) {
      weights.emplace_back(ones({8, 8}));
      weights.emplace_back(zeros({8}));
      y = relu(matmul(y, weights[weights.size() - 2]) + weights.back());
    }
    GradientTape tape;
    std::vector<Tensor> results = tape.gradient(mean(square(y)), weights);
    Graph graph = graph_of(results);
    run_passes(graph);
    return graph.nodes.size();
  };
  const size_t ten = nodes_of(10), twenty = nodes_of(20), thirty = nodes_of(30);
  EXPECT_EQ(thirty - twenty, twenty - ten);
  // A layer: two variables, a product with bias and activation, its mask, two gradients and the sum of one.
  EXPECT_LE((twenty - ten) / 10, 7u);
}

}  // namespace
}  // namespace isochron::test
