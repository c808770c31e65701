// Walking over memory in Highway vectors, with the remainder as a vector of which only the first lanes count.
//
//   for_vectors(d, n, [&](int64_t i, auto part) HWY_ATTR { part.store(hn::Neg(part.load(d, x + i)), d, y + i); });
#if defined(ISOCHRON_KERNELS_TILE_VECTOR_PARTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCHRON_KERNELS_TILE_VECTOR_PARTS_INL_H_
#undef ISOCHRON_KERNELS_TILE_VECTOR_PARTS_INL_H_
#else
#define ISOCHRON_KERNELS_TILE_VECTOR_PARTS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace isochron {
namespace kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct WholeVector {
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, const hn::TFromD<D>* p) const {
    return hn::LoadU(d, p);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> load_or(D d, const hn::TFromD<D>* p, hn::Vec<D>) const {
    return hn::LoadU(d, p);
  }
  template <class D>
  HWY_INLINE void store(hn::Vec<D> v, D d, hn::TFromD<D>* p) const {
    hn::StoreU(v, d, p);
  }
};

// Memory beyond the first `count` lanes is not touched; loads fill the other lanes with zero or `other`.
struct FirstLanes {
  size_t count;
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, const hn::TFromD<D>* p) const {
    return hn::MaskedLoad(hn::FirstN(d, count), d, p);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> load_or(D d, const hn::TFromD<D>* p, hn::Vec<D> other) const {
    return hn::IfThenElse(hn::FirstN(d, count), load(d, p), other);
  }
  template <class D>
  HWY_INLINE void store(hn::Vec<D> v, D d, hn::TFromD<D>* p) const {
    hn::BlendedStore(v, hn::FirstN(d, count), d, p);
  }
};

template <class D, class F>
HWY_INLINE void for_vectors(D d, int64_t n, F f) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) f(i, WholeVector{});
  if (HWY_TARGET != HWY_SCALAR && i < n) f(i, FirstLanes{static_cast<size_t>(n - i)});
}

}  // namespace HWY_NAMESPACE
}  // namespace kernels
}  // namespace isochron
HWY_AFTER_NAMESPACE();

#endif
