// Products of a single row: B is read once, in the order it lies in memory, and reading it is all the work.
#if defined(ISOCHRON_KERNELS_GEMM_ROW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCHRON_KERNELS_GEMM_ROW_INL_H
#undef ISOCHRON_KERNELS_GEMM_ROW_INL_H
#else
#define ISOCHRON_KERNELS_GEMM_ROW_INL_H
#endif

#include "isochron/kernels/gemm/product.h"
#include "isochron/kernels/tile/vector_parts-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isochron::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows of B that are added to C together: as many streams as the hardware follows, and C is touched once for all.
inline constexpr int kRowsOfB = 8;

// c (n) = init (n) + a (kRows) b (kRows, n); init may be c, or null.
template <int kRows, class T>
HWY_INLINE void add_rows_of_b(const T* a, int64_t a_stride, const T* b, int64_t ldb, const T* init, T* c, int64_t n) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  V factor[kRows];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) factor[r] = hn::Set(d, a[r * a_stride]);
  for_vectors(d, n, [&](int64_t j, auto part) HWY_ATTR {
    V even = init ? part.load(d, init + j) : hn::Zero(d), odd = hn::Zero(d);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      V& sum = r % 2 == 0 ? even : odd;
      sum = hn::MulAdd(factor[r], part.load(d, b + r * ldb + j), sum);
    }
    part.store(kRows > 1 ? hn::Add(even, odd) : even, d, c + j);
  });
}

template <class T>
void run_row(const Product<T>& p) {
  const int64_t a_stride = p.trans_a ? p.lda : 1;
  const T* init = p.accumulate ? p.c : p.bias;
  int64_t k = 0;
  for (; k + kRowsOfB <= p.k; k += kRowsOfB, init = p.c)
    add_rows_of_b<kRowsOfB>(p.a + k * a_stride, a_stride, p.b + k * p.ldb, p.ldb, init, p.c, p.n);
  for (; k < p.k; ++k, init = p.c)
    add_rows_of_b<1>(p.a + k * a_stride, a_stride, p.b + k * p.ldb, p.ldb, init, p.c, p.n);
}

}  // namespace isochron::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
