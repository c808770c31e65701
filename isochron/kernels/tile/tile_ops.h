// The inner loops of the tile interpreter, looked up when a TileKernel is built.
#pragma once

#include <cstdint>

#include "isochron/kernels/tile/tile_program.h"

namespace isochron::kernels {

// dst[i] = op(a[i], b[i], c[i]) for i < n; dst may be one of the operands.
using TileFunction = void (*)(void* dst, const void* a, const void* b, const void* c, int64_t n, const double* imm);

// For the instruction set in use. Throws DTypeError when the op has no meaning in `compute` (sin of integers).
TileFunction tile_function(TileOp op, DType compute);

// The four sources of it; null where one has nothing for the op.
TileFunction simd_float_function(TileOp op, DType compute);  // float32 and float64
TileFunction simd_math_function(TileOp op);                  // float32
TileFunction scalar_float_function(TileOp op, DType compute);
TileFunction integer_function(TileOp op, DType compute);

// dst[i] = src[i * stride] for i < n, converted as tile_program.h says. Storing always has stride 1.
using ConvertFunction = void (*)(const void* src, int64_t stride, void* dst, int64_t n);
ConvertFunction convert_function(DType from, DType to);

}  // namespace isochron::kernels
