// One loop over a tile for any functor on Highway vectors, remainder included.
#if defined(ISOCHRON_KERNELS_TILE_TILE_LOOP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCHRON_KERNELS_TILE_TILE_LOOP_INL_H_
#undef ISOCHRON_KERNELS_TILE_TILE_LOOP_INL_H_
#else
#define ISOCHRON_KERNELS_TILE_TILE_LOOP_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "isochron/kernels/tile/vector_parts-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isochron {
namespace kernels {
namespace HWY_NAMESPACE {

template <class T>
struct Immediates {
  T imm0, imm1;
};

// F::apply(d, immediates, a, b, c); operands beyond kOperands repeat the first.
template <class T, int kOperands, class F>
void tile_loop(void* dst_bytes, const void* a_bytes, const void* b_bytes, const void* c_bytes, int64_t n,
               const double* imm) {
  const hn::ScalableTag<T> d;
  T* dst = static_cast<T*>(dst_bytes);
  const T* a = static_cast<const T*>(a_bytes);
  const T* b = static_cast<const T*>(kOperands > 1 ? b_bytes : a_bytes);
  const T* c = static_cast<const T*>(kOperands > 2 ? c_bytes : a_bytes);
  const Immediates<T> immediates{static_cast<T>(imm[0]), static_cast<T>(imm[1])};
  for_vectors(d, n, [&](int64_t i, auto part) HWY_ATTR {
    const auto va = part.load(d, a + i);
    const auto vb = kOperands > 1 ? part.load(d, b + i) : va;
    const auto vc = kOperands > 2 ? part.load(d, c + i) : va;
    part.store(F::apply(d, immediates, va, vb, vc), d, dst + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace kernels
}  // namespace isochron
HWY_AFTER_NAMESPACE();

#endif
