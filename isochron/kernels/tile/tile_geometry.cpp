#include "isochron/kernels/tile/tile_geometry.h"

#include <algorithm>

namespace isochron::kernels {
namespace {

constexpr int64_t kTileBytes = 2048;

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

TileGeometry::TileGeometry(const TileProgram& program, uint32_t apart) : strides(program.inputs.size()) {
  if (element_count(program) == 0) {
    rank = 1;
    return;
  }
  const auto append = [&](int source) {
    dims[rank] = program.dims[source];
    for (size_t i = 0; i < strides.size(); ++i) strides[i][rank] = program.inputs[i].strides[source];
    ++rank;
  };
  bool merge_allowed = false;
  for (int source = 0; source < program.rank; ++source) {
    if (apart >> source & 1) merge_allowed = false;
    const int64_t size = program.dims[source];
    if (size == 1) continue;
    bool merge = merge_allowed;
    for (size_t i = 0; merge && i < strides.size(); ++i)
      merge = strides[i][rank - 1] == program.inputs[i].strides[source] * size;
    if (merge) {
      dims[rank - 1] *= size;
      for (size_t i = 0; i < strides.size(); ++i) strides[i][rank - 1] = program.inputs[i].strides[source];
    } else {
      append(source);
    }
    merge_allowed = true;
  }
  if (rank == 0) dims[rank++] = 1;

  const int64_t capacity = kTileBytes / static_cast<int64_t>(size_of(program.compute));
  split = rank - 1;
  while (split > 0 && unit * dims[split] <= capacity) unit *= dims[split--];
  const int64_t tiles = std::max<int64_t>(1, divide_up(dims[split], std::max<int64_t>(1, capacity / unit)));
  units_per_tile = std::max<int64_t>(1, divide_up(dims[split], tiles));
  if (unit == 1) units_per_tile = divide_up(units_per_tile, 16) * 16;
  total_units = 1;
  for (int i = 0; i <= split; ++i) total_units *= dims[i];
}

bool TileGeometry::dense_from(int input, int first) const {
  int64_t expected = 1;
  for (int i = rank - 1; i >= first; --i) {
    if (dims[i] != 1 && strides[input][i] != expected) return false;
    expected *= dims[i];
  }
  return true;
}

bool TileGeometry::same_in_every_tile(int input) const {
  return std::all_of(strides[input].begin(), strides[input].begin() + split + 1, [](int64_t s) { return s == 0; });
}

bool TileGeometry::consecutive(int input) const {
  return dense_from(input, split) || (units_per_tile == 1 && dense_from(input, split + 1));
}

TileRuns TileGeometry::runs(int input) const {
  TileRuns runs;
  runs.counts[0] = 1;
  runs.strides[0] = strides[input][split];
  runs.depth = 1;
  for (int i = split + 1; i < rank; ++i) {
    if (runs.strides[runs.depth - 1] == strides[input][i] * dims[i]) {
      runs.counts[runs.depth - 1] *= dims[i];
    } else {
      runs.counts[runs.depth++] = dims[i];
    }
    runs.strides[runs.depth - 1] = strides[input][i];
  }
  return runs;
}

int64_t TileGeometry::offset(int input, int64_t unit_index) const {
  const std::array<int64_t, 8>& stride = strides[input];
  int64_t offset = 0;
  for (int i = split; i > 0; --i) {
    offset += unit_index % dims[i] * stride[i];
    unit_index /= dims[i];
  }
  return offset + unit_index * stride[0];
}

}  // namespace isochron::kernels
