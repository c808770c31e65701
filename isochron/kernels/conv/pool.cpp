#include "isochron/kernels/conv/pool.h"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "isochron/kernels/conv/pool.cpp"
#include <hwy/foreach_target.h>

#include "isochron/kernels/conv/channels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isochron::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Whether v takes the place of the best so far: greater, or the first NaN.
template <class V>
HWY_INLINE auto beats(V v, V best) {
  return hn::Or(hn::Gt(v, best), hn::AndNot(hn::IsNaN(best), hn::IsNaN(v)));
}

template <class T, class F>
HWY_INLINE void for_pixels(const ConvShape& s, Share pixels, F&& f) {
  PixelWalk at(s, pixels.begin);
  for (int64_t pixel = pixels.begin; pixel < pixels.end; ++pixel, at.next(s)) f(pixel, at.image, Seen(s, at));
}

template <class T>
T weight_of(const ConvShape& s, const Seen& seen, bool count_padding) {
  return T{1} / static_cast<T>(count_padding ? s.taps() : std::max<int64_t>(seen.count(), 1));
}

template <class T, bool kPick>
void max_pixels(const ConvShape& s, const PoolArgs<T>& a, Share pixels) {
  const int64_t channels = s.in_channels, image_size = s.in_pixels() * channels;
  for_pixels<T>(s, pixels, [&](int64_t pixel, int64_t image, const Seen& seen) HWY_ATTR {
    const T* x = a.x + image * image_size;
    [[maybe_unused]] const T* from = kPick ? a.from + image * image_size : nullptr;
    for_channels<T>(0, channels, [&](auto d, int64_t c) HWY_ATTR {
      auto best = hn::Set(d, -std::numeric_limits<T>::infinity());
      auto picked = hn::Zero(d);
      bool first = true;
      seen.each(s, [&](int64_t, int64_t place) HWY_ATTR {
        const auto v = hn::LoadU(d, x + place * channels + c);
        if constexpr (kPick) {
          const auto other = hn::LoadU(d, from + place * channels + c);
          picked = first ? other : hn::IfThenElse(beats(v, best), other, picked);
        }
        best = first ? v : hn::IfThenElse(beats(v, best), v, best);
        first = false;
      });
      hn::StoreU(kPick ? picked : best, d, a.result + pixel * channels + c);
    });
  });
}

template <class T>
void mean_pixels(const ConvShape& s, const PoolArgs<T>& a, Share pixels) {
  const int64_t channels = s.in_channels;
  for_pixels<T>(s, pixels, [&](int64_t pixel, int64_t image, const Seen& seen) HWY_ATTR {
    const T* x = a.x + image * s.in_pixels() * channels;
    const T weight = weight_of<T>(s, seen, a.count_padding);
    for_channels<T>(0, channels, [&](auto d, int64_t c) HWY_ATTR {
      auto sum = hn::Zero(d);
      seen.each(s,
                [&](int64_t, int64_t place) HWY_ATTR { sum = hn::Add(sum, hn::LoadU(d, x + place * channels + c)); });
      hn::StoreU(hn::Mul(sum, hn::Set(d, weight)), d, a.result + pixel * channels + c);
    });
  });
}

// kCover: each element is written once, after it was read; else the gradient is added onto zeros.
template <class T, bool kCover>
void max_backward_pixels(const ConvShape& s, const PoolArgs<T>& a, Share pixels) {
  const int64_t channels = s.in_channels, image_size = s.in_pixels() * channels;
  for_pixels<T>(s, pixels, [&](int64_t pixel, int64_t image, const Seen& seen) HWY_ATTR {
    const T* x = a.x + image * image_size;
    T* dx = a.result + image * image_size;
    for_channels<T>(0, channels, [&](auto d, int64_t c) HWY_ATTR {
      auto best = hn::Set(d, -std::numeric_limits<T>::infinity());
      bool first = true;
      seen.each(s, [&](int64_t, int64_t place) HWY_ATTR {
        const auto v = hn::LoadU(d, x + place * channels + c);
        best = first ? v : hn::IfThenElse(beats(v, best), v, best);
        first = false;
      });
      const auto gradient = hn::LoadU(d, a.gradient + pixel * channels + c);
      auto open = hn::Eq(hn::Zero(d), hn::Zero(d));
      const auto nan = hn::IsNaN(best);
      seen.each(s, [&](int64_t, int64_t place) HWY_ATTR {
        const auto v = hn::LoadU(d, x + place * channels + c);
        const auto here = hn::And(open, hn::Or(hn::Eq(v, best), hn::And(nan, hn::IsNaN(v))));
        open = hn::AndNot(here, open);
        T* to = dx + place * channels + c;
        const auto part = hn::IfThenElseZero(here, gradient);
        hn::StoreU(kCover ? part : hn::Add(part, hn::LoadU(d, to)), d, to);
      });
    });
  });
}

template <class T, bool kCover>
void mean_backward_pixels(const ConvShape& s, const PoolArgs<T>& a, Share pixels) {
  const int64_t channels = s.in_channels;
  for_pixels<T>(s, pixels, [&](int64_t pixel, int64_t image, const Seen& seen) HWY_ATTR {
    T* dx = a.result + image * s.in_pixels() * channels;
    const T weight = weight_of<T>(s, seen, a.count_padding);
    for_channels<T>(0, channels, [&](auto d, int64_t c) HWY_ATTR {
      const auto part = hn::Mul(hn::LoadU(d, a.gradient + pixel * channels + c), hn::Set(d, weight));
      seen.each(s, [&](int64_t, int64_t place) HWY_ATTR {
        T* to = dx + place * channels + c;
        hn::StoreU(kCover ? part : hn::Add(part, hn::LoadU(d, to)), d, to);
      });
    });
  });
}

template <class T>
void pool_work(PoolWork work, const ConvShape& s, const PoolArgs<T>& a, int thread, int threads) {
  const int64_t pixels = s.batch * s.out_pixels();
  const Share mine = share_of(pixels, 1, thread, threads);
  if (work == PoolWork::max) return max_pixels<T, false>(s, a, mine);
  if (work == PoolWork::max_pick) return max_pixels<T, true>(s, a, mine);
  if (work == PoolWork::mean) return mean_pixels<T>(s, a, mine);
  const bool max = work == PoolWork::max_backward;
  if (covers(s)) return max ? max_backward_pixels<T, true>(s, a, mine) : mean_backward_pixels<T, true>(s, a, mine);
  const Share images = share_of(s.batch, 1, thread, threads);
  const int64_t image_size = s.in_pixels() * s.in_channels;
  std::fill(a.result + images.begin * image_size, a.result + images.end * image_size, T{0});
  const Share theirs{images.begin * s.out_pixels(), images.end * s.out_pixels()};
  max ? max_backward_pixels<T, false>(s, a, theirs) : mean_backward_pixels<T, false>(s, a, theirs);
}

void pool_f32(PoolWork work, const ConvShape& s, const PoolArgs<float>& a, int thread, int threads) {
  pool_work(work, s, a, thread, threads);
}
void pool_f64(PoolWork work, const ConvShape& s, const PoolArgs<double>& a, int thread, int threads) {
  pool_work(work, s, a, thread, threads);
}

}  // namespace isochron::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isochron::kernels {
HWY_EXPORT(pool_f32);
HWY_EXPORT(pool_f64);

void pool(PoolWork work, const ConvShape& shape, const PoolArgs<float>& args, int thread, int threads) {
  HWY_DYNAMIC_DISPATCH(pool_f32)(work, shape, args, thread, threads);
}
void pool(PoolWork work, const ConvShape& shape, const PoolArgs<double>& args, int thread, int threads) {
  HWY_DYNAMIC_DISPATCH(pool_f64)(work, shape, args, thread, threads);
}
}  // namespace isochron::kernels
#endif
