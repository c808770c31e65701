// Fused nodes, by their printed form.
#include <gtest/gtest.h>

#include "isochron/graph/gradient.h"
#include "isochron/graph/tape.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
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
