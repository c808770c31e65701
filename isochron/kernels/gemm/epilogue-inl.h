// What follows the sums of a product while they are still in cache: bias, a copy, the activation.
#if defined(ISOCHRON_KERNELS_GEMM_EPILOGUE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCHRON_KERNELS_GEMM_EPILOGUE_INL_H
#undef ISOCHRON_KERNELS_GEMM_EPILOGUE_INL_H
#else
#define ISOCHRON_KERNELS_GEMM_EPILOGUE_INL_H
#endif

#include <hwy/highway.h>

#include <cmath>

#include "isochron/kernels/gemm/product.h"
#include "isochron/kernels/tile/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isochron::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, class V>
HWY_INLINE V activate(D d, GemmActivation activation, float alpha, V x) {
  const V zero = hn::Zero(d);
  switch (activation) {
    case GemmActivation::none:
      return x;
    case GemmActivation::relu:
      return max_keep_nan(zero, x);
    case GemmActivation::sigmoid:
      return vector_sigmoid(d, x);
    case GemmActivation::tanh:
      return vector_tanh(d, x);
    case GemmActivation::leaky_relu:
      return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(hn::Set(d, alpha), x), x);
    case GemmActivation::elu:
      return vector_elu(d, x, 1.0f, alpha);
    case GemmActivation::selu:
      return vector_elu(d, x, 1.05070099f, 1.67326324f);
    case GemmActivation::gelu_erf:
      return vector_gelu_erf(d, x);
    case GemmActivation::gelu_tanh:
      return vector_gelu_tanh(d, x);
    case GemmActivation::silu:
      return vector_silu(d, x);
    case GemmActivation::softplus:
      return vector_softplus(d, x);
  }
  return x;
}

inline double activate(GemmActivation activation, double alpha, double x) {
  const auto sigmoid = [](double y) { return 1 / (1 + std::exp(-y)); };
  switch (activation) {
    case GemmActivation::none:
      return x;
    case GemmActivation::relu:
      return x < 0 ? 0 : x;
    case GemmActivation::sigmoid:
      return sigmoid(x);
    case GemmActivation::tanh:
      return std::tanh(x);
    case GemmActivation::leaky_relu:
      return x < 0 ? alpha * x : x;
    case GemmActivation::elu:
      return x < 0 ? alpha * std::expm1(x) : x;
    case GemmActivation::selu:
      return 1.0507009873554804934 * (x < 0 ? 1.6732632423543772848 * std::expm1(x) : x);
    case GemmActivation::gelu_erf:
      return 0.5 * x * std::erfc(-x * 0.70710678118654752440);
    case GemmActivation::gelu_tanh:
      return x * sigmoid(1.5957691216057307117 * (x + 0.044715 * x * x * x));
    case GemmActivation::silu:
      return x * sigmoid(x);
    case GemmActivation::softplus:
      return (x < 0 ? 0 : x) + std::log1p(std::exp(-std::abs(x)));
  }
  return x;
}
// float64 goes through libm, lane by lane: it is there to check against, not to be fast.
template <class D>
HWY_INLINE hn::Vec<D> activate(D d, GemmActivation activation, double alpha, hn::Vec<D> x) {
  HWY_ALIGN double lanes[hn::MaxLanes(D())];
  hn::Store(x, d, lanes);
  for (double& lane : lanes) lane = activate(activation, alpha, lane);
  return hn::Load(d, lanes);
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
        hn::StoreU(activate(d, product.activation, product.alpha, x), d, c + j);
      } else {
        const auto mask = hn::FirstN(d, static_cast<size_t>(left));
        auto x = hn::MaskedLoad(mask, d, c + j);
        if (add_bias) x = hn::Add(x, hn::MaskedLoad(mask, d, product.bias + j));
        if (copy) hn::BlendedStore(x, mask, d, pre + j);
        hn::BlendedStore(activate(d, product.activation, product.alpha, x), mask, d, c + j);
      }
    }
  }
}

}  // namespace isochron::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
