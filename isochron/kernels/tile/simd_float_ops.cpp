// Arithmetic, comparisons and masks on float32 and float64 tiles.
#include <cmath>

#include "isochron/kernels/tile/tile_ops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "isochron/kernels/tile/simd_float_ops.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "isochron/kernels/tile/tile_loop-inl.h"
#include "isochron/kernels/tile/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isochron {
namespace kernels {
namespace HWY_NAMESPACE {

template <class D>
HWY_INLINE hn::Vec<D> number(D d, double value) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(value));
}
template <class D, class M>
HWY_INLINE hn::Vec<D> zero_one(D d, M mask) {
  return hn::IfThenElseZero(mask, number(d, 1));
}
// Highway's Ne calls NaN equal to everything.
template <class V>
HWY_INLINE auto unequal(V a, V b) {
  return hn::Not(hn::Eq(a, b));
}
template <class D, class V>
HWY_INLINE auto truth(D d, V v) {
  return unequal(v, hn::Zero(d));
}
template <class D, class V>
HWY_INLINE V sign(D d, V a) {
  const V unit = hn::CopySign(number(d, 1), a);
  return hn::IfThenElse(hn::Or(hn::Eq(a, hn::Zero(d)), hn::IsNaN(a)), a, unit);
}

// X(op, operands, result)
#define ISO_SIMD_FLOAT_OPS(X)                                                                  \
  X(copy, 1, a)                                                                                \
  X(neg, 1, hn::Neg(a))                                                                        \
  X(abs, 1, hn::Abs(a))                                                                        \
  X(sign, 1, sign(d, a))                                                                       \
  X(square, 1, hn::Mul(a, a))                                                                  \
  X(floor, 1, hn::Floor(a))                                                                    \
  X(ceil, 1, hn::Ceil(a))                                                                      \
  X(round, 1, hn::Round(a))                                                                    \
  X(sqrt, 1, hn::Sqrt(a))                                                                      \
  X(rsqrt, 1, hn::Div(number(d, 1), hn::Sqrt(a)))                                              \
  X(reciprocal, 1, hn::Div(number(d, 1), a))                                                   \
  X(relu, 1, max_keep_nan(hn::Zero(d), a))                                                     \
  X(relu6, 1, min_keep_nan(number(d, 6), max_keep_nan(hn::Zero(d), a)))                        \
  X(leaky_relu, 1, hn::IfThenElse(hn::Gt(a, hn::Zero(d)), a, hn::Mul(a, number(d, imm.imm0)))) \
  X(clip, 1, min_keep_nan(number(d, imm.imm1), max_keep_nan(number(d, imm.imm0), a)))          \
  X(step, 1, zero_one(d, hn::Gt(a, hn::Zero(d))))                                              \
  X(logical_not, 1, zero_one(d, hn::Eq(a, hn::Zero(d))))                                       \
  X(is_nan, 1, zero_one(d, hn::IsNaN(a)))                                                      \
  X(is_inf, 1, zero_one(d, hn::IsInf(a)))                                                      \
  X(is_finite, 1, zero_one(d, hn::IsFinite(a)))                                                \
  X(add, 2, hn::Add(a, b))                                                                     \
  X(sub, 2, hn::Sub(a, b))                                                                     \
  X(mul, 2, hn::Mul(a, b))                                                                     \
  X(div, 2, hn::Div(a, b))                                                                     \
  X(minimum, 2, hn::IfThenElse(hn::IsNaN(a), a, min_keep_nan(a, b)))                           \
  X(maximum, 2, hn::IfThenElse(hn::IsNaN(a), a, max_keep_nan(a, b)))                           \
  X(less, 2, zero_one(d, hn::Lt(a, b)))                                                        \
  X(less_equal, 2, zero_one(d, hn::Le(a, b)))                                                  \
  X(greater, 2, zero_one(d, hn::Gt(a, b)))                                                     \
  X(greater_equal, 2, zero_one(d, hn::Ge(a, b)))                                               \
  X(equal, 2, zero_one(d, hn::Eq(a, b)))                                                       \
  X(not_equal, 2, zero_one(d, unequal(a, b)))                                                  \
  X(logical_and, 2, zero_one(d, hn::And(truth(d, a), truth(d, b))))                            \
  X(logical_or, 2, zero_one(d, hn::Or(truth(d, a), truth(d, b))))                              \
  X(logical_xor, 2, zero_one(d, hn::Xor(truth(d, a), truth(d, b))))                            \
  X(select, 3, hn::IfThenElse(truth(d, a), b, c))                                              \
  X(add_relu, 2, max_keep_nan(hn::Zero(d), hn::Add(a, b)))                                     \
  X(sub_square, 2, hn::Mul(hn::Sub(a, b), hn::Sub(a, b)))                                      \
  X(fma, 3, hn::MulAdd(a, b, c))

#define ISO_DEFINE(name, operands, result)                                                               \
  struct Float_##name {                                                                                  \
    template <class D, class V>                                                                          \
    static HWY_INLINE V apply([[maybe_unused]] D d, [[maybe_unused]] Immediates<hn::TFromD<D>> imm, V a, \
                              [[maybe_unused]] V b, [[maybe_unused]] V c) {                              \
      return result;                                                                                     \
    }                                                                                                    \
  };
ISO_SIMD_FLOAT_OPS(ISO_DEFINE)
#undef ISO_DEFINE

template <class T>
TileFunction find(TileOp op) {
  switch (op) {
#define ISO_CASE(name, operands, result) \
  case TileOp::name:                     \
    return tile_loop<T, operands, Float_##name>;
    ISO_SIMD_FLOAT_OPS(ISO_CASE)
#undef ISO_CASE
    default:
      return nullptr;
  }
}

TileFunction find_float(TileOp op, DType compute) {
  return compute == DType::float32 ? find<float>(op) : find<double>(op);
}

}  // namespace HWY_NAMESPACE
}  // namespace kernels
}  // namespace isochron
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isochron::kernels {

HWY_EXPORT(find_float);

TileFunction simd_float_function(TileOp op, DType compute) { return HWY_DYNAMIC_DISPATCH(find_float)(op, compute); }

}  // namespace isochron::kernels
#endif
