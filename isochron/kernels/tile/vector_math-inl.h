// float32 functions on Highway vectors, compiled once per instruction set.
//
// Errors against the exact value stay below 4 units in the last place (erf: 5, gelu_erf: 5 of x). NaN in gives NaN
// out, infinities give the limit. Results below the smallest normal number become 0. Coefficients are minimax fits,
// rounded one by one to float32.
#if defined(ISOCHRON_KERNELS_TILE_VECTOR_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCHRON_KERNELS_TILE_VECTOR_MATH_INL_H_
#undef ISOCHRON_KERNELS_TILE_VECTOR_MATH_INL_H_
#else
#define ISOCHRON_KERNELS_TILE_VECTOR_MATH_INL_H_
#endif

#include <hwy/highway.h>

#include <limits>

HWY_BEFORE_NAMESPACE();
namespace isochron {
namespace kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// max(bound, x) and min(bound, x) that give x when x is NaN. x86 instructions return their second operand then;
// the scalar target does not.
template <class V>
HWY_INLINE V max_keep_nan(V bound, V x) {
#if HWY_TARGET == HWY_SCALAR
  return hn::IfThenElse(hn::Lt(x, bound), bound, x);
#else
  return hn::Max(bound, x);
#endif
}
template <class V>
HWY_INLINE V min_keep_nan(V bound, V x) {
#if HWY_TARGET == HWY_SCALAR
  return hn::IfThenElse(hn::Gt(x, bound), bound, x);
#else
  return hn::Min(bound, x);
#endif
}

// C0 + C1 x + C2 x^2 + …, even and odd powers apart: two short chains of multiply-adds run beside each other.
template <float... C, class D, class V>
HWY_INLINE V polynomial(D d, V x) {
  constexpr float c[] = {C...};
  constexpr int last_even = (sizeof...(C) - 1) / 2 * 2, last_odd = sizeof...(C) / 2 * 2 - 1;
  const V x2 = hn::Mul(x, x);
  V even = hn::Set(d, c[last_even]), odd = hn::Set(d, c[last_odd]);
  for (int k = last_even - 2; k >= 0; k -= 2) even = hn::MulAdd(even, x2, hn::Set(d, c[k]));
  for (int k = last_odd - 2; k >= 1; k -= 2) odd = hn::MulAdd(odd, x2, hn::Set(d, c[k]));
  return hn::MulAdd(odd, x, even);
}

// x = n ln2 + r, |r| <= ln2 / 2. `bits` holds n in its low bits, ready to be shifted into an exponent.
template <class V, class VI>
struct ExpReduction {
  VI bits;
  V expm1_r;
};
template <class D, class V>
HWY_INLINE ExpReduction<V, hn::Vec<hn::RebindToSigned<D>>> reduce_exp(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V magic = hn::Set(d, 12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
  const V shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), magic);
  const V n = hn::Sub(shifted, magic);
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  const V p = polynomial<0.49999997f, 0.16666545f, 0.041667458f, 0.008366431f, 0.0013868808f>(d, r);
  return {hn::BitCast(di, shifted), hn::MulAdd(hn::Mul(r, r), p, r)};
}

inline constexpr float kExpHigh = 88.7228317f;  // above: infinity
inline constexpr float kExpLow = -87.3365448f;  // below: less than the smallest normal number
inline constexpr float kHuge = 3.0e38f;         // times anything above kExpHigh: infinity

template <class D, class V>
HWY_INLINE V vector_exp(D d, V x) {
  const hn::RebindToSigned<D> di;
  const auto parts = reduce_exp(d, x);
  const V mantissa = hn::Add(parts.expm1_r, hn::Set(d, 1.0f));
  V y = hn::BitCast(d, hn::Add(hn::BitCast(di, mantissa), hn::ShiftLeft<23>(parts.bits)));
  y = hn::IfThenElse(hn::Le(x, hn::Set(d, kExpHigh)), y, hn::Mul(x, hn::Set(d, kHuge)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, kExpLow)), y);
}

// For -20 <= x <= kExpHigh.
template <class D, class V>
HWY_INLINE V expm1_in_range(D d, V x) {
  const hn::RebindToSigned<D> di;
  const auto parts = reduce_exp(d, x);
  // Half of 2^n, which stays finite for the largest n.
  const V half_scale = hn::BitCast(d, hn::Add(hn::ShiftLeft<23>(parts.bits), hn::Set(di, 126 << 23)));
  const V half = hn::MulAdd(half_scale, parts.expm1_r, hn::Sub(half_scale, hn::Set(d, 0.5f)));
  return hn::Add(half, half);
}
template <class D, class V>
HWY_INLINE V vector_expm1(D d, V x) {
  const V y = expm1_in_range(d, max_keep_nan(hn::Set(d, -20.0f), x));
  return hn::IfThenElse(hn::Le(x, hn::Set(d, kExpHigh)), y, hn::Mul(x, hn::Set(d, kHuge)));
}

template <class D, class V>
HWY_INLINE V vector_elu(D d, V x, float scale, float alpha) {
  const V negative = hn::Mul(vector_expm1(d, x), hn::Set(d, scale * alpha));
  return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), hn::Mul(x, hn::Set(d, scale)), negative);
}

// log(x + lost) = exponent ln2 + f + tail for normal x > 0 and |lost| below the last place of x.
template <class V>
struct LogParts {
  V exponent, f, tail;
};
template <class D, class V>
HWY_INLINE LogParts<V> split_log(D d, V x, V lost) {
  const hn::RebindToSigned<D> di;
  const auto bits = hn::BitCast(di, x);
  const auto k = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, 0x3f3504f3)));  // mantissas from sqrt(1/2) to sqrt(2)
  const auto inverse_scale = hn::ShiftLeft<23>(hn::Max(hn::Sub(hn::Set(di, 127), k), hn::Zero(di)));
  const V mantissa = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(k)));
  const V f = hn::MulAdd(lost, hn::BitCast(d, inverse_scale), hn::Sub(mantissa, hn::Set(d, 1.0f)));
  const V p = polynomial<0.3333333f, -0.25000826f, 0.2000125f, -0.1662319f, 0.14201176f, -0.13161464f, 0.12766208f,
                         -0.076364495f>(d, f);
  return {hn::ConvertTo(d, k), f, hn::Mul(hn::Mul(f, f), hn::MulAdd(f, p, hn::Set(d, -0.5f)))};
}
template <class D, class V>
HWY_INLINE V natural_log(D d, const LogParts<V>& parts) {
  const V low = hn::MulAdd(parts.exponent, hn::Set(d, -2.12194440e-4f), parts.tail);
  return hn::MulAdd(parts.exponent, hn::Set(d, 0.693359375f), hn::Add(parts.f, low));
}
template <class D, class V>
HWY_INLINE bool all_normal(D d, V x) {
  return hn::AllTrue(d, hn::And(hn::Ge(x, hn::Set(d, std::numeric_limits<float>::min())),
                                hn::Lt(x, hn::Set(d, std::numeric_limits<float>::infinity()))));
}
// Puts -inf, NaN and inf where x is 0, negative, infinite or NaN.
template <class D, class V>
HWY_INLINE V log_limits(D d, V x, V y) {
  const V inf = hn::Set(d, std::numeric_limits<float>::infinity());
  y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(inf), y);
  y = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Set(d, std::numeric_limits<float>::quiet_NaN()), y);
  return hn::IfThenElse(hn::Lt(x, inf), y, x);
}
// log(x) from finish(parts), with care for subnormal and special x only where there are some.
template <class D, class V, class F>
HWY_INLINE V log_of(D d, V x, F finish) {
  if (HWY_LIKELY(all_normal(d, x))) return finish(split_log(d, x, hn::Zero(d)));
  const auto subnormal = hn::Lt(x, hn::Set(d, std::numeric_limits<float>::min()));
  auto parts = split_log(d, hn::IfThenElse(subnormal, hn::Mul(x, hn::Set(d, 0x1p25f)), x), hn::Zero(d));
  parts.exponent = hn::Sub(parts.exponent, hn::IfThenElseZero(subnormal, hn::Set(d, 25.0f)));
  return log_limits(d, x, finish(parts));
}
template <class D, class V>
HWY_INLINE V vector_log(D d, V x) {
  return log_of(d, x, [d](const LogParts<V>& parts) HWY_ATTR { return natural_log(d, parts); });
}
template <class D, class V>
HWY_INLINE V vector_log2(D d, V x) {
  return log_of(d, x, [d](const LogParts<V>& parts) HWY_ATTR {
    const V low = hn::MulAdd(hn::Add(parts.f, parts.tail), hn::Set(d, 0.44269504f), parts.tail);
    return hn::Add(hn::Add(low, parts.f), parts.exponent);
  });
}
template <class D, class V>
HWY_INLINE V vector_log1p(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V u = hn::Add(x, one);
  const V lost = hn::Sub(x, hn::Sub(u, one));  // what rounding 1 + x dropped
  const V y = natural_log(d, split_log(d, u, lost));
  return HWY_LIKELY(all_normal(d, u)) ? y : log_limits(d, u, y);
}

template <class D, class V>
HWY_INLINE V vector_sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, vector_exp(d, hn::Neg(x))));
}
template <class D, class V>
HWY_INLINE V vector_silu(D d, V x) {
  return hn::Div(x, hn::Add(hn::Set(d, 1.0f), vector_exp(d, hn::Neg(x))));
}
template <class D, class V>
HWY_INLINE V vector_tanh(D d, V x) {
  const V twice = min_keep_nan(hn::Set(d, 20.0f), hn::Abs(hn::Add(x, x)));
  const V e = expm1_in_range(d, twice);
  return hn::CopySign(hn::Div(e, hn::Add(e, hn::Set(d, 2.0f))), x);
}
template <class D, class V>
HWY_INLINE V vector_softplus(D d, V x) {
  return hn::Add(max_keep_nan(hn::Zero(d), x), vector_log1p(d, vector_exp(d, hn::Neg(hn::Abs(x)))));
}
template <class D, class V>
HWY_INLINE V vector_erf(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V u = hn::Mul(x, x);
  const V p =
      polynomial<1.12837911f, 0.187560216f, 0.0524446033f, 0.00366179296f, 0.00028582575f, 2.11674273e-06f>(d, u);
  const V q = polynomial<1.0f, 0.4995538f, 0.112998076f, 0.0147605846f, 0.00114332198f, 3.88266308e-05f>(d, u);
  const V y = hn::Div(hn::Mul(x, p), q);
  const V bounded = max_keep_nan(hn::Neg(one), min_keep_nan(one, y));
  return hn::IfThenElse(hn::Ge(hn::Abs(x), hn::Set(d, 3.84f)), hn::CopySign(one, x), bounded);
}
template <class D, class V>
HWY_INLINE V vector_gelu_erf(D d, V x) {
  const V half = hn::Mul(x, hn::Set(d, 0.5f));
  return hn::MulAdd(half, vector_erf(d, hn::Mul(x, hn::Set(d, 0.707106781f))), half);
}
// Its derivative, normal cdf + x * normal density.
template <class D, class V>
HWY_INLINE V vector_gelu_erf_grad(D d, V x) {
  const V half = hn::Set(d, 0.5f);
  const V cdf = hn::MulAdd(vector_erf(d, hn::Mul(x, hn::Set(d, 0.707106781f))), half, half);
  const V bounded = min_keep_nan(hn::Set(d, 20.0f), max_keep_nan(hn::Set(d, -20.0f), x));  // the density is 0 beyond
  const V density = vector_exp(d, hn::Mul(hn::Mul(bounded, bounded), hn::Set(d, -0.5f)));
  return hn::MulAdd(hn::Mul(bounded, hn::Set(d, 0.398942280f)), density, cdf);
}
// Derivative of x * sigmoid(u(x)) given u and du/dx: s + x s (1 - s) du.
template <class D, class V>
HWY_INLINE V gated_grad(D d, V x, V u, V du) {
  const V one = hn::Set(d, 1.0f);
  const V e = vector_exp(d, hn::Neg(hn::Abs(u)));  // at most 1
  const V r = hn::Div(one, hn::Add(one, e));
  const V s = hn::IfThenElse(hn::Lt(u, hn::Zero(d)), hn::Mul(e, r), r);
  return hn::MulAdd(hn::Mul(hn::Mul(e, r), hn::Mul(r, du)), x, s);
}
template <class D, class V>
HWY_INLINE V vector_silu_grad(D d, V x) {
  const V bounded = min_keep_nan(hn::Set(d, 120.0f), max_keep_nan(hn::Set(d, -120.0f), x));
  return gated_grad(d, bounded, bounded, hn::Set(d, 1.0f));
}
template <class D, class V>
HWY_INLINE V vector_gelu_tanh_grad(D d, V x) {
  const V bounded = min_keep_nan(hn::Set(d, 20.0f), max_keep_nan(hn::Set(d, -20.0f), x));
  const V x2 = hn::Mul(bounded, bounded);
  const V u = hn::Mul(bounded, hn::MulAdd(x2, hn::Set(d, 0.0713548163f), hn::Set(d, 1.59576912f)));
  const V du = hn::MulAdd(x2, hn::Set(d, 0.214064449f), hn::Set(d, 1.59576912f));
  return gated_grad(d, bounded, u, du);
}
// 0.5 x (1 + tanh(u)) = x / (1 + exp(-2u)), u = sqrt(2 / pi) (x + 0.044715 x^3)
template <class D, class V>
HWY_INLINE V vector_gelu_tanh(D d, V x) {
  const V cubic = hn::MulAdd(hn::Mul(x, x), hn::Set(d, -0.0713548163f), hn::Set(d, -1.59576912f));
  return hn::Div(x, hn::Add(hn::Set(d, 1.0f), vector_exp(d, hn::Mul(x, cubic))));
}

}  // namespace HWY_NAMESPACE
}  // namespace kernels
}  // namespace isochron
HWY_AFTER_NAMESPACE();

#endif
