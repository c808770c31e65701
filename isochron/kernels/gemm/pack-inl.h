// Copies of parts of A and B in the order tiles read them, so that strides no longer collide in cache.
#if defined(ISOCHRON_KERNELS_GEMM_PACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCHRON_KERNELS_GEMM_PACK_INL_H
#undef ISOCHRON_KERNELS_GEMM_PACK_INL_H
#else
#define ISOCHRON_KERNELS_GEMM_PACK_INL_H
#endif

#include <hwy/cache_control.h>

#include <cstring>

#include "isochron/kernels/gemm/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isochron::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// b (cols, k) -> panel (k, vectors * L): the panel of one tile from a transposed B. The last vector overlaps its
// neighbour as the tile's does; of a single vector only `cols` lanes are written.
template <class T>
void pack_transposed_b(const T* b, int64_t ldb, int64_t k, int vectors, int64_t cols, T* panel) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  for (int v = 0; v < vectors; ++v) {
    const int64_t from = vectors > 1 && v == vectors - 1 ? cols - lanes : v * lanes;
    transpose(b + from * ldb, ldb, std::min(lanes, cols), k, panel + v * lanes, vectors * lanes);
  }
}

// Rows of a packed panel of a k-major A: whole tiles of 6, 4, 3, 2 or 1 rows.
inline constexpr int kPanelRows = 12;

// Distance of such panels of depth k: a line more than they are long, for panels that are pages apart would meet in one
// set of L1 while they are written side by side.
template <class T>
constexpr int64_t panel_stride(int64_t k) {
  return kPanelRows * k + static_cast<int64_t>(64 / sizeof(T));
}

// a (k, rows) -> panels of kPanelRows rows, each (k, kPanelRows)
template <class T>
void pack_k_major_a(const T* a, int64_t lda, int rows, int64_t k, T* panels) {
  // So many rows of `a` at a time are read along their whole length, and so many are asked for ahead.
  constexpr int64_t kStep = 8, kAhead = 16, kLine = 64 / sizeof(T);
  for (int64_t p0 = 0; p0 < k; p0 += kStep) {
    const int64_t p1 = std::min(p0 + kStep, k);
    for (int64_t p = p0 + kAhead; p < std::min(p1 + kAhead, k); ++p)
      for (int64_t i = 0; i < rows; i += kLine) hwy::Prefetch(a + p * lda + i);
    T* panel = panels;
    for (int row = 0; row < rows; row += kPanelRows, panel += panel_stride<T>(k)) {
      if (rows - row >= kPanelRows) {
        for (int64_t p = p0; p < p1; ++p)
          std::memcpy(panel + p * kPanelRows, a + p * lda + row, kPanelRows * sizeof(T));
      } else {
        for (int64_t p = p0; p < p1; ++p) std::copy_n(a + p * lda + row, rows - row, panel + p * kPanelRows);
      }
    }
  }
}

// Row-major A keeps its order and gets a stride that is odd in cache lines.
template <class T>
constexpr int64_t packed_row_stride(int64_t k) {
  constexpr int64_t kLine = 64 / sizeof(T);
  return ((k + kLine - 1) / kLine | 1) * kLine;
}
template <class T>
void pack_row_major_a(const T* a, int64_t lda, int rows, int64_t k, T* packed) {
  for (int row = 0; row < rows; ++row) std::copy_n(a + row * lda, k, packed + row * packed_row_stride<T>(k));
}

}  // namespace isochron::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
