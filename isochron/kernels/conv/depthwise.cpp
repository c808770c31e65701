#include "isochron/kernels/conv/depthwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "isochron/kernels/conv/depthwise.cpp"
#include <hwy/foreach_target.h>

#include "isochron/kernels/conv/channels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isochron::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void depthwise_forward_simd(const ConvShape& s, const float* x, const float* kernel, const float* bias, float* y,
                            int thread, int threads) {
  const int64_t channels = s.in_channels;
  const Share mine = share_of(s.batch * s.out_pixels(), 1, thread, threads);
  PixelWalk at(s, mine.begin);
  for (int64_t pixel = mine.begin; pixel < mine.end; ++pixel, at.next(s)) {
    const Seen seen(s, at);
    const float* image = x + at.image * s.in_pixels() * channels;
    for_channels<float>(0, channels, [&](auto d, int64_t c) HWY_ATTR {
      auto sum = bias ? hn::LoadU(d, bias + c) : hn::Zero(d);
      seen.each(s, [&](int64_t tap, int64_t from) HWY_ATTR {
        sum = hn::MulAdd(hn::LoadU(d, image + from * channels + c), hn::LoadU(d, kernel + tap * channels + c), sum);
      });
      hn::StoreU(sum, d, y + pixel * channels + c);
    });
  }
}

// Each input pixel gathers from the output pixels that saw it.
void depthwise_input_grad_simd(const ConvShape& s, const float* dy, const float* kernel, float* dx, int thread,
                               int threads) {
  const int64_t channels = s.in_channels;
  const Share mine = share_of(s.batch * s.in_pixels(), 1, thread, threads);
  const auto seen_by = [&](size_t axis, int64_t place, int64_t tap) -> int64_t {
    const int64_t from = place + s.pad[axis] - tap * s.dilation[axis];
    if (from < 0 || from % s.stride[axis] != 0 || from / s.stride[axis] >= s.out[axis]) return -1;
    return from / s.stride[axis];
  };
  for (int64_t pixel = mine.begin; pixel < mine.end; ++pixel) {
    const int64_t image = pixel / s.in_pixels(), within = pixel % s.in_pixels();
    const int64_t place[3] = {within / (s.in[1] * s.in[2]), within / s.in[2] % s.in[1], within % s.in[2]};
    float* to = dx + pixel * channels;
    std::fill_n(to, channels, 0.f);
    for (int64_t tap = 0; tap < s.taps(); ++tap) {
      const int64_t z = seen_by(0, place[0], tap / (s.window[1] * s.window[2]));
      const int64_t y = seen_by(1, place[1], tap / s.window[2] % s.window[1]);
      const int64_t x = seen_by(2, place[2], tap % s.window[2]);
      if (z < 0 || y < 0 || x < 0) continue;
      const float* from = dy + (image * s.out_pixels() + (z * s.out[1] + y) * s.out[2] + x) * channels;
      for_channels<float>(0, channels, [&](auto d, int64_t c) HWY_ATTR {
        const auto part = hn::LoadU(d, kernel + tap * channels + c);
        hn::StoreU(hn::MulAdd(hn::LoadU(d, from + c), part, hn::LoadU(d, to + c)), d, to + c);
      });
    }
  }
}

// Channels are shared out, so every sum has one order.
void depthwise_kernel_grad_simd(const ConvShape& s, const float* x, const float* dy, float* dkernel, int thread,
                                int threads) {
  const int64_t channels = s.in_channels;
  const Share mine = share_of(channels, 16, thread, threads);
  for (int64_t tap = 0; tap < s.taps(); ++tap)
    for (int64_t c = mine.begin; c < mine.end; ++c) dkernel[tap * channels + c] = 0;
  const int64_t pixels = s.batch * s.out_pixels();
  PixelWalk at(s, 0);
  for (int64_t pixel = 0; pixel < pixels; ++pixel, at.next(s)) {
    const Seen seen(s, at);
    const float* image = x + at.image * s.in_pixels() * channels;
    for_channels<float>(mine.begin, mine.end, [&](auto d, int64_t c) HWY_ATTR {
      const auto gradient = hn::LoadU(d, dy + pixel * channels + c);
      seen.each(s, [&](int64_t tap, int64_t from) HWY_ATTR {
        float* to = dkernel + tap * channels + c;
        hn::StoreU(hn::MulAdd(hn::LoadU(d, image + from * channels + c), gradient, hn::LoadU(d, to)), d, to);
      });
    });
  }
}

}  // namespace isochron::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isochron::kernels {
HWY_EXPORT(depthwise_forward_simd);
HWY_EXPORT(depthwise_input_grad_simd);
HWY_EXPORT(depthwise_kernel_grad_simd);

void depthwise_forward(const ConvShape& shape, const float* x, const float* kernel, const float* bias, float* y,
                       int thread, int threads) {
  HWY_DYNAMIC_DISPATCH(depthwise_forward_simd)(shape, x, kernel, bias, y, thread, threads);
}
void depthwise_input_grad(const ConvShape& shape, const float* dy, const float* kernel, float* dx, int thread,
                          int threads) {
  HWY_DYNAMIC_DISPATCH(depthwise_input_grad_simd)(shape, dy, kernel, dx, thread, threads);
}
void depthwise_kernel_grad(const ConvShape& shape, const float* x, const float* dy, float* dkernel, int thread,
                           int threads) {
  HWY_DYNAMIC_DISPATCH(depthwise_kernel_grad_simd)(shape, x, dy, dkernel, thread, threads);
}
}  // namespace isochron::kernels
#endif
