// What follows the sums of a product while they are still in cache: bias, a copy, the activation.
#if defined(ISOCHRON_KERNELS_GEMM_EPILOGUE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCHRON_KERNELS_GEMM_EPILOGUE_INL_H
#undef ISOCHRON_KERNELS_GEMM_EPILOGUE_INL_H
#else
#define ISOCHRON_KERNELS_GEMM_EPILOGUE_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "isochron/kernels/gemm/product.h"

HWY_BEFORE_NAMESPACE();
namespace isochron::kernels::HWY_NAMESPACE {

template <class T>
bool needs_epilogue(const Product<T>& product) {
  return product.activation || product.pre_activation;
}

// Rows row .. row + rows and columns col .. col + cols of C hold sums; makes them results. `add_bias` when the
// sums came without it, `plain` when they came without residual and gate.
template <class T>
void finish(const Product<T>& product, int64_t row, int64_t rows, int64_t col, int64_t cols, bool add_bias,
            bool plain) {
  for (int64_t i = row; i < row + rows; ++i) {
    T* c = product.c + i * product.ldc + col;
    if (add_bias) {
      const T* HWY_RESTRICT bias = product.bias + col;
      for (int64_t j = 0; j < cols; ++j) c[j] += bias[j];
    }
    if (plain && product.residual) {
      const T* HWY_RESTRICT residual = product.residual + i * product.ldc + col;
      for (int64_t j = 0; j < cols; ++j) c[j] += residual[j];
    }
    if (plain && product.gate) {
      const T* HWY_RESTRICT gate = product.gate + i * product.ldc + col;
      for (int64_t j = 0; j < cols; ++j) c[j] = gate[j] > 0 ? c[j] : T(0);
    }
    if (product.pre_activation) std::copy_n(c, cols, product.pre_activation + i * product.ldc + col);
    if (product.activation) product.activation(c, c, nullptr, nullptr, cols, product.immediates);
  }
}

}  // namespace isochron::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
