// One loop over a tile for any functor on Highway vectors, remainder included.
#if defined(ISOCHRON_KERNELS_TILE_TILE_LOOP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCHRON_KERNELS_TILE_TILE_LOOP_INL_H_
#undef ISOCHRON_KERNELS_TILE_TILE_LOOP_INL_H_
#else
#define ISOCHRON_KERNELS_TILE_TILE_LOOP_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace isochron {
namespace kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct Immediates {
  T imm0, imm1;
};

// The first `count` < Lanes(d) elements at p, zeros behind; nothing beyond them is touched.
template <class D, class T>
HWY_INLINE hn::Vec<D> load_first(D d, const T* p, int64_t count) {
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, p);
}
template <class D, class T>
HWY_INLINE void store_first(hn::Vec<D> v, D d, T* p, int64_t count) {
  hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(count)), d, p);
}

// F::apply(d, immediates, a, b, c); operands beyond kOperands repeat the first.
template <class T, int kOperands, class F>
void tile_loop(void* dst_bytes, const void* a_bytes, const void* b_bytes, const void* c_bytes, int64_t n,
               const double* imm) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  T* dst = static_cast<T*>(dst_bytes);
  const T* a = static_cast<const T*>(a_bytes);
  const T* b = static_cast<const T*>(kOperands > 1 ? b_bytes : a_bytes);
  const T* c = static_cast<const T*>(kOperands > 2 ? c_bytes : a_bytes);
  const Immediates<T> immediates{static_cast<T>(imm[0]), static_cast<T>(imm[1])};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto va = hn::LoadU(d, a + i);
    const auto vb = kOperands > 1 ? hn::LoadU(d, b + i) : va;
    const auto vc = kOperands > 2 ? hn::LoadU(d, c + i) : va;
    hn::StoreU(F::apply(d, immediates, va, vb, vc), d, dst + i);
  }
  if (HWY_TARGET != HWY_SCALAR && i < n) {
    const auto va = load_first(d, a + i, n - i);
    const auto vb = kOperands > 1 ? load_first(d, b + i, n - i) : va;
    const auto vc = kOperands > 2 ? load_first(d, c + i, n - i) : va;
    store_first(F::apply(d, immediates, va, vb, vc), d, dst + i, n - i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kernels
}  // namespace isochron
HWY_AFTER_NAMESPACE();

#endif
