// The sizes of a convolution: x (batch, in…, in_channels), kernel (window…, in_channels / groups, out_channels),
// y (batch, out…, out_channels). Always three spatial axes; those in front are 1 when there are fewer.
#pragma once

#include <array>
#include <cstdint>

namespace isochron::kernels {

struct ConvShape {
  using Axes = std::array<int64_t, 3>;
  int64_t batch = 0, in_channels = 0, out_channels = 0, groups = 1;
  Axes in{1, 1, 1}, out{1, 1, 1}, window{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, pad{0, 0, 0};  // pad: before

  int64_t in_pixels() const { return in[0] * in[1] * in[2]; }
  int64_t out_pixels() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return window[0] * window[1] * window[2]; }
  int64_t group_in() const { return in_channels / groups; }
  int64_t group_out() const { return out_channels / groups; }
  // Rows of the kernel as a matrix (depth, out_channels).
  int64_t depth() const { return taps() * group_in(); }
  // Every output pixel sees the input pixel at its own place, and no other.
  bool pointwise() const {
    const Axes ones{1, 1, 1}, none{0, 0, 0};
    return window == ones && stride == ones && pad == none && in == out;
  }
};

// Which part of a patch lies where: calls run(k, offset, length) for pieces that lie in the image, `offset` elements
// after its start, and zero(k, length) for those in the padding; k counts from `begin`. The patch is the one seen by
// output pixel (z, y, x) in one group, cut to its elements begin .. end; rows of the image outside rows_begin ..
// rows_end count as padding.
struct PatchCut {
  int64_t group, begin, end, rows_begin, rows_end;
};
template <class Run, class Zero>
inline void for_each_piece(const ConvShape& s, int64_t z, int64_t y, int64_t x, const PatchCut& cut, Run run,
                           Zero zero) {
  const int64_t channels = s.in_channels, own = s.group_in(), row = s.window[2] * own;
  const bool merged = s.groups == 1 && s.dilation[2] == 1;
  const int64_t first_x = x * s.stride[2] - s.pad[2];
  for (int64_t tap_row = cut.begin / row; tap_row * row < cut.end; ++tap_row) {
    const int64_t begin = tap_row * row < cut.begin ? cut.begin - tap_row * row : 0;
    const int64_t end = cut.end - tap_row * row < row ? cut.end - tap_row * row : row;
    const int64_t k = tap_row * row - cut.begin;  // where the row would start
    const int64_t iz = z * s.stride[0] - s.pad[0] + tap_row / s.window[1] * s.dilation[0];
    const int64_t iy = y * s.stride[1] - s.pad[1] + tap_row % s.window[1] * s.dilation[1];
    if (iz < 0 || iz >= s.in[0] || iy < cut.rows_begin || iy >= cut.rows_end) {
      zero(k + begin, end - begin);
      continue;
    }
    const int64_t line = (iz * s.in[1] + iy) * s.in[2];
    if (merged) {
      const int64_t start = first_x * channels;
      const auto clamp = [&](int64_t at, int64_t low) { return at < low ? low : at > end ? end : at; };
      const int64_t first = clamp(-start, begin), last = clamp(s.in[2] * channels - start, first);
      if (first > begin) zero(k + begin, first - begin);
      if (last > first) run(k + first, line * channels + start + first, last - first);
      if (end > last) zero(k + last, end - last);
      continue;
    }
    for (int64_t tap = begin / own; tap * own < end; ++tap) {
      const int64_t c0 = tap * own < begin ? begin - tap * own : 0;
      const int64_t c1 = end - tap * own < own ? end - tap * own : own;
      const int64_t ix = first_x + tap * s.dilation[2];
      if (ix < 0 || ix >= s.in[2])
        zero(k + tap * own + c0, c1 - c0);
      else
        run(k + tap * own + c0, (line + ix) * channels + cut.group * own + c0, c1 - c0);
    }
  }
}

// An output pixel that moves along its image, row by row, and on to the next image.
struct PixelWalk {
  int64_t image, z, y, x;
  PixelWalk(const ConvShape& s, int64_t pixel)
      : image(pixel / s.out_pixels()),
        z(pixel % s.out_pixels() / (s.out[1] * s.out[2])),
        y(pixel / s.out[2] % s.out[1]),
        x(pixel % s.out[2]) {}
  void next(const ConvShape& s) {
    if (++x < s.out[2]) return;
    x = 0;
    if (++y < s.out[1]) return;
    y = 0;
    if (++z < s.out[0]) return;
    z = 0;
    ++image;
  }
};

}  // namespace isochron::kernels
