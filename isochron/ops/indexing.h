// Picking and placing by index.
//
//   gather(table, tokens);                     // (V, D), (B, T) -> (B, T, D)
//   scatter_add(zeros({V, D}), tokens, dy);    // the other way round: rows that repeat add up
//   one_hot(labels, 10);                       // (B) -> (B, 10)
//   take_along_axis(q, actions, 1);            // (B, A), (B, 1) -> (B, 1): in each row the one that was picked
//
// Indices are int32, int64 or uint8. One outside its axis is found when the plan runs: IndexError naming the position,
// the value, the range, and the op, or whoever calls it with a name of his own.
#pragma once

#include "isochron/ops/operand.h"

namespace isochron {

// Slices of x along `axis`; the axes of `indices` stand in its place.
Tensor gather(const Operand& x, const Tensor& indices, int64_t axis = 0, const char* named = "gather");
// Rows of a table, (V, D), for tokens of any shape. With lazy updates every optimizer leaves rows that a step does not
// use alone, state and all; otherwise only those do whose result is the same.
Tensor embedding(const Tensor& table, const Tensor& tokens, bool lazy_updates = false, const char* named = "embedding");
// Elements of the flattened x.
Tensor take(const Operand& x, const Tensor& indices);
// Along one axis an element for each index, which stands where the element is to come from on all other axes, as in
// NumPy (PyTorch's gather): of x (3, 4) and indices (3, 2) along axis 1, (3, 2). Extents of 1 are stretched.
Tensor take_along_axis(const Operand& x, const Tensor& indices, int64_t axis);
// A copy of x with `updates`, shaped as gather(x, indices, axis), added to its slices along `axis`.
Tensor scatter_add(const Operand& x, const Tensor& indices, const Tensor& updates, int64_t axis = 0);
// A last axis of `depth` with a 1 where the index says; an index outside gives zeros.
Tensor one_hot(const Operand& indices, int64_t depth, DType dtype = DType::float32);

}  // namespace isochron
