// Ops done one element at a time: libm for float64 and for rare float32 functions, and all integer tiles.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

#include "isochron/kernels/tile/tile_ops.h"

namespace isochron::kernels {
namespace {

// The largest int64 is no double: as a bound, 2^63 stands for it.
template <class T>
T immediate(double number) {
  if constexpr (std::is_integral_v<T>)
    if (number >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(number);
}

template <class T, class F>
void scalar_loop(void* dst_bytes, const void* a_bytes, const void* b_bytes, const void* c_bytes, int64_t n,
                 const double* imm, int operands, F f) {
  T* dst = static_cast<T*>(dst_bytes);
  const T* a = static_cast<const T*>(a_bytes);
  const T* b = static_cast<const T*>(operands > 1 ? b_bytes : a_bytes);
  const T* c = static_cast<const T*>(operands > 2 ? c_bytes : a_bytes);
  const T imm0 = immediate<T>(imm[0]), imm1 = immediate<T>(imm[1]);
  for (int64_t i = 0; i < n; ++i) dst[i] = f(a[i], b[i], c[i], imm0, imm1);
}

template <class T>
void fill_constant(void* dst, const void*, const void*, const void*, int64_t n, const double* imm) {
  std::fill_n(static_cast<T*>(dst), n, static_cast<T>(imm[0]));
}

// Quotients and remainders as NumPy has them: the remainder takes the sign of the divisor.
template <class T>
T floor_mod(T a, T b) {
  const T r = std::fmod(a, b);
  if (r == 0) return std::copysign(T{0}, b);
  return (r < 0) != (b < 0) ? r + b : r;
}
template <class T>
T floor_div(T a, T b) {
  if (b == 0) return a / b;
  const T r = std::fmod(a, b);
  T quotient = (a - r) / b;
  if (r != 0 && (r < 0) != (b < 0)) quotient -= 1;
  return quotient == 0 ? std::copysign(T{0}, a / b) : std::round(quotient);
}
template <class T>
T elu(T x, T scale, T alpha) {
  return x > 0 ? scale * x : scale * alpha * std::expm1(x);
}
template <class T>
T gelu_tanh(T x) {
  const T u = std::sqrt(T{2} / std::numbers::pi_v<T>) * (x + T{0.044715} * x * x * x);
  return x / (1 + std::exp(-2 * u));
}
template <class T>
T gelu_erf_grad(T x) {
  if (std::abs(x) > 40) return x > 0;  // where the density is 0, infinities included
  const T cdf = T{0.5} * std::erfc(-x * std::numbers::sqrt2_v<T> / 2);
  return cdf + x * std::exp(-x * x / 2) * std::numbers::inv_sqrtpi_v<T> / std::numbers::sqrt2_v<T>;
}
// Derivative of x * sigmoid(u(x)) given u and du/dx.
template <class T>
T gated_grad(T x, T u, T du) {
  const T s = 1 / (1 + std::exp(-u));
  return s == 0 || s == 1 ? s : s + x * s * (1 / (1 + std::exp(u))) * du;
}
template <class T>
T gelu_tanh_grad(T x) {
  const T k = 2 * std::sqrt(T{2} / std::numbers::pi_v<T>);
  return gated_grad(x, k * (x + T{0.044715} * x * x * x), k * (1 + T{0.134145} * x * x));
}
template <class T>
T round_through_bfloat16(T x) {
  return static_cast<T>(static_cast<float>(bfloat16(static_cast<float>(x))));
}
template <class T>
T round_through_float16(T x) {
  return static_cast<T>(static_cast<float>(float16(static_cast<float>(x))));
}

// Integers wrap on overflow; dividing by zero gives zero.
template <class T>
using Unsigned = std::make_unsigned_t<T>;
template <class T>
T wrap(Unsigned<T> x) {
  return static_cast<T>(x);
}
template <class T>
T integer_div(T a, T b) {
  if (b == 0) return 0;
  if (b == -1) return wrap<T>(Unsigned<T>{0} - Unsigned<T>(a));
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
template <class T>
T integer_mod(T a, T b) {
  if (b == 0 || b == -1) return 0;
  const T r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
template <class T>
T integer_pow(T base, T exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  Unsigned<T> result = 1, factor = Unsigned<T>(base);
  for (; exponent; exponent >>= 1, factor *= factor)
    if (exponent & 1) result *= factor;
  return wrap<T>(result);
}

// X(op, operands, result)
#define ISO_SCALAR_FLOAT_OPS(X)                                                 \
  X(exp, 1, std::exp(a))                                                        \
  X(expm1, 1, std::expm1(a))                                                    \
  X(log, 1, std::log(a))                                                        \
  X(log1p, 1, std::log1p(a))                                                    \
  X(log2, 1, std::log2(a))                                                      \
  X(sin, 1, std::sin(a))                                                        \
  X(cos, 1, std::cos(a))                                                        \
  X(tan, 1, std::tan(a))                                                        \
  X(asin, 1, std::asin(a))                                                      \
  X(acos, 1, std::acos(a))                                                      \
  X(atan, 1, std::atan(a))                                                      \
  X(sinh, 1, std::sinh(a))                                                      \
  X(cosh, 1, std::cosh(a))                                                      \
  X(tanh, 1, std::tanh(a))                                                      \
  X(erf, 1, std::erf(a))                                                        \
  X(sigmoid, 1, 1 / (1 + std::exp(-a)))                                         \
  X(elu, 1, elu(a, T{1}, imm0))                                                 \
  X(selu, 1, elu(a, T{1.0507009873554805}, T{1.6732632423543772}))              \
  X(gelu_erf, 1, T{0.5} * a * (1 + std::erf(a * std::numbers::sqrt2_v<T> / 2))) \
  X(gelu_tanh, 1, gelu_tanh(a))                                                 \
  X(gelu_erf_grad, 1, gelu_erf_grad(a))                                         \
  X(gelu_tanh_grad, 1, gelu_tanh_grad(a))                                       \
  X(silu_grad, 1, gated_grad(a, a, T{1}))                                       \
  X(silu, 1, a / (1 + std::exp(-a)))                                            \
  X(softplus, 1, (a < 0 ? 0 : a) + std::log1p(std::exp(-std::abs(a))))          \
  X(round_to_bfloat16, 1, round_through_bfloat16(a))                            \
  X(round_to_float16, 1, round_through_float16(a))                              \
  X(pow, 2, std::pow(a, b))                                                     \
  X(mod, 2, floor_mod(a, b))                                                    \
  X(floor_div, 2, floor_div(a, b))

#define ISO_INTEGER_OPS(X)                                        \
  X(copy, 1, a)                                                   \
  X(neg, 1, wrap<T>(Unsigned<T>{0} - Unsigned<T>(a)))             \
  X(abs, 1, a < 0 ? wrap<T>(Unsigned<T>{0} - Unsigned<T>(a)) : a) \
  X(sign, 1, (a > 0) - (a < 0))                                   \
  X(square, 1, wrap<T>(Unsigned<T>(a) * Unsigned<T>(a)))          \
  X(floor, 1, a)                                                  \
  X(ceil, 1, a)                                                   \
  X(round, 1, a)                                                  \
  X(relu, 1, a > 0 ? a : 0)                                       \
  X(relu6, 1, a<0 ? 0 : a> 6 ? 6 : a)                             \
  X(clip, 1, a<imm0 ? imm0 : a> imm1 ? imm1 : a)                  \
  X(step, 1, a > 0)                                               \
  X(logical_not, 1, a == 0)                                       \
  X(is_nan, 1, 0)                                                 \
  X(is_inf, 1, 0)                                                 \
  X(is_finite, 1, 1)                                              \
  X(add, 2, wrap<T>(Unsigned<T>(a) + Unsigned<T>(b)))             \
  X(sub, 2, wrap<T>(Unsigned<T>(a) - Unsigned<T>(b)))             \
  X(mul, 2, wrap<T>(Unsigned<T>(a) * Unsigned<T>(b)))             \
  X(div, 2, integer_div(a, b))                                    \
  X(pow, 2, integer_pow(a, b))                                    \
  X(minimum, 2, a < b ? a : b)                                    \
  X(maximum, 2, a > b ? a : b)                                    \
  X(mod, 2, integer_mod(a, b))                                    \
  X(floor_div, 2, integer_div(a, b))                              \
  X(less, 2, a < b)                                               \
  X(less_equal, 2, a <= b)                                        \
  X(greater, 2, a > b)                                            \
  X(greater_equal, 2, a >= b)                                     \
  X(equal, 2, a == b)                                             \
  X(not_equal, 2, a != b)                                         \
  X(logical_and, 2, a&& b)                                        \
  X(logical_or, 2, a || b)                                        \
  X(logical_xor, 2, (a != 0) != (b != 0))                         \
  X(select, 3, a ? b : c)                                         \
  X(fma, 3, wrap<T>(Unsigned<T>(a) * Unsigned<T>(b) + Unsigned<T>(c)))

#define ISO_CASE(name, operands, result)                                                                           \
  case TileOp::name:                                                                                               \
    return [](void* dst, const void* pa, const void* pb, const void* pc, int64_t n, const double* imm) {           \
      scalar_loop<T>(dst, pa, pb, pc, n, imm, operands,                                                            \
                     []([[maybe_unused]] T a, [[maybe_unused]] T b, [[maybe_unused]] T c, [[maybe_unused]] T imm0, \
                        [[maybe_unused]] T imm1) { return static_cast<T>(result); });                              \
    };

template <class T>
TileFunction find_scalar_float(TileOp op) {
  switch (op) {
    case TileOp::constant:
      return fill_constant<T>;
      ISO_SCALAR_FLOAT_OPS(ISO_CASE)
    default:
      return nullptr;
  }
}

template <class T>
TileFunction find_integer(TileOp op) {
  switch (op) {
    case TileOp::constant:
      return fill_constant<T>;
      ISO_INTEGER_OPS(ISO_CASE)
    default:
      return nullptr;
  }
}
#undef ISO_CASE

}  // namespace

TileFunction scalar_float_function(TileOp op, DType compute) {
  return compute == DType::float32 ? find_scalar_float<float>(op) : find_scalar_float<double>(op);
}

TileFunction integer_function(TileOp op, DType compute) {
  return compute == DType::int32 ? find_integer<int32_t>(op) : find_integer<int64_t>(op);
}

TileFunction tile_function(TileOp op, DType compute) {
  TileFunction f = nullptr;
  if (is_floating(compute)) {
    f = simd_float_function(op, compute);
    if (!f && compute == DType::float32) f = simd_math_function(op);
    if (!f) f = scalar_float_function(op, compute);
  } else {
    f = integer_function(op, compute);
  }
  if (!f) fail<DTypeError>(name_of(op), "is not defined for {}; cast to a float type first", name_of(compute));
  return f;
}

}  // namespace isochron::kernels
