#include "isochron/kernels/tile/tile_ssa.h"

#include <utility>

namespace isochron::kernels {
namespace {

std::vector<int> count_uses(const TileSsa& ssa) {
  std::vector<int> uses(ssa.value_count());
  for (const TileSsa::Node& node : ssa.nodes)
    for (int k = 0; k < operand_count(node.op); ++k) ++uses[node.operands[k]];
  for (int value : ssa.outputs) ++uses[value];
  return uses;
}

// The node that defines `value`, if that is an `op` without another user.
const TileSsa::Node* sole_producer(const TileSsa& ssa, const std::vector<int>& uses, int value, TileOp op) {
  if (value < ssa.inputs || uses[value] != 1) return nullptr;
  const TileSsa::Node& node = ssa.nodes[value - ssa.inputs];
  return node.op == op ? &node : nullptr;
}

// Each pair saves a pass over the tile; on chains bound by memory that is a tenth to a third.
void join_pairs(TileSsa& ssa) {
  const std::vector<int> uses = count_uses(ssa);
  for (TileSsa::Node& node : ssa.nodes) {
    if (node.op == TileOp::add) {
      for (int side = 0; side < 2; ++side) {
        const auto* mul = sole_producer(ssa, uses, node.operands[side], TileOp::mul);
        if (!mul) continue;
        node = {TileOp::fma, {mul->operands[0], mul->operands[1], node.operands[1 - side]}, 0, 0};
        break;
      }
    } else if (node.op == TileOp::relu) {
      if (const auto* add = sole_producer(ssa, uses, node.operands[0], TileOp::add))
        node = {TileOp::add_relu, add->operands, 0, 0};
    } else if (node.op == TileOp::square) {
      if (const auto* sub = sole_producer(ssa, uses, node.operands[0], TileOp::sub))
        node = {TileOp::sub_square, sub->operands, 0, 0};
    }
  }
}

void drop_unused(TileSsa& ssa) {
  std::vector<int> uses = count_uses(ssa);
  for (int i = static_cast<int>(ssa.nodes.size()) - 1; i >= 0; --i) {
    if (uses[ssa.inputs + i]) continue;
    for (int k = 0; k < operand_count(ssa.nodes[i].op); ++k) --uses[ssa.nodes[i].operands[k]];
  }
  std::vector<int> renamed(ssa.value_count());
  for (int value = 0; value < ssa.inputs; ++value) renamed[value] = value;
  std::vector<TileSsa::Node> kept;
  for (size_t i = 0; i < ssa.nodes.size(); ++i) {
    const int value = ssa.inputs + static_cast<int>(i);
    if (!uses[value]) continue;
    TileSsa::Node node = ssa.nodes[i];
    for (int k = 0; k < operand_count(node.op); ++k) node.operands[k] = renamed[node.operands[k]];
    renamed[value] = ssa.inputs + static_cast<int>(kept.size());
    kept.push_back(node);
  }
  ssa.nodes = std::move(kept);
  for (int& value : ssa.outputs) value = renamed[value];
}

}  // namespace

TileSsa to_ssa(const TileProgram& program) {
  TileSsa ssa;
  ssa.inputs = static_cast<int>(program.inputs.size());
  std::array<int, 256> value_in{};
  for (int i = 0; i < ssa.inputs; ++i) value_in[i] = i;
  for (const TileInstruction& i : program.code) {
    ssa.nodes.push_back({i.op, {value_in[i.a], value_in[i.b], value_in[i.c]}, i.imm0, i.imm1});
    value_in[i.dst] = ssa.value_count() - 1;
  }
  for (uint8_t r : program.output_registers) ssa.outputs.push_back(value_in[r]);
  return ssa;
}

void simplify(TileSsa& ssa, DType compute) {
  if (is_floating(compute)) join_pairs(ssa);
  drop_unused(ssa);
}

}  // namespace isochron::kernels
