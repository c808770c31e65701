// Loops over channels in vectors, the rest one by one.
#if defined(ISOCHRON_KERNELS_CONV_CHANNELS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCHRON_KERNELS_CONV_CHANNELS_INL_H
#undef ISOCHRON_KERNELS_CONV_CHANNELS_INL_H
#else
#define ISOCHRON_KERNELS_CONV_CHANNELS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "isochron/kernels/conv/conv_shape.h"
#include "isochron/kernels/share.h"

HWY_BEFORE_NAMESPACE();
namespace isochron::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// f(tag, channel) for channels begin .. end
template <class T, class F>
HWY_INLINE void for_channels(int64_t begin, int64_t end, F&& f) {
  const hn::ScalableTag<T> wide;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(wide));
  int64_t c = begin;
  for (; c + lanes <= end; c += lanes) f(wide, c);
  for (; c < end; ++c) f(hn::CappedTag<T, 1>(), c);
}

// The part of a window that lies in the image, for one output pixel. Its elements are looked for once and used for
// every vector of channels, unless they are very many.
class Seen {
 public:
  Seen(const ConvShape& s, const PixelWalk& at) : kept_(s.taps() <= kMostKept) {
    const int64_t place[3] = {at.z, at.y, at.x};
    for (size_t i = 0; i < 3; ++i) {
      first_[i] = place[i] * s.stride[i] - s.pad[i];
      const int64_t step = s.dilation[i];
      begin_[i] = first_[i] >= 0 ? 0 : (-first_[i] + step - 1) / step;
      end_[i] = std::min(s.window[i], (s.in[i] - first_[i] + step - 1) / step);
    }
    if (kept_) find(s, [&](int64_t tap, int64_t pixel) { elements_[count_++] = {tap, pixel}; });
  }
  int64_t count() const {
    int64_t n = 1;
    for (size_t i = 0; i < 3; ++i) n *= std::max<int64_t>(end_[i] - begin_[i], 0);
    return n;
  }
  // f(tap, pixel of the image) in the order of the taps
  template <class F>
  HWY_INLINE void each(const ConvShape& s, F&& f) const {
    if (!kept_) return find(s, f);
    for (int i = 0; i < count_; ++i) f(elements_[i].tap, elements_[i].pixel);
  }

 private:
  template <class F>
  HWY_INLINE void find(const ConvShape& s, F&& f) const {
    for (int64_t z = begin_[0]; z < end_[0]; ++z)
      for (int64_t y = begin_[1]; y < end_[1]; ++y) {
        const int64_t line = ((first_[0] + z * s.dilation[0]) * s.in[1] + first_[1] + y * s.dilation[1]) * s.in[2];
        const int64_t taps = (z * s.window[1] + y) * s.window[2];
        for (int64_t x = begin_[2]; x < end_[2]; ++x) f(taps + x, line + first_[2] + x * s.dilation[2]);
      }
  }

  static constexpr int kMostKept = 32;
  struct Element {
    int64_t tap, pixel;
  };
  int64_t first_[3];           // where the window starts, perhaps in the padding
  int64_t begin_[3], end_[3];  // taps inside
  bool kept_;
  int count_ = 0;
  Element elements_[kMostKept];
};

}  // namespace isochron::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
