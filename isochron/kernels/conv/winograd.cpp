#include "isochron/kernels/conv/winograd.h"

#include <algorithm>

#include "isochron/kernels/conv/winograd_transforms.h"
#include "isochron/kernels/share.h"

namespace isochron::kernels {
namespace {

constexpr int64_t kTile = 4;
// Tiles worked on at a time: enough rows for the products, few enough for their numbers to stay in L2.
constexpr int64_t kMinBlock = 24, kMaxBlock = 96, kWinogradBytes = 256 * 1024;
// More than this, and the sums of a thread leave the cache at every block.
constexpr int64_t kMaxSums = 4 << 20;

// The convolution of one image with 3x3 kernels: how it is cut into tiles.
struct Tiling {
  WinogradImage in, out;
  int64_t batch, pad_row, pad_column;
  WinogradBlock size;

  int64_t down() const { return (out.rows + kTile - 1) / kTile; }
  int64_t across() const { return (out.columns + kTile - 1) / kTile; }
  int64_t tiles() const { return batch * down() * across(); }
  int64_t block() const {
    const int64_t bytes = kCarried * static_cast<int64_t>(sizeof(float)) * (in.channels + out.channels);
    const int64_t block = std::clamp(kWinogradBytes / bytes / 6 * 6, kMinBlock, kMaxBlock);
    return size == WinogradBlock::half ? block / 2 : size == WinogradBlock::twice ? block * 2 : block;
  }
  // Between carried numbers of a block; odd in cache lines, so that the 36 do not meet in one set.
  int64_t plane(int64_t channels) const { return block() * channels + 16; }
  struct Place {
    int64_t image, row, column;  // of the tile's first output
  };
  Place place(int64_t tile) const {
    const int64_t per_image = down() * across(), t = tile % per_image;
    return {tile / per_image, t / across() * kTile, t % across() * kTile};
  }
};

Tiling forward_tiling(const ConvShape& s, WinogradBlock block = {}) {
  return {{s.in[1], s.in[2], s.in_channels}, {s.out[1], s.out[2], s.out_channels}, s.batch, s.pad[1], s.pad[2], block};
}
// dx is the convolution of dy, padded by what x was not.
Tiling backward_tiling(const ConvShape& s, WinogradBlock block) {
  return {{s.out[1], s.out[2], s.out_channels},
          {s.in[1], s.in[2], s.in_channels},
          s.batch,
          2 - s.pad[1],
          2 - s.pad[2],
          block};
}

void carry_inputs(const Tiling& t, const float* x, int64_t tile, int64_t count, float* carried) {
  const int64_t plane = t.plane(t.in.channels), image = t.in.rows * t.in.columns * t.in.channels;
  for (int64_t i = 0; i < count; ++i) {
    const Tiling::Place at = t.place(tile + i);
    carry_input(t.in, x + at.image * image, at.row - t.pad_row, at.column - t.pad_column, carried + i * t.in.channels,
                plane);
  }
}

// results (count, out) = inputs (count, in) kernel (in, out), for one of the 36
Product<float> tile_product(int64_t in, int64_t out, int64_t count) {
  return {.m = count, .n = out, .k = in, .lda = in, .ldb = out, .ldc = out};
}
// sums (in, out) += inputs^T (in, count) gradients (count, out)
Product<float> sum_product(int64_t in, int64_t out, int64_t count) {
  return {.m = in, .n = out, .k = count, .lda = in, .trans_a = true, .ldb = out, .ldc = out};
}

struct Scratch {
  float *inputs, *results;
  void* inner;
  Scratch(const Tiling& t, void* scratch)
      : inputs(static_cast<float*>(scratch)),
        results(inputs + kCarried * t.plane(t.in.channels)),
        inner(results + kCarried * t.plane(t.out.channels)) {}
};

void convolve(const Tiling& t, const float* x, const float* carried, const ConvEpilogue<float>& epilogue, float* y,
              void* scratch, int thread, int threads) {
  const Scratch space(t, scratch);
  const int64_t in_plane = t.plane(t.in.channels), out_plane = t.plane(t.out.channels);
  const int64_t image = t.out.rows * t.out.columns * t.out.channels;
  const Share mine = share_of(t.tiles(), 1, thread, threads);
  for (int64_t tile = mine.begin; tile < mine.end; tile += t.block()) {
    const int64_t count = std::min(t.block(), mine.end - tile);
    carry_inputs(t, x, tile, count, space.inputs);
    Product<float> product = tile_product(t.in.channels, t.out.channels, count);
    for (int64_t i = 0; i < kCarried; ++i) {
      product.a = space.inputs + i * in_plane;
      product.b = carried + i * t.in.channels * t.out.channels;
      product.c = space.results + i * out_plane;
      run_product(product, space.inner);
    }
    for (int64_t i = 0; i < count; ++i) {
      const Tiling::Place at = t.place(tile + i);
      carry_back(t.out, space.results + i * t.out.channels, out_plane, epilogue.bias, epilogue.relu, at.row, at.column,
                 y + at.image * image);
    }
  }
}

}  // namespace

const char* winograd_refusal(const ConvShape& s) {
  const ConvShape::Axes square{1, 3, 3}, ones{1, 1, 1};
  if (s.window != square || s.stride != ones || s.dilation != ones || s.groups != 1)
    return "takes 3x3 kernels with stride 1, no dilation and one group";
  if (s.in_channels % 8 != 0 || s.out_channels % 8 != 0) return "takes channels in multiples of 8";
  if (s.pad[1] > 2 || s.pad[2] > 2 || s.out[1] - s.in[1] + 2 - s.pad[1] > 2 || s.out[2] - s.in[2] + 2 - s.pad[2] > 2)
    return "takes padding of at most 2";
  if (kCarried * s.in_channels * s.out_channels > kMaxSums) return "would keep too many sums";
  // Tiles that reach over the edge are computed in full.
  const Tiling t = forward_tiling(s);
  if (t.down() * t.across() * kCarried * 2 > s.out_pixels() * 9) return "the image is too small for its tiles";
  return nullptr;
}

size_t winograd_kernel_bytes(const ConvShape& s) {
  return static_cast<size_t>(kCarried * s.in_channels * s.out_channels) * sizeof(float);
}

size_t winograd_scratch_bytes(const ConvShape& s) {
  const int64_t in = s.in_channels, out = s.out_channels;
  const Tiling t = forward_tiling(s, WinogradBlock::twice);
  size_t inner = 0;
  for (int64_t count = 1; count <= t.block(); ++count)
    for (const Product<float>& product :
         {tile_product(in, out, count), tile_product(out, in, count), sum_product(in, out, count)})
      inner = std::max(inner, product_scratch_bytes(product));
  return static_cast<size_t>(kCarried * (t.plane(in) + t.plane(out))) * sizeof(float) + inner;
}

void winograd_carry_kernel(const ConvShape& s, const float* kernel, float* carried, int thread, int threads) {
  const int64_t count = s.in_channels * s.out_channels;
  const Share mine = share_of(count, 16, thread, threads);
  carry_kernels(kernel + mine.begin, count, mine.end - mine.begin, carried + mine.begin, count);
}

void winograd_carry_turned_kernel(const ConvShape& s, const float* kernel, float* carried, int thread, int threads) {
  const int64_t in = s.in_channels, out = s.out_channels, count = in * out;
  constexpr int64_t kRun = 64;
  float turned[9 * kRun];
  // Element (o, i) of the turned kernel, tap by tap from the last.
  const Share mine = share_of(out, 1, thread, threads);
  for (int64_t o = mine.begin; o < mine.end; ++o)
    for (int64_t i0 = 0; i0 < in; i0 += kRun) {
      const int64_t run = std::min(kRun, in - i0);
      for (int64_t tap = 0; tap < 9; ++tap)
        for (int64_t i = 0; i < run; ++i) turned[tap * kRun + i] = kernel[(8 - tap) * count + (i0 + i) * out + o];
      carry_kernels(turned, kRun, run, carried + o * in + i0, count);
    }
}

void winograd_forward(const ConvShape& s, const float* x, const float* carried, const ConvEpilogue<float>& epilogue,
                      float* y, void* scratch, int thread, int threads, WinogradBlock block) {
  const Tiling t = forward_tiling(s, block);
  convolve(t, x, carried, epilogue, y, scratch, thread, threads);
}

void winograd_input_grad(const ConvShape& s, const float* dy, const float* carried, float* dx, void* scratch,
                         int thread, int threads, WinogradBlock block) {
  const Tiling t = backward_tiling(s, block);
  convolve(t, dy, carried, {}, dx, scratch, thread, threads);
}

size_t winograd_sums_bytes(const ConvShape& s, int threads) {
  return winograd_kernel_bytes(s) * static_cast<size_t>(threads);
}

void winograd_sum_tiles(const ConvShape& s, const float* x, const float* dy, float* sums, void* scratch, int thread,
                        int threads) {
  const Tiling t = forward_tiling(s);
  const Scratch space(t, scratch);
  const int64_t in = s.in_channels, out = s.out_channels;
  const int64_t in_plane = t.plane(in), out_plane = t.plane(out), image = s.out_pixels() * out;
  float* own = sums + thread * kCarried * in * out;
  const Share mine = share_of(t.tiles(), 1, thread, threads);
  if (mine.empty()) std::fill_n(own, kCarried * in * out, 0.f);
  for (int64_t tile = mine.begin; tile < mine.end; tile += t.block()) {
    const int64_t count = std::min(t.block(), mine.end - tile);
    carry_inputs(t, x, tile, count, space.inputs);
    for (int64_t i = 0; i < count; ++i) {
      const Tiling::Place at = t.place(tile + i);
      carry_gradient(t.out, dy + at.image * image, at.row, at.column, space.results + i * out, out_plane);
    }
    Product<float> product = sum_product(in, out, count);
    product.accumulate = tile > mine.begin;
    for (int64_t i = 0; i < kCarried; ++i) {
      product.a = space.inputs + i * in_plane;
      product.b = space.results + i * out_plane;
      product.c = own + i * in * out;
      run_product(product, space.inner);
    }
  }
}

void winograd_kernel_grad(const ConvShape& s, const float* sums, float* dkernel, int thread, int threads) {
  const int64_t count = s.in_channels * s.out_channels;
  const Share mine = share_of(count, 16, thread, threads);
  carry_kernels_back(sums + mine.begin, count, threads, kCarried * count, mine.end - mine.begin, dkernel + mine.begin,
                     count);
}

}  // namespace isochron::kernels
