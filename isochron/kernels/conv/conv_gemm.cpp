#include "isochron/kernels/conv/conv_gemm.h"

#include <algorithm>
#include <cstring>

#include "isochron/kernels/share.h"

namespace isochron::kernels {
namespace {

// Patches of a block fill about half of a small L2, in whole register tiles.
constexpr int64_t kBlockBytes = 128 * 1024, kRows = 6, kMinPixels = 24, kMaxPixels = 192;

template <class T>
int64_t block_pixels(int64_t depth) {
  const int64_t fitting = kBlockBytes / static_cast<int64_t>(sizeof(T)) / std::max<int64_t>(depth, 1);
  return std::clamp(fitting / kRows * kRows, kMinPixels, kMaxPixels);
}

size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

// Patches of the largest block, and what the products of blocks of any size need.
template <class T, class F>
size_t scratch_bytes(const ConvShape& s, int64_t depth, F product_of) {
  const int64_t block = block_pixels<T>(depth);
  size_t inner = 0;
  for (int64_t pixels = 1; pixels <= block; ++pixels)
    inner = std::max(inner, product_scratch_bytes(product_of(pixels)));
  return aligned(s.pointwise() ? 0 : static_cast<size_t>(block * depth) * sizeof(T)) + inner;
}

template <class T>
inline void copy_run(const T* from, T* to, int64_t n) {
  if (n > 32) {
    std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < n; ++i) to[i] = from[i];
}

// One row of taps that lies in the image as a whole; N elements, or n when N is 0.
template <int N, class T>
inline void copy_row(const T* from, T* to, int64_t n) {
  if constexpr (N > 0)
    std::memcpy(to, from, N * sizeof(T));
  else
    copy_run(from, to, n);
}

// Patches of output pixels pixel .. pixel + count, columns cut.begin .. cut.end -> patches (count, width)
template <int N, class T>
void gather_rows(const ConvShape& s, const T* x, int64_t pixel, int64_t count, const PatchCut& cut, T* patches) {
  const int64_t width = cut.end - cut.begin, channels = s.in_channels, image = s.in_pixels() * channels;
  const int64_t row = s.window[2] * channels;
  const bool merged = s.groups == 1 && s.dilation[2] == 1 && width == s.depth();
  const auto fits = [&](size_t axis, int64_t first) {
    return first >= 0 && first + (s.window[axis] - 1) * s.dilation[axis] < s.in[axis];
  };
  PixelWalk at(s, pixel);
  for (int64_t i = 0; i < count; ++i, at.next(s)) {
    T* patch = patches + i * width;
    const T* from = x + at.image * image;
    const int64_t z = at.z * s.stride[0] - s.pad[0], y = at.y * s.stride[1] - s.pad[1],
                  column = at.x * s.stride[2] - s.pad[2];
    if (merged && fits(0, z) && fits(1, y) && fits(2, column)) {
      for (int64_t kz = 0; kz < s.window[0]; ++kz)
        for (int64_t ky = 0; ky < s.window[1]; ++ky, patch += row) {
          const int64_t line = (z + kz * s.dilation[0]) * s.in[1] + y + ky * s.dilation[1];
          copy_row<N>(from + (line * s.in[2] + column) * channels, patch, row);
        }
      continue;
    }
    for_each_piece(
        s, at.z, at.y, at.x, cut, [&](int64_t k, int64_t offset, int64_t n) { copy_run(from + offset, patch + k, n); },
        [&](int64_t k, int64_t n) { std::fill_n(patch + k, n, T{0}); });
  }
}

// Rows of 3 and 9 elements, 3x3 kernels over one or three channels, are too short for a call each.
template <class T>
void gather(const ConvShape& s, const T* x, int64_t pixel, int64_t count, const PatchCut& cut, T* patches) {
  const int64_t row = s.window[2] * s.in_channels;
  if (row == 3) return gather_rows<3>(s, x, pixel, count, cut, patches);
  if (row == 9) return gather_rows<9>(s, x, pixel, count, cut, patches);
  gather_rows<0>(s, x, pixel, count, cut, patches);
}

// The reverse: patches of one image added onto what they were seen in.
template <class T>
void scatter_add(const ConvShape& s, const T* patches, int64_t pixel, int64_t count, const PatchCut& cut, T* image) {
  const int64_t width = cut.end - cut.begin;
  PixelWalk at(s, pixel);
  for (int64_t i = 0; i < count; ++i, at.next(s)) {
    const T* patch = patches + i * width;
    for_each_piece(
        s, at.z, at.y, at.x, cut,
        [&](int64_t k, int64_t offset, int64_t n) {
          const T* from = patch + k;
          T* to = image + offset;
          for (int64_t j = 0; j < n; ++j) to[j] += from[j];
        },
        [](int64_t, int64_t) {});
  }
}

// y_block (pixels, group_out) = patches (pixels, depth) kernel (depth, group_out)
template <class T>
Product<T> forward_product(const ConvShape& s, int64_t pixels) {
  return {.m = pixels,
          .n = s.group_out(),
          .k = s.depth(),
          .lda = s.pointwise() ? s.in_channels : s.depth(),
          .ldb = s.out_channels,
          .ldc = s.out_channels};
}

// patches (pixels, depth) = dy (pixels, group_out) turned (group_out, depth)
template <class T>
Product<T> input_product(const ConvShape& s, int64_t pixels) {
  return {.m = pixels,
          .n = s.depth(),
          .k = s.group_out(),
          .lda = s.out_channels,
          .ldb = s.depth(),
          .ldc = s.pointwise() ? s.in_channels : s.depth()};
}

// dkernel (rows, group_out) += patches^T (rows, pixels) dy (pixels, group_out); patches are `width` long
template <class T>
Product<T> kernel_product(const ConvShape& s, int64_t rows, int64_t width, int64_t pixels) {
  return {.m = rows,
          .n = s.group_out(),
          .k = pixels,
          .lda = s.pointwise() ? s.in_channels : width,
          .trans_a = true,
          .ldb = s.out_channels,
          .ldc = s.out_channels};
}

}  // namespace

template <class T>
size_t conv_forward_scratch(const ConvShape& s) {
  return scratch_bytes<T>(s, s.depth(), [&](int64_t pixels) { return forward_product<T>(s, pixels); });
}

template <class T>
void conv_forward(const ConvShape& s, const T* x, const T* kernel, const ConvEpilogue<T>& epilogue, T* y, void* scratch,
                  int thread, int threads) {
  const int64_t depth = s.depth(), own_in = s.group_in(), own_out = s.group_out(), block = block_pixels<T>(depth);
  T* patches = static_cast<T*>(scratch);
  void* inner =
      static_cast<char*>(scratch) + (s.pointwise() ? 0 : aligned(static_cast<size_t>(block * depth) * sizeof(T)));
  const Share mine = share_of(s.batch * s.out_pixels(), kRows, thread, threads);
  for (int64_t pixel = mine.begin; pixel < mine.end; pixel += block) {
    const int64_t count = std::min(block, mine.end - pixel);
    for (int64_t group = 0; group < s.groups; ++group) {
      if (!s.pointwise()) gather(s, x, pixel, count, {group, 0, depth, 0, s.in[1]}, patches);
      Product<T> product = forward_product<T>(s, count);
      product.a = s.pointwise() ? x + pixel * s.in_channels + group * own_in : patches;
      product.b = kernel + group * own_out;
      const int64_t at = pixel * s.out_channels + group * own_out;
      product.c = y + at;
      product.bias = epilogue.bias ? epilogue.bias + group * own_out : nullptr;
      product.pre_activation = epilogue.pre_activation ? epilogue.pre_activation + at : nullptr;
      product.activation = epilogue.activation;
      std::copy_n(epilogue.immediates, 2, product.immediates);
      run_product(product, inner);
    }
  }
}

template <class T>
void turn_kernel(const ConvShape& s, const T* kernel, T* turned, int thread, int threads) {
  // Tiles of one cache line a side.
  constexpr int64_t kSide = 64 / sizeof(T);
  const Share mine = share_of(s.out_channels, kSide, thread, threads);
  for (int64_t k0 = 0; k0 < s.depth(); k0 += kSide)
    for (int64_t o0 = mine.begin; o0 < mine.end; o0 += kSide)
      for (int64_t o = o0; o < std::min(o0 + kSide, mine.end); ++o)
        for (int64_t k = k0; k < std::min(k0 + kSide, s.depth()); ++k)
          turned[o * s.depth() + k] = kernel[k * s.out_channels + o];
}

template <class T>
size_t conv_input_grad_scratch(const ConvShape& s) {
  return scratch_bytes<T>(s, s.depth(), [&](int64_t pixels) { return input_product<T>(s, pixels); });
}

template <class T>
void conv_input_grad(const ConvShape& s, const T* dy, const T* turned, T* dx, void* scratch, int thread, int threads) {
  const int64_t depth = s.depth(), own_in = s.group_in(), own_out = s.group_out(), block = block_pixels<T>(depth);
  T* patches = static_cast<T*>(scratch);
  void* inner =
      static_cast<char*>(scratch) + (s.pointwise() ? 0 : aligned(static_cast<size_t>(block * depth) * sizeof(T)));
  const auto run = [&](int64_t pixel, int64_t count, int64_t group, T* to) {
    Product<T> product = input_product<T>(s, count);
    product.a = dy + pixel * s.out_channels + group * own_out;
    product.b = turned + group * own_out * depth;
    product.c = to;
    run_product(product, inner);
  };
  if (s.pointwise()) {
    const Share mine = share_of(s.batch * s.out_pixels(), kRows, thread, threads);
    for (int64_t pixel = mine.begin; pixel < mine.end; pixel += block)
      for (int64_t group = 0; group < s.groups; ++group)
        run(pixel, std::min(block, mine.end - pixel), group, dx + pixel * s.in_channels + group * own_in);
    return;
  }
  // Whole images to each thread; fewer images than threads are cut into bands of rows, and the patches that reach into
  // two bands are computed for both.
  const int64_t bands = s.batch >= threads ? 1 : std::clamp<int64_t>(s.in[1], 1, threads);
  const Share mine = share_of(s.batch * bands, 1, thread, threads);
  for (int64_t unit = mine.begin; unit < mine.end; ++unit) {
    const int64_t image = unit / bands;
    const Share rows = share_of(s.in[1], 1, static_cast<int>(unit % bands), static_cast<int>(bands));
    T* to = dx + image * s.in_pixels() * s.in_channels;
    const int64_t line = s.in[2] * s.in_channels;
    for (int64_t z = 0; z < s.in[0]; ++z)
      std::fill_n(to + (z * s.in[1] + rows.begin) * line, (rows.end - rows.begin) * line, T{0});
    const int64_t reach = (s.window[1] - 1) * s.dilation[1];
    const int64_t low = rows.begin + s.pad[1] - reach;
    const int64_t first = std::max<int64_t>(0, (low + s.stride[1] - 1) / s.stride[1]);
    const int64_t last = std::min(s.out[1], (rows.end - 1 + s.pad[1]) / s.stride[1] + 1);
    for (int64_t z = 0; z < s.out[0]; ++z) {
      const int64_t plane = image * s.out_pixels() + z * s.out[1] * s.out[2];
      const int64_t end = plane + last * s.out[2];
      for (int64_t pixel = plane + first * s.out[2]; pixel < end; pixel += block) {
        const int64_t count = std::min(block, end - pixel);
        for (int64_t group = 0; group < s.groups; ++group) {
          run(pixel, count, group, patches);
          scatter_add(s, patches, pixel, count, {group, 0, depth, rows.begin, rows.end}, to);
        }
      }
    }
  }
}

namespace {

// Rows of dkernel that a thread computes, and the part of the patches it gathers for them: short ones whole.
Share kernel_rows(const ConvShape& s, int thread, int threads) { return share_of(s.depth(), 1, thread, threads); }
constexpr int64_t kShortPatch = 64;
Share gathered(const ConvShape& s, const Share& rows) { return s.depth() <= kShortPatch ? Share{0, s.depth()} : rows; }

}  // namespace

template <class T>
size_t conv_kernel_grad_scratch(const ConvShape& s, int threads) {
  size_t bytes = 0;
  for (int thread = 0; thread < threads; ++thread) {
    const Share mine = kernel_rows(s, thread, threads), part = gathered(s, mine);
    const int64_t rows = mine.end - mine.begin, width = part.end - part.begin;
    bytes = std::max(
        bytes, scratch_bytes<T>(s, width, [&](int64_t pixels) { return kernel_product<T>(s, rows, width, pixels); }));
  }
  return bytes;
}

template <class T>
void conv_kernel_grad(const ConvShape& s, const T* x, const T* dy, T* dkernel, void* scratch, int thread, int threads) {
  const Share mine = kernel_rows(s, thread, threads), part = gathered(s, mine);
  if (mine.empty()) return;
  const int64_t rows = mine.end - mine.begin, width = part.end - part.begin, own_out = s.group_out();
  const int64_t block = block_pixels<T>(width), pixels = s.batch * s.out_pixels();
  T* patches = static_cast<T*>(scratch);
  void* inner =
      static_cast<char*>(scratch) + (s.pointwise() ? 0 : aligned(static_cast<size_t>(block * width) * sizeof(T)));
  if (pixels == 0) std::fill_n(dkernel + mine.begin * s.out_channels, rows * s.out_channels, T{0});
  for (int64_t pixel = 0; pixel < pixels; pixel += block) {
    const int64_t count = std::min(block, pixels - pixel);
    for (int64_t group = 0; group < s.groups; ++group) {
      if (!s.pointwise()) gather(s, x, pixel, count, {group, part.begin, part.end, 0, s.in[1]}, patches);
      Product<T> product = kernel_product<T>(s, rows, width, count);
      product.a = s.pointwise() ? x + pixel * s.in_channels + group * s.group_in() + mine.begin
                                : patches + mine.begin - part.begin;
      product.b = dy + pixel * s.out_channels + group * own_out;
      product.c = dkernel + mine.begin * s.out_channels + group * own_out;
      product.accumulate = pixel > 0;
      run_product(product, inner);
    }
  }
}

template void conv_forward(const ConvShape&, const float*, const float*, const ConvEpilogue<float>&, float*, void*, int,
                           int);
template void conv_forward(const ConvShape&, const double*, const double*, const ConvEpilogue<double>&, double*, void*,
                           int, int);
template size_t conv_forward_scratch<float>(const ConvShape&);
template size_t conv_forward_scratch<double>(const ConvShape&);
template void turn_kernel(const ConvShape&, const float*, float*, int, int);
template void turn_kernel(const ConvShape&, const double*, double*, int, int);
template void conv_input_grad(const ConvShape&, const float*, const float*, float*, void*, int, int);
template void conv_input_grad(const ConvShape&, const double*, const double*, double*, void*, int, int);
template size_t conv_input_grad_scratch<float>(const ConvShape&);
template size_t conv_input_grad_scratch<double>(const ConvShape&);
template void conv_kernel_grad(const ConvShape&, const float*, const float*, float*, void*, int, int);
template void conv_kernel_grad(const ConvShape&, const double*, const double*, double*, void*, int, int);
template size_t conv_kernel_grad_scratch<float>(const ConvShape&, int);
template size_t conv_kernel_grad_scratch<double>(const ConvShape&, int);

}  // namespace isochron::kernels
