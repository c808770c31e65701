// How an iteration space is cut into tiles.
//
// A tile is `units` consecutive steps of one dimension (`split`) with everything inside that dimension; one step holds
// `unit` elements. So short inner dimensions share a tile, long ones are cut, and the elements of a tile are
// consecutive in every dense operand.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "isochron/kernels/tile/tile_program.h"

namespace isochron::kernels {

// One operand's elements of a tile as nested runs, outermost first. The first count is per unit.
struct TileRuns {
  int depth = 0;
  std::array<int64_t, 8> counts{}, strides{};
};

struct TileGeometry {
  // Merges dimensions where all inputs allow it, but never dimension i - 1 with i when bit i of `apart` is set.
  TileGeometry(const TileProgram& program, uint32_t apart);

  // Consecutive in memory from dimension `first` inward.
  bool dense_from(int input, int first) const;
  // Every tile sees the same elements.
  bool same_in_every_tile(int input) const;
  // Readable in place: the elements of any tile are consecutive.
  bool consecutive(int input) const;
  TileRuns runs(int input) const;
  // Elements before the tile that starts at `unit`.
  int64_t offset(int input, int64_t unit) const;

  int rank = 0;
  std::array<int64_t, 8> dims{};
  std::vector<std::array<int64_t, 8>> strides;  // per input
  int split = 0;
  int64_t unit = 1;
  int64_t units_per_tile = 1;
  int64_t total_units = 0;
};

}  // namespace isochron::kernels
