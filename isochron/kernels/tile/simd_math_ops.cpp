// Transcendental functions on float32 tiles.
#include <cmath>

#include "isochron/kernels/tile/tile_ops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "isochron/kernels/tile/simd_math_ops.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include "isochron/kernels/tile/tile_loop-inl.h"
#include "isochron/kernels/tile/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isochron {
namespace kernels {
namespace HWY_NAMESPACE {

// Highway's sine and cosine hold up to 39000; what lies beyond, infinities and NaN go through libm.
template <class D, class V>
HWY_INLINE V within_libm_reach(D d, V x, V y, float (*exact)(float)) {
  const auto near = hn::Lt(hn::Abs(x), hn::Set(d, 30000.0f));
  if (HWY_LIKELY(hn::AllTrue(d, near))) return y;
  HWY_ALIGN float lanes[hn::MaxLanes(d)];
  hn::Store(x, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = exact(lanes[i]);
  return hn::IfThenElse(near, y, hn::Load(d, lanes));
}
template <class D, class V>
HWY_INLINE V round_to_bfloat16(D d, V x) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, x);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
  const auto rounded = hn::And(hn::Add(hn::Add(bits, hn::Set(du, 0x7fffu)), odd), hn::Set(du, 0xffff0000u));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::BitCast(d, rounded));
}

inline float libm_sin(float x) { return std::sin(x); }
inline float libm_cos(float x) { return std::cos(x); }

// X(op, result)
#define ISO_SIMD_MATH_OPS(X)                               \
  X(exp, vector_exp(d, a))                                 \
  X(expm1, vector_expm1(d, a))                             \
  X(log, vector_log(d, a))                                 \
  X(log1p, vector_log1p(d, a))                             \
  X(log2, vector_log2(d, a))                               \
  X(sin, within_libm_reach(d, a, hn::Sin(d, a), libm_sin)) \
  X(cos, within_libm_reach(d, a, hn::Cos(d, a), libm_cos)) \
  X(tanh, vector_tanh(d, a))                               \
  X(erf, vector_erf(d, a))                                 \
  X(sigmoid, vector_sigmoid(d, a))                         \
  X(elu, vector_elu(d, a, 1.0f, imm.imm0))                 \
  X(selu, vector_elu(d, a, 1.05070099f, 1.67326324f))      \
  X(gelu_erf, vector_gelu_erf(d, a))                       \
  X(gelu_tanh, vector_gelu_tanh(d, a))                     \
  X(gelu_erf_grad, vector_gelu_erf_grad(d, a))             \
  X(gelu_tanh_grad, vector_gelu_tanh_grad(d, a))           \
  X(silu_grad, vector_silu_grad(d, a))                     \
  X(silu, vector_silu(d, a))                               \
  X(softplus, vector_softplus(d, a))                       \
  X(round_to_bfloat16, round_to_bfloat16(d, a))

#define ISO_DEFINE(name, result)                                                        \
  struct Math_##name {                                                                  \
    template <class D, class V>                                                         \
    static HWY_INLINE V apply(D d, [[maybe_unused]] Immediates<float> imm, V a, V, V) { \
      return result;                                                                    \
    }                                                                                   \
  };
ISO_SIMD_MATH_OPS(ISO_DEFINE)
#undef ISO_DEFINE

TileFunction find_math(TileOp op) {
  switch (op) {
#define ISO_CASE(name, result) \
  case TileOp::name:           \
    return tile_loop<float, 1, Math_##name>;
    ISO_SIMD_MATH_OPS(ISO_CASE)
#undef ISO_CASE
    default:
      return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kernels
}  // namespace isochron
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isochron::kernels {

HWY_EXPORT(find_math);

TileFunction simd_math_function(TileOp op) { return HWY_DYNAMIC_DISPATCH(find_math)(op); }

}  // namespace isochron::kernels
#endif
