// Register tiles: R rows by V vectors of C, accumulated over k without touching memory but for A and B.
#if defined(ISOCHRON_KERNELS_GEMM_MICROKERNEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCHRON_KERNELS_GEMM_MICROKERNEL_INL_H
#undef ISOCHRON_KERNELS_GEMM_MICROKERNEL_INL_H
#else
#define ISOCHRON_KERNELS_GEMM_MICROKERNEL_INL_H
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <utility>

#include "isochron/kernels/tile/vector_parts-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isochron::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A column of `tiles` equal tiles of C below each other, one panel of B wide. The V vectors of a tile start at columns
// 0, L, 2L, …, except the last, which starts at `last`: it may overlap its neighbour, so that a width that is no
// multiple of L needs no masks. Overlapping lanes get equal values. A tile of one vector is masked to `cols` instead.
template <class T>
struct TileColumn {
  int64_t tiles, k;
  const T* a;
  int64_t a_stride;  // between rows of A, or between steps of k when A is k-major
  const T* b;
  int64_t b_stride, b_last;
  T* c;
  int64_t c_stride, last, cols;
  const T* init;  // what is added to the sums (C itself, or the bias with stride 0), or null
  int64_t init_stride;
  T* packed_b;                  // where a packing kernel leaves the panel of B, or null
  bool b_is_packed = false;     // B is such a panel
  const T* residual = nullptr;  // added to the sums as well, or null; rows lie c_stride apart
  const T* gate = nullptr;      // likewise: where it is not above 0 the sums become 0

  // Reads B from a packed panel: `vectors` * L elements for each step of k, overlap included.
  void use_packed(const T* panel, int vectors) {
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
    b = panel;
    b_stride = vectors * lanes;
    b_last = (vectors - 1) * lanes;
    b_is_packed = true;
    packed_b = nullptr;
  }
};

// An unpacked B is asked for this many steps of k ahead (and C before the sums begin): its rows are too far apart for
// the hardware to guess. Where B is packed on the way it is large, and comes from farther away.
inline constexpr int64_t kPrefetchSteps = 16, kPackPrefetchSteps = 24;

// The most rows a tile of `vectors` vectors keeps in registers beside its operands.
constexpr int max_rows(int vectors) {
#if HWY_TARGET == HWY_AVX3
  return vectors == 1 ? 12 : 6;
#else
  return vectors == 1 ? 8 : 12 / vectors;
#endif
}

// Where B lies: in the matrix, there and copied into a panel on the way, or in such a panel, which stays in L1.
enum class SourceOfB { matrix, matrix_to_panel, panel };

// Tiles of their own for panels are half of what products compile to, and a few percent of their time: float64 and
// CPUs without AVX2 read panels as they read matrices.
template <class T>
inline constexpr SourceOfB kPanelSource = sizeof(T) == 4 && HWY_TARGET != HWY_SCALAR ? SourceOfB::panel
                                                                                     : SourceOfB::matrix;

// No instruction to spare, and two steps of k at a time: a core whose other half serves a neighbour issues about
// three instructions a cycle, and 12 multiply-adds with their operands then take longer to issue than to compute.
template <class T, int R, int V, bool kKMajor, SourceOfB kB>
void run_tiles_of(const TileColumn<T>& column) {
  const hn::ScalableTag<T> d;
  using Vec = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto mask = hn::FirstN(d, V == 1 ? static_cast<size_t>(column.cols) : hn::Lanes(d));
  const auto load = [&](const T* from, int v, int64_t last) HWY_ATTR {
    if constexpr (V == 1) return hn::MaskedLoad(mask, d, from);
    return hn::LoadU(d, from + (v == V - 1 ? last : v * lanes));
  };
  constexpr bool kPanel = kB == SourceOfB::panel, kPack = kB == SourceOfB::matrix_to_panel;
  const int64_t a_stride = column.a_stride, b_stride = kPanel ? V * lanes : column.b_stride;
  const int64_t b_last = kPanel ? (V - 1) * lanes : column.b_last;
  const T* tile_a = column.a;
  const T *init = column.init, *residual = column.residual, *gate = column.gate;
  T* tile_c = column.c;

  for (int64_t tile = column.tiles; tile > 0; --tile) {
    Vec sum[R][V];
    const auto ask_for = [&](const T* rows) HWY_ATTR {
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
        for (size_t byte = 0; byte < V * sizeof(Vec); byte += 64)
          hwy::Prefetch(rows + r * column.c_stride + byte / sizeof(T));
      }
    };
    ask_for(tile_c);
    if (residual) ask_for(residual);
    if (gate) ask_for(gate);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sum[r][v] = hn::Zero(d);
    }

    const T* a = tile_a;
    const T* b = column.b;
    [[maybe_unused]] T* packed = column.packed_b;
    const auto multiply = [&]() HWY_ATTR __attribute__((always_inline)) {
      Vec row[V];
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) row[v] = load(b, v, b_last);
      if constexpr (kPack) {
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) hn::StoreU(row[v], d, packed + v * lanes);
        packed += V * lanes;
      }
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const Vec factor = hn::Set(d, kKMajor ? a[r] : a[r * a_stride]);
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) sum[r][v] = hn::MulAdd(factor, row[v], sum[r][v]);
      }
      if constexpr (!kPanel) {
#pragma GCC unroll 8
        for (size_t byte = 0; byte < V * sizeof(Vec); byte += 64)
          hwy::Prefetch(b + (kPack ? kPackPrefetchSteps : kPrefetchSteps) * b_stride + byte / sizeof(T));
      }
      a += kKMajor ? a_stride : 1;
      b += b_stride;
    };
    constexpr int kSteps = kPanel ? 2 : 1;
    for (int64_t rounds = column.k / kSteps; rounds > 0; --rounds) {
#pragma GCC unroll 2
      for (int i = 0; i < kSteps; ++i) multiply();
    }
    for (int64_t left = column.k % kSteps; left > 0; --left) multiply();

    const auto change_sums = [&](const T* by, int64_t stride, auto change) HWY_ATTR {
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) sum[r][v] = change(sum[r][v], load(by + r * stride, v, column.last));
      }
    };
    const auto add = [](Vec x, Vec y) HWY_ATTR { return hn::Add(x, y); };
    if (init) {
      change_sums(init, column.init_stride, add);
      init += R * column.init_stride;
    }
    if (residual) {
      change_sums(residual, column.c_stride, add);
      residual += R * column.c_stride;
    }
    if (gate) {
      change_sums(gate, column.c_stride,
                  [&](Vec x, Vec y) HWY_ATTR { return hn::IfThenElseZero(hn::Gt(y, hn::Zero(d)), x); });
      gate += R * column.c_stride;
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      T* c = tile_c + r * column.c_stride;
      if constexpr (V == 1) {
        hn::BlendedStore(sum[r][0], mask, d, c);
      } else {
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) hn::StoreU(sum[r][v], d, c + (v == V - 1 ? column.last : v * lanes));
      }
    }
    tile_a += R * (kKMajor ? 1 : a_stride);
    tile_c += R * column.c_stride;
  }
}

template <class T>
using TileKernel = void (*)(const TileColumn<T>&);

// Tiles of one width: [r - 1] has r rows; packing has the most rows and packs B on its way.
template <class T>
struct TileKernels {
  int most_rows;
  std::array<TileKernel<T>, 12> of_matrix, of_panel;
  TileKernel<T> packing;
};

template <class T, int V, bool kKMajor>
constexpr TileKernels<T> kernels_of_width() {
  constexpr int kMost = max_rows(V), kPackVectors = V == 1 ? 2 : V;
  constexpr auto table = []<size_t... I>(std::index_sequence<I...>) {
    return TileKernels<T>{
        .most_rows = kMost,
        .of_matrix = {&run_tiles_of<T, static_cast<int>(I) + 1, V, kKMajor, SourceOfB::matrix>...},
        .of_panel = {&run_tiles_of<T, static_cast<int>(I) + 1, V, kKMajor, kPanelSource<T>>...},
        .packing = V == 1 ? nullptr : &run_tiles_of<T, kMost, kPackVectors, kKMajor, SourceOfB::matrix_to_panel>};
  };
  return table(std::make_index_sequence<static_cast<size_t>(kMost)>());
}

template <class T, bool kKMajor>
const TileKernels<T>& tile_kernels(int vectors) {
  static constexpr TileKernels<T> kTable[] = {kernels_of_width<T, 1, kKMajor>(), kernels_of_width<T, 2, kKMajor>(),
                                              kernels_of_width<T, 3, kKMajor>(), kernels_of_width<T, 4, kKMajor>()};
  return kTable[vectors - 1];
}

// Adds the rows of a packed panel to `sums`, or makes `sums` of them when they are the first.
template <class T>
void add_rows(const TileColumn<T>& packed, int vectors, bool first, T* sums) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> total[4];
  const int64_t stride = vectors * lanes;
  const auto at = [&](int v) { return v == vectors - 1 ? packed.last : v * lanes; };
  for (int v = 0; v < vectors; ++v) {
    auto even = first ? hn::Zero(d) : hn::LoadU(d, sums + at(v)), odd = hn::Zero(d);
    const T* from = packed.b + v * lanes;
    int64_t k = packed.k;
    for (; k > 1; k -= 2, from += 2 * stride) {
      even = hn::Add(even, hn::LoadU(d, from));
      odd = hn::Add(odd, hn::LoadU(d, from + stride));
    }
    if (k > 0) even = hn::Add(even, hn::LoadU(d, from));
    total[v] = hn::Add(even, odd);
  }
  for (int v = 0; v < vectors; ++v) hn::StoreU(total[v], d, sums + at(v));
}

// Runs `rows` rows of a column, cut into tiles of nearly equal height (a short last one would wait on its own sums),
// and moves the column on to the rows below. With packed_b set, the first tile packs B for all that follow; there must
// be more than one then.
template <class T, bool kKMajor>
void run_rows(TileColumn<T>& column, int vectors, int rows) {
  const TileKernels<T>& kernels = tile_kernels<T, kKMajor>(vectors);
  const auto run = [&](TileKernel<T> kernel, int height, int tiles) HWY_ATTR {
    column.tiles = tiles;
    kernel(column);
    column.a += height * tiles * (kKMajor ? 1 : column.a_stride);
    column.c += height * tiles * column.c_stride;
    if (column.init) column.init += height * tiles * column.init_stride;
    if (column.residual) column.residual += height * tiles * column.c_stride;
    if (column.gate) column.gate += height * tiles * column.c_stride;
  };
  if (column.packed_b) {
    run(kernels.packing, kernels.most_rows, 1);
    column.use_packed(column.packed_b, vectors);
    rows -= kernels.most_rows;
  }
  const int tiles = (rows + kernels.most_rows - 1) / kernels.most_rows;
  const int height = rows / tiles, taller = rows % tiles;
  const auto& by_rows = column.b_is_packed ? kernels.of_panel : kernels.of_matrix;
  if (taller > 0) run(by_rows[static_cast<size_t>(height)], height + 1, taller);
  run(by_rows[static_cast<size_t>(height) - 1], height, tiles - taller);
}

}  // namespace isochron::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
