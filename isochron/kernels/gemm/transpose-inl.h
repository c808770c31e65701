// Transposing a matrix through registers, for packing and for products computed the other way round.
#if defined(ISOCHRON_KERNELS_GEMM_TRANSPOSE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCHRON_KERNELS_GEMM_TRANSPOSE_INL_H
#undef ISOCHRON_KERNELS_GEMM_TRANSPOSE_INL_H
#else
#define ISOCHRON_KERNELS_GEMM_TRANSPOSE_INL_H
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace isochron::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

// Lanes of 128 bits: the unit shuffles stay within.
template <class T>
inline constexpr int kBlockLanes = static_cast<int>(16 / sizeof(T));

// A vector whose 128-bit blocks come from `from`, from + step, from + 2 step, …
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_blocks(D d, const T* from, int64_t step) {
  if constexpr (hn::MaxLanes(D()) == kBlockLanes<T>) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    const int64_t half_blocks = static_cast<int64_t>(hn::MaxLanes(half)) / kBlockLanes<T>;
    return hn::Combine(d, load_blocks(half, from + half_blocks * step, step), load_blocks(half, from, step));
  }
}

// src (L rows, kBlockLanes columns) -> dst (kBlockLanes rows, L columns)
template <class D, class T>
HWY_INLINE void transpose_strip(D d, const T* src, int64_t src_stride, T* dst, int64_t dst_stride) {
  const int64_t step = kBlockLanes<T> * src_stride;
  if constexpr (sizeof(T) == 4) {
    const hn::RepartitionToWide<D> wide;
    const auto r0 = load_blocks(d, src, step);
    const auto r1 = load_blocks(d, src + src_stride, step);
    const auto r2 = load_blocks(d, src + 2 * src_stride, step);
    const auto r3 = load_blocks(d, src + 3 * src_stride, step);
    const auto lower01 = hn::BitCast(wide, hn::InterleaveLower(d, r0, r1));
    const auto lower23 = hn::BitCast(wide, hn::InterleaveLower(d, r2, r3));
    const auto upper01 = hn::BitCast(wide, hn::InterleaveUpper(d, r0, r1));
    const auto upper23 = hn::BitCast(wide, hn::InterleaveUpper(d, r2, r3));
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(wide, lower01, lower23)), d, dst);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(wide, lower01, lower23)), d, dst + dst_stride);
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(wide, upper01, upper23)), d, dst + 2 * dst_stride);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(wide, upper01, upper23)), d, dst + 3 * dst_stride);
  } else {
    const auto r0 = load_blocks(d, src, step);
    const auto r1 = load_blocks(d, src + src_stride, step);
    hn::StoreU(hn::InterleaveLower(d, r0, r1), d, dst);
    hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, dst + dst_stride);
  }
}

#endif

// src (rows, cols) -> dst (cols, rows). Edges are done by strips that overlap the ones before.
template <class T>
void transpose(const T* src, int64_t src_stride, int64_t rows, int64_t cols, T* dst, int64_t dst_stride) {
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t block = kBlockLanes<T>;
  if (rows >= lanes && cols >= block) {
    for (int64_t row = 0; row < rows; row += lanes) {
      const int64_t i = std::min(row, rows - lanes);
      for (int64_t col = 0; col < cols; col += block) {
        const int64_t j = std::min(col, cols - block);
        // The rows that most likely come next, a quarter of them with each quarter of a line.
        const int64_t quarter = col / block % 4, ahead = i + lanes + quarter * lanes / 4;
        for (int64_t r = 0; r < lanes / 4; ++r) hwy::Prefetch(src + (ahead + r) * src_stride + col);
        transpose_strip(d, src + i * src_stride + j, src_stride, dst + j * dst_stride + i, dst_stride);
      }
    }
    return;
  }
#endif
  for (int64_t col = 0; col < cols; ++col)
    for (int64_t row = 0; row < rows; ++row) dst[col * dst_stride + row] = src[row * src_stride + col];
}

}  // namespace isochron::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
