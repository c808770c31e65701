// exp of a vector of either width: our polynomial for float, the C library's for double.
#if defined(ISOCHRON_KERNELS_TILE_EXPONENTIAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCHRON_KERNELS_TILE_EXPONENTIAL_INL_H_
#undef ISOCHRON_KERNELS_TILE_EXPONENTIAL_INL_H_
#else
#define ISOCHRON_KERNELS_TILE_EXPONENTIAL_INL_H_
#endif

#include <cmath>

#include "isochron/kernels/tile/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isochron::kernels::HWY_NAMESPACE {

// A function of single doubles, lane by lane.
template <class D, class F>
HWY_INLINE hn::Vec<D> each_lane(D d, hn::Vec<D> x, F f) {
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(d)];
  hn::Store(x, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = f(lanes[i]);
  return hn::Load(d, lanes);
}

template <class D>
HWY_INLINE hn::Vec<D> exponential(D d, hn::Vec<D> x) {
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return vector_exp(d, x);
  } else {
    return each_lane(d, x, [](double v) { return std::exp(v); });
  }
}

}  // namespace isochron::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
