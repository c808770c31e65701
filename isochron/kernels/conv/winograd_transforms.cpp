#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "isochron/kernels/conv/winograd_transforms.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "isochron/kernels/conv/winograd_transforms.h"

HWY_BEFORE_NAMESPACE();
namespace isochron::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The polynomials behind the method are taken at 0, a, -a, b, -b and infinity. With 3/4 and 3/2, exact in binary and
// close to 1 on both sides, rounding errors are less than half of those with the usual 1 and 2.
inline constexpr float kA = 0.75f, kB = 1.5f, kA2 = kA * kA, kB2 = kB * kB;
// 1 / prod(p - q) over the other finite points q, for p = 0, a and b
inline constexpr float kAt0 = 1 / (kA2 * kB2), kAtA = 1 / (2 * kA2 * (kA2 - kB2)), kAtB = 1 / (2 * kB2 * (kB2 - kA2));

// Each of the following takes the values of one line and gives those of the carried line, along either axis.
template <class V, class D>
HWY_INLINE V scaled(D d, float factor, V v) {
  return hn::Mul(hn::Set(d, factor), v);
}
template <class V, class D>
HWY_INLINE V scaled_add(D d, float factor, V v, V other) {
  return hn::MulAdd(hn::Set(d, factor), v, other);
}

// d (6) -> B^T d (6)
template <class V, class D>
HWY_INLINE void input_line(D d, const V* in, V* out) {
  const V even_a = scaled_add(d, -kB2, in[2], in[4]), odd_a = scaled(d, kA, scaled_add(d, -kB2, in[1], in[3]));
  const V even_b = scaled_add(d, -kA2, in[2], in[4]), odd_b = scaled(d, kB, scaled_add(d, -kA2, in[1], in[3]));
  out[0] = scaled_add(d, kA2 * kB2, in[0], scaled_add(d, -(kA2 + kB2), in[2], in[4]));
  out[1] = hn::Add(even_a, odd_a);
  out[2] = hn::Sub(even_a, odd_a);
  out[3] = hn::Add(even_b, odd_b);
  out[4] = hn::Sub(even_b, odd_b);
  out[5] = scaled_add(d, kA2 * kB2, in[1], scaled_add(d, -(kA2 + kB2), in[3], in[5]));
}

// y (4) -> A y (6)
template <class V, class D>
HWY_INLINE void gradient_line(D d, const V* in, V* out) {
  const V even_a = scaled_add(d, kA2, in[2], in[0]), odd_a = scaled(d, kA, scaled_add(d, kA2, in[3], in[1]));
  const V even_b = scaled_add(d, kB2, in[2], in[0]), odd_b = scaled(d, kB, scaled_add(d, kB2, in[3], in[1]));
  out[0] = in[0];
  out[1] = hn::Add(even_a, odd_a);
  out[2] = hn::Sub(even_a, odd_a);
  out[3] = hn::Add(even_b, odd_b);
  out[4] = hn::Sub(even_b, odd_b);
  out[5] = in[3];
}

// m (6) -> A^T m (4)
template <class V, class D>
HWY_INLINE void output_line(D d, const V* in, V* out) {
  const V sum_a = hn::Add(in[1], in[2]), difference_a = hn::Sub(in[1], in[2]);
  const V sum_b = hn::Add(in[3], in[4]), difference_b = hn::Sub(in[3], in[4]);
  out[0] = hn::Add(in[0], hn::Add(sum_a, sum_b));
  out[1] = scaled_add(d, kB, difference_b, scaled(d, kA, difference_a));
  out[2] = scaled_add(d, kB2, sum_b, scaled(d, kA2, sum_a));
  out[3] = scaled_add(d, kB * kB2, difference_b, scaled_add(d, kA * kA2, difference_a, in[5]));
}

// g (3) -> G g (6)
template <class V, class D>
HWY_INLINE void kernel_line(D d, const V* in, V* out) {
  const V even_a = scaled(d, kAtA, scaled_add(d, kA2, in[2], in[0])), odd_a = scaled(d, kAtA * kA, in[1]);
  const V even_b = scaled(d, kAtB, scaled_add(d, kB2, in[2], in[0])), odd_b = scaled(d, kAtB * kB, in[1]);
  out[0] = scaled(d, kAt0, in[0]);
  out[1] = hn::Add(even_a, odd_a);
  out[2] = hn::Sub(even_a, odd_a);
  out[3] = hn::Add(even_b, odd_b);
  out[4] = hn::Sub(even_b, odd_b);
  out[5] = in[2];
}

// u (6) -> G^T u (3)
template <class V, class D>
HWY_INLINE void kernel_back_line(D d, const V* in, V* out) {
  const V sum_a = hn::Add(in[1], in[2]), sum_b = hn::Add(in[3], in[4]);
  out[0] = scaled_add(d, kAt0, in[0], scaled_add(d, kAtA, sum_a, scaled(d, kAtB, sum_b)));
  out[1] = scaled_add(d, kAtA * kA, hn::Sub(in[1], in[2]), scaled(d, kAtB * kB, hn::Sub(in[3], in[4])));
  out[2] = scaled_add(d, kAtA * kA2, sum_a, scaled_add(d, kAtB * kB2, sum_b, in[5]));
}

// Runs f(tag, first channel) over channels in full vectors, then in vectors of at most 8.
template <class F>
HWY_INLINE void over_channels(int64_t channels, F&& f) {
  const hn::ScalableTag<float> wide;
  const hn::CappedTag<float, 8> narrow;
  const int64_t step = static_cast<int64_t>(hn::Lanes(wide));
  int64_t c = 0;
  for (; c + step <= channels; c += step) f(wide, c);
  for (; c < channels; c += static_cast<int64_t>(hn::Lanes(narrow))) f(narrow, c);
}

// carried (6,6) = line(rows) of line(columns) of load(i, j), an N x N tile
template <int N, class D, class Line, class Load>
HWY_INLINE void carry(D d, Line line, Load load, float* carried, int64_t plane) {
  using V = hn::Vec<D>;
  V half[6][N];
#pragma GCC unroll 6
  for (int j = 0; j < N; ++j) {
    V in[N], out[6];
#pragma GCC unroll 6
    for (int i = 0; i < N; ++i) in[i] = load(i, j);
    line(in, out);
#pragma GCC unroll 6
    for (int i = 0; i < 6; ++i) half[i][j] = out[i];
  }
#pragma GCC unroll 6
  for (int i = 0; i < 6; ++i) {
    V out[6];
    line(half[i], out);
#pragma GCC unroll 6
    for (int j = 0; j < 6; ++j) hn::StoreU(out[j], d, carried + (6 * i + j) * plane);
  }
}

// result(i, j), N x N, from 36 numbers got by load(i)
template <int N, class D, class Line, class Load, class Store>
HWY_INLINE void uncarry(D, Line line, Load load, Store store) {
  using V = hn::Vec<D>;
  V half[N][6];
#pragma GCC unroll 6
  for (int j = 0; j < 6; ++j) {
    V in[6], out[N];
#pragma GCC unroll 6
    for (int i = 0; i < 6; ++i) in[i] = load(6 * i + j);
    line(in, out);
#pragma GCC unroll 6
    for (int i = 0; i < N; ++i) half[i][j] = out[i];
  }
#pragma GCC unroll 6
  for (int i = 0; i < N; ++i) {
    V out[N];
    line(half[i], out);
#pragma GCC unroll 6
    for (int j = 0; j < N; ++j) store(i, j, out[j]);
  }
}

template <int N, class Line>
HWY_INLINE void carry_tile(const WinogradImage& image, const float* pixels, int64_t row, int64_t column, float* carried,
                           int64_t plane, Line line) {
  const int64_t line_step = image.columns * image.channels;
  const float* from = pixels + row * line_step + column * image.channels;
  if (row >= 0 && column >= 0 && row + N <= image.rows && column + N <= image.columns) {
    over_channels(image.channels, [&](auto d, int64_t c) HWY_ATTR {
      carry<N>(
          d, [&](const auto* in, auto* out) HWY_ATTR { line(d, in, out); },
          [&](int i, int j) HWY_ATTR { return hn::LoadU(d, from + i * line_step + j * image.channels + c); },
          carried + c, plane);
    });
    return;
  }
  over_channels(image.channels, [&](auto d, int64_t c) HWY_ATTR {
    carry<N>(
        d, [&](const auto* in, auto* out) HWY_ATTR { line(d, in, out); },
        [&](int i, int j) HWY_ATTR {
          const bool inside = row + i >= 0 && row + i < image.rows && column + j >= 0 && column + j < image.columns;
          return inside ? hn::LoadU(d, from + i * line_step + j * image.channels + c) : hn::Zero(d);
        },
        carried + c, plane);
  });
}

void carry_input_simd(const WinogradImage& image, const float* pixels, int64_t row, int64_t column, float* carried,
                      int64_t plane) {
  carry_tile<6>(image, pixels, row, column, carried, plane,
                [](auto d, const auto* in, auto* out) HWY_ATTR { input_line(d, in, out); });
}

void carry_gradient_simd(const WinogradImage& image, const float* pixels, int64_t row, int64_t column, float* carried,
                         int64_t plane) {
  carry_tile<4>(image, pixels, row, column, carried, plane,
                [](auto d, const auto* in, auto* out) HWY_ATTR { gradient_line(d, in, out); });
}

void carry_back_simd(const WinogradImage& image, const float* carried, int64_t plane, const float* bias, bool relu,
                     int64_t row, int64_t column, float* pixels) {
  const int64_t line_step = image.columns * image.channels;
  float* to = pixels + row * line_step + column * image.channels;
  const int64_t rows = image.rows - row, columns = image.columns - column;
  over_channels(image.channels, [&](auto d, int64_t c) HWY_ATTR {
    const auto start = bias ? hn::LoadU(d, bias + c) : hn::Zero(d);
    const auto least = relu ? hn::Zero(d) : hn::Set(d, -INFINITY);
    uncarry<4>(
        d, [&](const auto* in, auto* out) HWY_ATTR { output_line(d, in, out); },
        [&](int i) HWY_ATTR { return hn::LoadU(d, carried + i * plane + c); },
        [&](int i, int j, auto v) HWY_ATTR {
          // Max passes a NaN on when it is the second operand.
          if (i < rows && j < columns)
            hn::StoreU(hn::Max(least, hn::Add(v, start)), d, to + i * line_step + j * image.channels + c);
        });
  });
}

void carry_kernels_simd(const float* kernels, int64_t tap_stride, int64_t count, float* carried, int64_t plane) {
  over_channels(count, [&](auto d, int64_t c) HWY_ATTR {
    carry<3>(
        d, [&](const auto* in, auto* out) HWY_ATTR { kernel_line(d, in, out); },
        [&](int i, int j) HWY_ATTR { return hn::LoadU(d, kernels + (3 * i + j) * tap_stride + c); }, carried + c,
        plane);
  });
}

void carry_kernels_back_simd(const float* sums, int64_t plane, int64_t parts, int64_t part_stride, int64_t count,
                             float* kernels, int64_t tap_stride) {
  over_channels(count, [&](auto d, int64_t c) HWY_ATTR {
    uncarry<3>(
        d, [&](const auto* in, auto* out) HWY_ATTR { kernel_back_line(d, in, out); },
        [&](int i) HWY_ATTR {
          auto sum = hn::LoadU(d, sums + i * plane + c);
          for (int64_t part = 1; part < parts; ++part)
            sum = hn::Add(sum, hn::LoadU(d, sums + part * part_stride + i * plane + c));
          return sum;
        },
        [&](int i, int j, auto v) HWY_ATTR { hn::StoreU(v, d, kernels + (3 * i + j) * tap_stride + c); });
  });
}

}  // namespace isochron::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isochron::kernels {
HWY_EXPORT(carry_input_simd);
HWY_EXPORT(carry_gradient_simd);
HWY_EXPORT(carry_back_simd);
HWY_EXPORT(carry_kernels_simd);
HWY_EXPORT(carry_kernels_back_simd);

void carry_input(const WinogradImage& image, const float* pixels, int64_t row, int64_t column, float* carried,
                 int64_t plane) {
  HWY_DYNAMIC_DISPATCH(carry_input_simd)(image, pixels, row, column, carried, plane);
}
void carry_gradient(const WinogradImage& image, const float* pixels, int64_t row, int64_t column, float* carried,
                    int64_t plane) {
  HWY_DYNAMIC_DISPATCH(carry_gradient_simd)(image, pixels, row, column, carried, plane);
}
void carry_back(const WinogradImage& image, const float* carried, int64_t plane, const float* bias, bool relu,
                int64_t row, int64_t column, float* pixels) {
  HWY_DYNAMIC_DISPATCH(carry_back_simd)(image, carried, plane, bias, relu, row, column, pixels);
}
void carry_kernels(const float* kernels, int64_t tap_stride, int64_t count, float* carried, int64_t plane) {
  HWY_DYNAMIC_DISPATCH(carry_kernels_simd)(kernels, tap_stride, count, carried, plane);
}
void carry_kernels_back(const float* sums, int64_t plane, int64_t parts, int64_t part_stride, int64_t count,
                        float* kernels, int64_t tap_stride) {
  HWY_DYNAMIC_DISPATCH(carry_kernels_back_simd)(sums, plane, parts, part_stride, count, kernels, tap_stride);
}
}  // namespace isochron::kernels
#endif
