// Positions of the largest or smallest element along one axis.
//
//   arg_reduce(ArgReduceOp::argmax, x, DType::float32, {32, 10, 1}, y, DType::int64, thread, threads);
//
// x (outer, count, inner) is dense; y (outer, inner) is int32 or int64. The first of equal elements wins, and the first
// NaN wins over everything, as in NumPy. count must not be 0. Every thread calls and writes its own results; nothing is
// allocated or synchronised.
#pragma once

#include <cstdint>

#include "isochron/kernels/reduce/reduce.h"

namespace isochron::kernels {

enum class ArgReduceOp : uint8_t { argmax, argmin };

void arg_reduce(ArgReduceOp op, const void* x, DType dtype, const ReduceShape& shape, void* y, DType index_dtype,
                int thread, int threads);

}  // namespace isochron::kernels
