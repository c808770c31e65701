#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "isochron/kernels/conv/winograd_transforms.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "isochron/kernels/conv/winograd_transforms.h"

HWY_BEFORE_NAMESPACE();
namespace isochron::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Each takes the values of one line and gives those of the carried line, along either axis.

// d (6) -> B^T d (6)
template <class V, class D>
HWY_INLINE void input_line(D d, const V* in, V* out) {
  const V four = hn::Set(d, 4.f), five = hn::Set(d, 5.f), two = hn::Set(d, 2.f);
  const V a = hn::NegMulAdd(four, in[2], in[4]), b = hn::NegMulAdd(four, in[1], in[3]);
  const V c = hn::Sub(in[4], in[2]), e = hn::Mul(two, hn::Sub(in[3], in[1]));
  out[0] = hn::MulAdd(four, in[0], hn::NegMulAdd(five, in[2], in[4]));
  out[1] = hn::Add(a, b);
  out[2] = hn::Sub(a, b);
  out[3] = hn::Add(c, e);
  out[4] = hn::Sub(c, e);
  out[5] = hn::MulAdd(four, in[1], hn::NegMulAdd(five, in[3], in[5]));
}

// y (4) -> A y (6)
template <class V, class D>
HWY_INLINE void gradient_line(D d, const V* in, V* out) {
  const V two = hn::Set(d, 2.f), four = hn::Set(d, 4.f);
  const V even = hn::Add(in[0], in[2]), odd = hn::Add(in[1], in[3]);
  const V even2 = hn::MulAdd(four, in[2], in[0]), odd2 = hn::Mul(two, hn::MulAdd(four, in[3], in[1]));
  out[0] = in[0];
  out[1] = hn::Add(even, odd);
  out[2] = hn::Sub(even, odd);
  out[3] = hn::Add(even2, odd2);
  out[4] = hn::Sub(even2, odd2);
  out[5] = in[3];
}

// m (6) -> A^T m (4)
template <class V, class D>
HWY_INLINE void output_line(D d, const V* in, V* out) {
  const V two = hn::Set(d, 2.f), four = hn::Set(d, 4.f), eight = hn::Set(d, 8.f);
  const V a = hn::Add(in[1], in[2]), b = hn::Sub(in[1], in[2]), c = hn::Add(in[3], in[4]), e = hn::Sub(in[3], in[4]);
  out[0] = hn::Add(in[0], hn::Add(a, c));
  out[1] = hn::MulAdd(two, e, b);
  out[2] = hn::MulAdd(four, c, a);
  out[3] = hn::Add(in[5], hn::MulAdd(eight, e, b));
}

// g (3) -> G g (6)
template <class V, class D>
HWY_INLINE void kernel_line(D d, const V* in, V* out) {
  const V sixth = hn::Set(d, 1.f / 6), twelfth = hn::Set(d, 1.f / 12), quarter = hn::Set(d, 0.25f);
  const V a = hn::Mul(sixth, hn::Add(in[0], in[2])), b = hn::Mul(sixth, in[1]);
  const V c = hn::MulAdd(hn::Set(d, 1.f / 24), in[0], hn::Mul(sixth, in[2])), e = hn::Mul(twelfth, in[1]);
  out[0] = hn::Mul(quarter, in[0]);
  out[1] = hn::Neg(hn::Add(a, b));
  out[2] = hn::Sub(b, a);
  out[3] = hn::Add(c, e);
  out[4] = hn::Sub(c, e);
  out[5] = in[2];
}

// u (6) -> G^T u (3)
template <class V, class D>
HWY_INLINE void kernel_back_line(D d, const V* in, V* out) {
  const V sixth = hn::Set(d, 1.f / 6), twelfth = hn::Set(d, 1.f / 12), small = hn::Set(d, 1.f / 24);
  const V a = hn::Mul(sixth, hn::Add(in[1], in[2])), c = hn::Add(in[3], in[4]);
  out[0] = hn::MulAdd(hn::Set(d, 0.25f), in[0], hn::NegMulAdd(hn::Set(d, 1.f), a, hn::Mul(small, c)));
  out[1] = hn::MulAdd(twelfth, hn::Sub(in[3], in[4]), hn::Mul(sixth, hn::Sub(in[2], in[1])));
  out[2] = hn::Add(in[5], hn::NegMulAdd(hn::Set(d, 1.f), a, hn::Mul(sixth, c)));
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
