// What follows the sums of a product while they are still in cache: bias, a copy, the activation.
#if defined(ISOCHRON_KERNELS_GEMM_EPILOGUE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCHRON_KERNELS_GEMM_EPILOGUE_INL_H
#undef ISOCHRON_KERNELS_GEMM_EPILOGUE_INL_H
#else
#define ISOCHRON_KERNELS_GEMM_EPILOGUE_INL_H
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cmath>

#include "isochron/kernels/gemm/product.h"

HWY_BEFORE_NAMESPACE();
namespace isochron::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// exp(x) for x <= 0 and moderate positive x; beyond 80 the result only has to be huge.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V bounded_exp(D d, V x) {
  using T = hn::TFromD<D>;
  return hn::Exp(
      d, hn::Max(hn::Min(x, hn::Set(d, T(sizeof(T) == 4 ? 80 : 700))), hn::Set(d, T(sizeof(T) == 4 ? -87 : -708))));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V sigmoid(D d, V x) {
  const V one = hn::Set(d, 1);
  return hn::Div(one, hn::Add(one, bounded_exp(d, hn::Neg(x))));
}

// The share of a normal distribution below x. float32 uses Abramowitz and Stegun 7.1.26 (error 1.5e-7).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V normal_cdf(D d, V x) {
  using T = hn::TFromD<D>;
  if constexpr (sizeof(T) == 4) {
    const V one = hn::Set(d, 1);
    const V z = hn::Mul(hn::Abs(x), hn::Set(d, T(0.70710678118654752)));
    const V t = hn::Div(one, hn::MulAdd(hn::Set(d, T(0.3275911)), z, one));
    V series = hn::Set(d, T(1.061405429));
    for (double term : {-1.453152027, 1.421413741, -0.284496736, 0.254829592})
      series = hn::MulAdd(series, t, hn::Set(d, T(term)));
    const V upper_tail =
        hn::Mul(hn::Mul(hn::Set(d, T(0.5)), hn::Mul(series, t)), bounded_exp(d, hn::Neg(hn::Mul(z, z))));
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), upper_tail, hn::Sub(one, upper_tail));
  } else {
    HWY_ALIGN T lanes[hn::MaxLanes(D())];
    hn::Store(x, d, lanes);
    for (T& lane : lanes) lane = T(0.5) * std::erfc(-lane * T(0.70710678118654752));
    return hn::Load(d, lanes);
  }
}

// x gate(x) for gates that fall off exponentially: below -80 the product is as good as zero, however large x is.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V gated(D d, V x, V gate) {
  return hn::Mul(hn::Max(x, hn::Set(d, -80)), gate);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V activate(D d, GemmActivation activation, V alpha, V x) {
  using T = hn::TFromD<D>;
  const V zero = hn::Zero(d), one = hn::Set(d, 1);
  switch (activation) {
    case GemmActivation::none:
      return x;
    case GemmActivation::relu:
      return hn::IfThenElse(hn::Lt(x, zero), zero, x);  // keeps NaN, unlike Max
    case GemmActivation::sigmoid:
      return sigmoid(d, x);
    case GemmActivation::tanh:
      return hn::Tanh(d, x);
    case GemmActivation::leaky_relu:
      return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(alpha, x), x);
    case GemmActivation::elu:
      return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(alpha, hn::Expm1(d, hn::Min(x, zero))), x);
    case GemmActivation::selu: {
      const V scale = hn::Set(d, T(1.0507009873554804934)), scaled_alpha = hn::Set(d, T(1.7580993408473768599));
      return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(scaled_alpha, hn::Expm1(d, hn::Min(x, zero))), hn::Mul(scale, x));
    }
    case GemmActivation::gelu_erf:
      return gated(d, x, normal_cdf(d, x));
    case GemmActivation::gelu_tanh: {
      // 0.5 x (1 + tanh(u)) = x sigmoid(2 u), u = sqrt(2/pi) (x + 0.044715 x^3)
      const V inner = hn::Mul(x, hn::MulAdd(hn::Mul(x, x), hn::Set(d, T(0.044715)), one));
      return gated(d, x, sigmoid(d, hn::Mul(inner, hn::Set(d, T(1.5957691216057307)))));
    }
    case GemmActivation::silu:
      return gated(d, x, sigmoid(d, x));
    case GemmActivation::softplus:
      return hn::Add(hn::IfThenElse(hn::Lt(x, zero), zero, x), hn::Log1p(d, bounded_exp(d, hn::Neg(hn::Abs(x)))));
  }
  return x;
}

// The activation, with NaN going in coming out: the clamps inside would hide it.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V result_of(D d, GemmActivation activation, V alpha, V x) {
  return hn::IfThenElse(hn::Eq(x, x), activate(d, activation, alpha, x), x);
}

template <class T>
bool needs_epilogue(const Product<T>& product) {
  return product.activation != GemmActivation::none || product.pre_activation != nullptr;
}

// Rows row .. row + rows and columns col .. col + cols of C hold sums; makes them results. `add_bias` when the sums
// did not start from it.
template <class T>
void finish(const Product<T>& product, int64_t row, int64_t rows, int64_t col, int64_t cols, bool add_bias) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto alpha = hn::Set(d, product.alpha);
  const bool copy = product.pre_activation != nullptr;
  for (int64_t i = row; i < row + rows; ++i) {
    T* c = product.c + i * product.ldc;
    T* pre = copy ? product.pre_activation + i * product.ldc : nullptr;
    for (int64_t j = col; j < col + cols; j += lanes) {
      const int64_t left = col + cols - j;
      if (left >= lanes) {
        auto x = hn::LoadU(d, c + j);
        if (add_bias) x = hn::Add(x, hn::LoadU(d, product.bias + j));
        if (copy) hn::StoreU(x, d, pre + j);
        hn::StoreU(result_of(d, product.activation, alpha, x), d, c + j);
      } else {
        const auto mask = hn::FirstN(d, static_cast<size_t>(left));
        auto x = hn::MaskedLoad(mask, d, c + j);
        if (add_bias) x = hn::Add(x, hn::MaskedLoad(mask, d, product.bias + j));
        if (copy) hn::BlendedStore(x, mask, d, pre + j);
        hn::BlendedStore(result_of(d, product.activation, alpha, x), mask, d, c + j);
      }
    }
  }
}

}  // namespace isochron::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
