// The description of an elementwise computation over a broadcast iteration space.
//
//   TileProgram p;                                     // y = relu(x + bias), x (32, 128), bias (128)
//   p.rank = 2; p.dims = {32, 128};
//   p.inputs = {{DType::float32, {128, 1}}, {DType::float32, {0, 1}}};
//   p.outputs = {{DType::float32, {128, 1}}};
//   p.code = {{TileOp::add, 2, 0, 1}, {TileOp::relu, 3, 2}};
//   p.registers = 4; p.output_registers = {3};
//   TileKernel kernel(p);                              // tile_kernel.h runs it
//
// Values live in registers. Registers 0 .. inputs-1 hold the inputs, converted from their dtype to `compute`;
// instructions write registers, their own operands included. Output i is register output_registers[i], converted to
// its dtype and stored densely over `dims`. Masks are 0 and 1 in the compute type.
//
// Conversions: bool and integers become numbers; float to integer truncates toward zero, clamps what is out of range
// and makes NaN 0; uint8 from integers wraps; bool is (x != 0); 16-bit floats round to nearest even.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isochron/tensor/dtype.h"

namespace isochron::kernels {

// X(name, operands). Immediates: constant(value), leaky_relu(slope), elu(alpha), clip(low, high). round goes half to
// even, step is x > 0, *_grad is the derivative at x, mod takes the sign of the divisor, select(a, b, c) is a != 0 ? b
// : c, fma a * b + c. The last line holds pairs that TileKernel joins by itself.
// clang-format off
#define ISO_TILE_OPS(X)                                                                                      \
  X(constant, 0)                                                                                             \
  X(copy, 1) X(neg, 1) X(abs, 1) X(sign, 1) X(square, 1) X(floor, 1) X(ceil, 1) X(round, 1)                  \
  X(sqrt, 1) X(rsqrt, 1) X(reciprocal, 1) X(exp, 1) X(expm1, 1) X(log, 1) X(log1p, 1) X(log2, 1)             \
  X(sin, 1) X(cos, 1) X(tan, 1) X(asin, 1) X(acos, 1) X(atan, 1) X(sinh, 1) X(cosh, 1) X(tanh, 1) X(erf, 1)  \
  X(sigmoid, 1) X(relu, 1) X(relu6, 1) X(leaky_relu, 1) X(elu, 1) X(selu, 1) X(gelu_erf, 1) X(gelu_tanh, 1)  \
  X(silu, 1) X(gelu_erf_grad, 1) X(gelu_tanh_grad, 1) X(silu_grad, 1) X(softplus, 1) X(step, 1)              \
  X(clip, 1) X(round_to_bfloat16, 1) X(round_to_float16, 1)                                                  \
  X(logical_not, 1) X(is_nan, 1) X(is_inf, 1) X(is_finite, 1)                                                \
  X(add, 2) X(sub, 2) X(mul, 2) X(div, 2) X(pow, 2) X(minimum, 2) X(maximum, 2) X(mod, 2) X(floor_div, 2)    \
  X(less, 2) X(less_equal, 2) X(greater, 2) X(greater_equal, 2) X(equal, 2) X(not_equal, 2)                  \
  X(logical_and, 2) X(logical_or, 2) X(logical_xor, 2)                                                       \
  X(select, 3) X(fma, 3)                                                                                     \
  X(add_relu, 2) X(sub_square, 2)
// clang-format on

enum class TileOp : uint8_t {
#define ISO_TILE_OP(name, operands) name,
  ISO_TILE_OPS(ISO_TILE_OP)
#undef ISO_TILE_OP
};

struct TileInstruction {
  TileOp op;
  uint8_t dst = 0, a = 0, b = 0, c = 0;
  double imm0 = 0, imm1 = 0;
};

// Strides count elements per dimension of the iteration space; 0 repeats the element (broadcast). Outputs are dense,
// their strides are ignored.
struct TileOperand {
  DType dtype;
  std::array<int64_t, 8> strides{};
};

struct TileProgram {
  DType compute = DType::float32;  // float32, float64, int32 or int64
  int rank = 0;
  std::array<int64_t, 8> dims{};  // inner last
  std::vector<TileOperand> inputs;
  std::vector<TileOperand> outputs;
  std::vector<TileInstruction> code;
  int registers = 0;
  std::vector<uint8_t> output_registers;
};

std::string_view name_of(TileOp op);
int operand_count(TileOp op);

// Number of elements of the iteration space.
int64_t element_count(const TileProgram& program);

// Throws InternalError when registers, dtypes or dimensions do not hold together.
void check(const TileProgram& program);

// One line per input, instruction and output:
//   tile float32 (32, 128)
//   r0 = load float32 (128, 1)
//   r2 = add r0 r1
//   store float32 r3
std::string to_string(const TileProgram& program);

}  // namespace isochron::kernels
