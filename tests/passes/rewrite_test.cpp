// Rewrites of single graphs, by their printed form.
#include <gtest/gtest.h>

#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/matmul.h"
#include "isochron/ops/op.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"
#include "pass_helpers.h"

namespace isochron::test {
namespace {

Tensor floats() { return tensor({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}}); }
Tensor ints() { return tensor({1, 2, 3}, DType::int32); }
constexpr const char* kUnchanged = "%0 = data : float32(2, 3)\nreturn %0\n";

TEST(Graph, ArrangeOrdersNodesInPlaceAndDropsTheRest) {
  const Tensor a = floats(), b = floats();
  const Graph before = graph_of({exp(a - b) * abs(b)});
  ASSERT_EQ(before.nodes.size(), 6u);
  // Cycles of one, two and three nodes; and back.
  const std::vector<int32_t> order{0, 2, 1, 4, 5, 3}, back{0, 2, 1, 5, 3, 4};
  Graph graph = before;
  graph.arrange(order);
  for (size_t i = 0; i < order.size(); ++i)
    EXPECT_EQ(graph.nodes[i].op, before.nodes[static_cast<size_t>(order[i])].op) << i;
  graph.arrange(back);
  EXPECT_EQ(to_string(graph), to_string(before));

  Graph shorter = graph_of({a - b, exp(a)});
  shorter.outputs.pop_back();
  const GraphNode* kept = &shorter.nodes[2];
  shorter.arrange(std::vector<int32_t>{1, 0, 2});
  verify(shorter);
  ASSERT_EQ(shorter.nodes.size(), 3u);
  EXPECT_EQ(&shorter.nodes[2], kept);
  EXPECT_EQ(shorter.nodes[2].inputs[0].node, 1);
  EXPECT_EQ(shorter.nodes[2].inputs[1].node, 0);
}

TEST(Cse, MergesEqualNodesWhateverTheOrderOfCommutativeOperands) {
  const Tensor a = floats(), b = floats();
  EXPECT_EQ(after({"cse"}, {(a + b) * (b + a)}),
            "%0 = data : float32(2, 3)\n"
            "%1 = data : float32(2, 3)\n"
            "%2 = add(%0, %1) : float32(2, 3)\n"
            "%3 = mul(%2, %2) : float32(2, 3)\n"
            "return %3\n");
}

TEST(Cse, KeepsWhatDiffers) {
  const Tensor a = floats(), b = floats();
  EXPECT_EQ(graph_of({(a - b) * (b - a)}).nodes.size(), 5u);
  Graph graph = graph_of({(a - b) * (b - a)});
  run_pass(graph, "cse");
  EXPECT_EQ(graph.nodes.size(), 5u);
  graph = graph_of({sum(a, {0}), sum(a, {1})});
  run_pass(graph, "cse");
  EXPECT_EQ(graph.nodes.size(), 3u);
}

TEST(Cse, ZeroIsNotMinusZero) {
  Graph graph = graph_of({constant(0.0, DType::float32), constant(-0.0, DType::float32)});
  run_pass(graph, "cse");
  EXPECT_EQ(graph.nodes.size(), 2u);
}

TEST(ConstantFolding, ComputesInTheDtype) {
  // 1 + 2^-30 is 1 in float32 and not in float64.
  const auto folded = [](DType dtype) {
    return after({"constant_folding"}, {constant(1, dtype) + constant(0x1p-30, dtype)});
  };
  EXPECT_EQ(folded(DType::float32), "%0 = constant() value=1 dtype=0 : float32()\nreturn %0\n");
  EXPECT_NE(folded(DType::float64), folded(DType::float32));
  EXPECT_EQ(after({"constant_folding"}, {constant(200, DType::uint8) + constant(100, DType::uint8)}),
            after({}, {constant(44, DType::uint8)}));
}

TEST(ConstantFolding, TensorsOfOneNumberStaySymbolic) {
  EXPECT_EQ(after({"constant_folding"}, {reshape(zeros({2, 3}) + 1, {3, 2})}),
            "%0 = constant() value=1 dtype=0 : float32()\n"
            "%1 = broadcast_to(%0) shape=[3, 2] : float32(3, 2)\n"
            "return %1\n");
}

TEST(ConstantFolding, LeavesWhatArithmeticDoesNotFix) {
  const std::string text = after({"constant_folding"}, {exp(constant(1, DType::float32))});
  EXPECT_NE(text.find("exp("), std::string::npos);
}

TEST(Simplify, NeutralElementsAndDoubleNegation) {
  const Tensor x = floats();
  for (const Tensor& same :
       {x * 1, 1 * x, x + 0, x - 0, x / 1, -(-x), pow(x, 1), cast(cast(x, DType::float64), DType::float32)})
    EXPECT_EQ(after({"constant_folding", "simplify"}, {same}), kUnchanged);
}

TEST(Simplify, TimesZeroOnlyForIntegers) {
  EXPECT_NE(after({"simplify"}, {floats() * 0}).find("mul"), std::string::npos);
  EXPECT_EQ(after({"simplify"}, {ints() * 0}),
            "%0 = data : int32(3,)\n"
            "%1 = constant() value=0 dtype=2 : int32()\n"
            "%2 = broadcast_to(%1) shape=[3] : int32(3,)\n"
            "return %2\n");
}

TEST(Simplify, PowersAndSquares) {
  const Tensor x = floats();
  const auto op_of = [](const Tensor& y) {
    Graph graph = graph_of({y});
    run_pass(graph, "simplify");
    return std::string(graph[graph.outputs[0]].op->name);
  };
  EXPECT_EQ(op_of(x * x), "square");
  EXPECT_EQ(op_of(pow(x, 2)), "square");
  EXPECT_EQ(op_of(pow(x, 0.5)), "sqrt");
  EXPECT_EQ(op_of(pow(x, -0.5)), "rsqrt");
  EXPECT_EQ(op_of(pow(x, -1)), "reciprocal");
  EXPECT_EQ(op_of(pow(x, 3)), "pow");
  EXPECT_EQ(op_of(x / 4), "mul");
  EXPECT_EQ(op_of(x / 3), "div");
  EXPECT_EQ(op_of(x + -floats()), "sub");
}

TEST(Simplify, FactorsMeet) {
  const Tensor x = floats();
  EXPECT_EQ(after({"simplify"}, {(x * 3) * 5}),
            "%0 = data : float32(2, 3)\n"
            "%1 = constant() value=15 dtype=0 : float32()\n"
            "%2 = mul(%0, %1) : float32(2, 3)\n"
            "return %2\n");
  // The product of the factors would lose digits or overflow.
  EXPECT_NE(after({"simplify"}, {(x * 1e-30) * 1e-12}).find("%4 = mul"), std::string::npos);
}

TEST(Simplify, CastsThatLoseNothingMeet) {
  EXPECT_EQ(after({"simplify"}, {cast(cast(ints(), DType::int64), DType::int32)}),
            "%0 = data : int32(3,)\nreturn %0\n");
  // 2^24 + 1 does not survive float32.
  EXPECT_NE(after({"simplify"}, {cast(cast(ints(), DType::float32), DType::int32)}).find("cast"), std::string::npos);
}

TEST(Simplify, ChoicesThatAreKnown) {
  const Tensor x = floats();
  EXPECT_EQ(after({"simplify"}, {where(constant(1, DType::boolean), x, floats())}).find("where"), std::string::npos);
  EXPECT_EQ(after({"simplify"}, {where(x > 0, x, x)}), kUnchanged);
}

TEST(Layout, ChainsOfMovesBecomeOneOrNone) {
  const Tensor x = floats();
  for (const Tensor& same : {transpose(transpose(x)), reshape(reshape(x, {6}), {2, 3}), sum(reshape(x, {1, 2, 3}), {0}),
                             max(broadcast_to(x, {4, 2, 3}), {0})})
    EXPECT_EQ(after({"layout"}, {same}), kUnchanged);
  EXPECT_EQ(after({"layout"}, {sum(broadcast_to(x, {4, 2, 3}), {0})}),
            "%0 = data : float32(2, 3)\n"
            "%1 = constant() value=4 dtype=0 : float32()\n"
            "%2 = mul(%0, %1) : float32(2, 3)\n"
            "return %2\n");
}

TEST(Layout, BroadcastsOfConstantsStayOne) {
  EXPECT_EQ(after({"layout"}, {broadcast_to(broadcast_to(constant(2, DType::float32), {1}), {4})}),
            "%0 = constant() value=2 dtype=0 : float32()\n"
            "%1 = broadcast_to(%0) shape=[4] : float32(4,)\n"
            "return %1\n");
}

TEST(Layout, TransposesGoIntoProducts) {
  const Tensor a = floats(), b = floats();
  EXPECT_EQ(after({"layout"}, {matmul(transpose(a), b)}),
            "%0 = data : float32(2, 3)\n"
            "%1 = data : float32(2, 3)\n"
            "%2 = matmul(%0, %1) transpose_a=true transpose_b=false : float32(3, 3)\n"
            "return %2\n");
  EXPECT_EQ(after({"layout"}, {matmul(transpose(a), transpose(b), {.transpose_a = true})}),
            "%0 = data : float32(2, 3)\n"
            "%1 = data : float32(2, 3)\n"
            "%2 = matmul(%0, %1) transpose_a=false transpose_b=true : float32(2, 2)\n"
            "return %2\n");
}

TEST(Layout, ElementwiseOpsBroadcastThemselves) {
  const Tensor x = floats(), row = tensor({1.f, 2.f, 3.f});
  EXPECT_EQ(after({"layout"}, {x + broadcast_to(row, {2, 3})}),
            "%0 = data : float32(3,)\n"
            "%1 = data : float32(2, 3)\n"
            "%2 = add(%1, %0) : float32(2, 3)\n"
            "return %2\n");
  // Without it the result would be smaller.
  EXPECT_NE(after({"layout"}, {row + broadcast_to(row, {2, 3})}).find("broadcast_to"), std::string::npos);
}

TEST(Pooling, MasksAndSumsAreTakenBeforeGradientsAreSpread) {
  const Tensor x = tensor(std::vector<float>{1, 2, -3, -4}, {1, 4, 1}), d = tensor(std::vector<float>{1, 2}, {1, 2, 1});
  const Attributes windows{{"window", std::vector<int64_t>{2}},
                           {"strides", std::vector<int64_t>{2}},
                           {"dilations", std::vector<int64_t>{1}},
                           {"pads", std::vector<int64_t>{0, 0}}};
  const Tensor spread = apply(op_named("max_pool_backward"), {d, x}, windows);
  const Tensor masked = where(x > 0, spread, 0);
  EXPECT_EQ(after({"pooling", "dead_code"}, {masked, sum(masked, {0, 1})}),
            "%0 = data : float32(1, 4, 1)\n"
            "%1 = data : float32(1, 2, 1)\n"
            "%2 = constant() value=0 dtype=0 : float32()\n"
            "%3 = max_pool(%0) window=[2] strides=[2] dilations=[1] pads=[0, 0] : float32(1, 2, 1)\n"
            "%4 = greater(%3, %2) : bool(1, 2, 1)\n"
            "%5 = where(%4, %1, %2) : float32(1, 2, 1)\n"
            "%6 = max_pool_backward(%5, %0) window=[2] strides=[2] dilations=[1] pads=[0, 0] : float32(1, 4, 1)\n"
            "%7 = sum(%5) axes=[0, 1] keepdims=false : float32(1,)\n"
            "return %6, %7\n");
  EXPECT_TRUE(allclose(masked, tensor(std::vector<float>{0, 1, 0, 0}, {1, 4, 1}), 0, 0));
}

}  // namespace
}  // namespace isochron::test
