// Ops that move elements without computing on them.
//
//   reshape(x, {-1, 784});  transpose(x);  concat({a, b}, 1);  slice(x, {0, 1}, {2, 3});  pad(x, {{1, 1}, {0, 0}});
//   pad(x, {{0, 0}, {2, 2}}, {.mode = "reflect"});
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "isochron/ops/operand.h"

namespace isochron {

// One extent may be -1: it is worked out.
Tensor reshape(const Operand& x, const std::vector<int64_t>& shape);
// Axes in the given order; reversed when none is given.
Tensor transpose(const Operand& x, const std::vector<int64_t>& permutation = {});
// The permutation that moves one axis to the end, and the one that undoes a permutation.
std::vector<int64_t> axis_last(int rank, int axis);
std::vector<int64_t> inverse_permutation(const std::vector<int64_t>& permutation);
Tensor broadcast_to(const Operand& x, const Shape& shape);
Tensor squeeze(const Operand& x, const AxisList& axes = {});
Tensor expand_dims(const Operand& x, int64_t axis);
// The axes from the first to the last made one, as in PyTorch.
Tensor flatten(const Operand& x, int64_t start_axis = 0, int64_t end_axis = -1);
Tensor concat(const std::vector<Tensor>& parts, int64_t axis = 0);
Tensor stack(const std::vector<Tensor>& parts, int64_t axis = 0);
// Equal parts, or parts of the given sizes.
std::vector<Tensor> split(const Operand& x, int64_t parts, int64_t axis = 0);
std::vector<Tensor> split(const Operand& x, const std::vector<int64_t>& sizes, int64_t axis = 0);

// Elements begin, begin + step, … before end, per axis, as in NumPy: negative positions count from the
// end, positions are clamped, steps may be negative. Missing axes are taken whole.
inline constexpr int64_t kEnd = INT64_MAX;
Tensor slice(const Operand& x, const std::vector<int64_t>& begin, const std::vector<int64_t>& end,
             const std::vector<int64_t>& step = {});
// (before, after) elements of `value` per axis.
Tensor pad(const Operand& x, const std::vector<std::pair<int64_t, int64_t>>& widths, double value = 0);
// The same by a mode, as NumPy or PyTorch call it: "constant"; "reflect" (the inside mirrored at the last element,
// which is not repeated), "symmetric" (mirrored behind it), "replicate" or "edge" (the last element), "circular" or
// "wrap" (from the other end). Wider than the axis the pattern goes on. ValueError for another mode or a negative
// width, ShapeError where there is nothing to repeat.
struct PadOptions {
  std::string mode = "constant";
  double value = 0;  // of the mode "constant"
};
Tensor pad(const Operand& x, const std::vector<std::pair<int64_t, int64_t>>& widths, const PadOptions& options);
Tensor tile(const Operand& x, const std::vector<int64_t>& repeats);
Tensor repeat(const Operand& x, int64_t count, int64_t axis);
Tensor flip(const Operand& x, const AxisList& axes = {});
Tensor roll(const Operand& x, int64_t shift, int64_t axis);
// Lower or upper triangle of the last two axes; `k` moves the diagonal.
Tensor tril(const Operand& x, int64_t k = 0);
Tensor triu(const Operand& x, int64_t k = 0);

Tensor cumsum(const Operand& x, int64_t axis = -1, bool exclusive = false, bool reverse = false);
// Products of the elements before (or after) each one in its row; x is (rows, columns).
Tensor cumprod_exclusive(const Operand& x, bool reverse);

}  // namespace isochron
