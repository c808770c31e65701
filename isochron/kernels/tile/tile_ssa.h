// A tile program with one name per value instead of registers that are written again: what TileKernel lowers.
#pragma once

#include <array>
#include <vector>

#include "isochron/kernels/tile/tile_program.h"

namespace isochron::kernels {

struct TileSsa {
  struct Node {
    TileOp op;
    std::array<int, 3> operands;  // value numbers; only the first operand_count(op) mean something
    double imm0, imm1;
  };
  int inputs = 0;           // values 0 .. inputs-1
  std::vector<Node> nodes;  // node i defines value inputs + i
  std::vector<int> outputs;

  int value_count() const { return inputs + static_cast<int>(nodes.size()); }
};

TileSsa to_ssa(const TileProgram& program);

// Joins pairs of nodes for which one loop is faster than two, and drops nodes nobody uses.
void simplify(TileSsa& ssa, DType compute);

}  // namespace isochron::kernels
