// Register tiles: R rows by V vectors of C, accumulated over k without touching memory but for A and B.
#if defined(ISOCHRON_KERNELS_GEMM_MICROKERNEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCHRON_KERNELS_GEMM_MICROKERNEL_INL_H
#undef ISOCHRON_KERNELS_GEMM_MICROKERNEL_INL_H
#else
#define ISOCHRON_KERNELS_GEMM_MICROKERNEL_INL_H
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <array>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace isochron::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// One tile of C. Its V vectors start at columns 0, L, 2L, …, except the last, which starts at `last`: it may overlap
// its neighbour, so that a width that is no multiple of L needs no masks. Overlapping lanes get equal values.
template <class T>
struct Tile {
  int64_t k;
  const T* a;
  int64_t a_stride;  // between rows of A, or between steps of k when A is k-major
  const T* b;
  int64_t b_stride;
  int64_t b_last;
  T* c;
  int64_t c_stride;
  int64_t last;
  const T* init;  // what the sums start from (C itself, the bias with stride 0), or null for zero
  int64_t init_stride;
  int64_t cols;  // columns of a tile of one vector
};

// B is asked for this many steps of k ahead: rows of an unpacked B are too far apart for the hardware to guess.
inline constexpr int64_t kPrefetchSteps = 8;

// The most rows a tile of `vectors` vectors keeps in registers beside its operands.
constexpr int max_rows(int vectors) {
#if HWY_TARGET == HWY_AVX3
  return vectors == 1 ? 12 : 6;
#else
  return vectors == 1 ? 8 : 12 / vectors;
#endif
}

template <class T, int R, int V, bool kKMajor>
void run_tile(const Tile<T>& tile) {
  const hn::ScalableTag<T> d;
  using Vec = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto mask = hn::FirstN(d, V == 1 ? static_cast<size_t>(tile.cols) : hn::Lanes(d));
  const auto load = [&](const T* from, int v, int64_t last) HWY_ATTR {
    if constexpr (V == 1) return hn::MaskedLoad(mask, d, from);
    return hn::LoadU(d, from + (v == V - 1 ? last : v * lanes));
  };

  Vec sum[R][V];
  if (tile.init) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sum[r][v] = load(tile.init + r * tile.init_stride, v, tile.last);
    }
  } else {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sum[r][v] = hn::Zero(d);
    }
  }

  const T* a = tile.a;
  const T* b = tile.b;
  const int64_t a_stride = tile.a_stride, b_stride = tile.b_stride, b_last = tile.b_last;
  for (int64_t p = tile.k; p > 0; --p) {
    Vec row[V];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) row[v] = load(b, v, b_last);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const Vec factor = hn::Set(d, kKMajor ? a[r] : a[r * a_stride]);
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sum[r][v] = hn::MulAdd(factor, row[v], sum[r][v]);
    }
#pragma GCC unroll 8
    for (size_t byte = 0; byte < V * sizeof(Vec); byte += 64)
      hwy::Prefetch(b + kPrefetchSteps * b_stride + byte / sizeof(T));
    a += kKMajor ? a_stride : 1;
    b += b_stride;
  }

#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    T* c = tile.c + r * tile.c_stride;
    if constexpr (V == 1) {
      hn::BlendedStore(sum[r][0], mask, d, c);
    } else {
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) hn::StoreU(sum[r][v], d, c + (v == V - 1 ? tile.last : v * lanes));
    }
  }
}

template <class T>
using TileKernel = void (*)(const Tile<T>&);

// kernels_of<T, V, kKMajor>()[rows - 1]
template <class T, int V, bool kKMajor>
const TileKernel<T>* kernels_of() {
  static constexpr auto kTable = []<size_t... I>(std::index_sequence<I...>) {
    return std::array<TileKernel<T>, sizeof...(I)>{&run_tile<T, static_cast<int>(I) + 1, V, kKMajor>...};
  }
  (std::make_index_sequence<static_cast<size_t>(max_rows(V))>());
  return kTable.data();
}

template <class T, bool kKMajor>
const TileKernel<T>* kernels_of(int vectors) {
  switch (vectors) {
    case 1:
      return kernels_of<T, 1, kKMajor>();
    case 2:
      return kernels_of<T, 2, kKMajor>();
    case 3:
      return kernels_of<T, 3, kKMajor>();
    default:
      return kernels_of<T, 4, kKMajor>();
  }
}

}  // namespace isochron::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
