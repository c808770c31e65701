// Products with k = 1: a row of C is a row of B times one number, and writing C is all the work.
#if defined(ISOCHRON_KERNELS_GEMM_OUTER_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCHRON_KERNELS_GEMM_OUTER_INL_H
#undef ISOCHRON_KERNELS_GEMM_OUTER_INL_H
#else
#define ISOCHRON_KERNELS_GEMM_OUTER_INL_H
#endif

#include <hwy/highway.h>

#include "isochron/kernels/gemm/product.h"

HWY_BEFORE_NAMESPACE();
namespace isochron::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// b (n) lies together. `init` is what a row of C starts from, or null.
template <class T>
HWY_INLINE void outer_row(T factor, const T* HWY_RESTRICT b, const T* init, T* c, int64_t n) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto scale = hn::Set(d, factor);
  const auto one = [&](int64_t j) HWY_ATTR {
    const auto row = hn::LoadU(d, b + j);
    hn::StoreU(init ? hn::MulAdd(scale, row, hn::LoadU(d, init + j)) : hn::Mul(scale, row), d, c + j);
  };
  int64_t j = 0;
  for (; j + 4 * lanes <= n; j += 4 * lanes) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) one(j + v * lanes);
  }
  for (; j + lanes <= n; j += lanes) one(j);
  for (; j < n; ++j) c[j] = factor * b[j] + (init ? init[j] : T{0});
}

template <class T>
void run_outer(const Product<T>& p, T* scratch) {
  const T* b = p.b;
  if (p.trans_b && p.ldb != 1) {
    for (int64_t j = 0; j < p.n; ++j) scratch[j] = p.b[j * p.ldb];
    b = scratch;
  }
  const int64_t a_stride = p.trans_a ? 1 : p.lda;
  for (int64_t i = 0; i < p.m; ++i) {
    T* c = p.c + i * p.ldc;
    outer_row(p.a[i * a_stride], b, p.accumulate ? c : p.bias, c, p.n);
  }
}

}  // namespace isochron::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
