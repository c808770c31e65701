// Chooses how one thread's product is computed, packs what must be packed and walks the tiles.
#if defined(ISOCHRON_KERNELS_GEMM_DRIVER_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCHRON_KERNELS_GEMM_DRIVER_INL_H
#undef ISOCHRON_KERNELS_GEMM_DRIVER_INL_H
#else
#define ISOCHRON_KERNELS_GEMM_DRIVER_INL_H
#endif

#include "isochron/kernels/gemm/dot-inl.h"
#include "isochron/kernels/gemm/epilogue-inl.h"
#include "isochron/kernels/gemm/microkernel-inl.h"
#include "isochron/kernels/gemm/product.h"
#include "isochron/kernels/gemm/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isochron::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Cache blocks: a packed panel of B (kBlockK deep, one tile wide) stays in L1, a block of A (kBlockM rows) in L2.
template <class T>
inline constexpr int64_t kBlockK = static_cast<int64_t>(1024 / sizeof(T));
inline constexpr int64_t kBlockN = 256;
inline constexpr int64_t kBlockM = 192;
inline constexpr int64_t kPanelM = 12;  // rows of a packed panel of A: whole tiles of 6, 4 or 3 rows
inline constexpr int64_t kSwapRows = 24;
inline constexpr int64_t kSwapElements = 64 * 1024;

template <class T>
inline int64_t lanes_of() {
  return static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
}

constexpr int64_t blocks_of(int64_t size, int64_t block) { return (size + block - 1) / block; }
constexpr int64_t round_up(int64_t size, int64_t unit) { return blocks_of(size, unit) * unit; }
// The size of the blocks when `size` is cut into equal parts no longer than `limit`.
constexpr int64_t even_block(int64_t size, int64_t limit) {
  return size <= limit ? size : blocks_of(size, blocks_of(size, limit));
}

enum class Path { tiles, swapped, dot_rows, dot_columns };

template <class T>
Path choose_path(const Product<T>& p) {
  if (p.m <= kMaxFew && p.trans_b) return Path::dot_rows;
  if (p.n <= kMaxFew && !p.trans_a) return Path::dot_columns;
  // B^T need not be packed when C^T = B A^T is computed and C turned instead, which pays when C is smaller than B.
  if (p.trans_b && 2 * p.m <= p.k && round_up(p.m, lanes_of<T>()) * p.k <= kSwapElements) return Path::swapped;
  return Path::tiles;
}

template <class T>
struct TilePlan {
  bool pack_a, pack_b;
  int64_t block_k, block_n, block_m;

  explicit TilePlan(const Product<T>& p) {
    pack_b = p.trans_b || (p.m > 64 && p.k > 64);
    pack_a = p.trans_a && p.k > 64 && p.n > 64;
    const bool blocked = pack_a || pack_b;
    block_k = blocked ? even_block(p.k, kBlockK<T>) : p.k;
    block_n = blocked ? std::min(p.n, kBlockN) : p.n;
    block_m = blocked ? std::min(p.m, kBlockM) : p.m;
  }
  int64_t packed_b() const { return pack_b ? round_up(block_n, lanes_of<T>()) * block_k : 0; }
  int64_t packed_a() const { return pack_a ? round_up(block_m, kPanelM) * block_k + kPanelM : 0; }
};

// Vectors of the next tile when `left` vectors of C's width remain; never leaves a single one over.
inline int tile_vectors(int64_t left, int64_t rows) {
#if HWY_TARGET == HWY_AVX3
  const int preferred = 4;
  (void)rows;
#else
  const int preferred = rows <= 3 ? 4 : rows == 4 || rows == 7 || rows == 8 ? 3 : 2;
#endif
  if (left > preferred + 1) return preferred;
  if (left == preferred + 1) return preferred == 2 ? 3 : (preferred + 2) / 2;
  return static_cast<int>(left);
}

// One column of tiles: `rows` rows of A against one panel of B. `tile` carries everything but rows, a, c and init.
template <class T, bool kKMajor>
void run_tile_column(Tile<T> tile, int vectors, int64_t rows) {
  const TileKernel<T>* kernels = kernels_of<T, kKMajor>(vectors);
  const int64_t a_row = kKMajor ? 1 : tile.a_stride;
  const int64_t tiles = blocks_of(rows, max_rows(vectors));
  const int64_t small = rows / tiles, larger = rows % tiles;
  for (int64_t t = 0; t < tiles; ++t) {
    const int64_t count = small + (t < larger);
    kernels[count - 1](tile);
    tile.a += count * a_row;
    tile.c += count * tile.c_stride;
    if (tile.init) tile.init += count * tile.init_stride;
  }
}

// Panel of B: columns of one tile, k by k. Columns overlap as the tile's do.
template <class T>
void pack_b_panel(const T* b, int64_t ldb, bool trans_b, int64_t k, int vectors, int64_t cols, T* panel) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = lanes_of<T>();
  const int64_t stride = vectors * lanes;
  for (int v = 0; v < vectors; ++v) {
    const int64_t from = vectors > 1 && v == vectors - 1 ? cols - lanes : v * lanes;
    T* to = panel + v * lanes;
    const int64_t width = std::min(lanes, cols);
    if (trans_b) {
      transpose(b + from * ldb, ldb, width, k, to, stride);
    } else if (width == lanes) {
      for (int64_t p = 0; p < k; ++p) hn::StoreU(hn::LoadU(d, b + p * ldb + from), d, to + p * stride);
    } else {
      for (int64_t p = 0; p < k; ++p) std::copy_n(b + p * ldb, width, to + p * stride);
    }
  }
}

// Panels of kPanelM rows of a k-major A, each k by k.
template <class T>
void pack_a_panels(const T* a, int64_t lda, int64_t rows, int64_t k, T* panels) {
  for (int64_t row = 0; row < rows; row += kPanelM) {
    const int64_t width = std::min(kPanelM, rows - row);
    T* panel = panels + row * k;
    if (width == kPanelM) {
      for (int64_t p = 0; p < k; ++p) std::copy_n(a + p * lda + row, kPanelM, panel + p * kPanelM);
    } else {
      for (int64_t p = 0; p < k; ++p) std::copy_n(a + p * lda + row, width, panel + p * kPanelM);
    }
  }
}

template <class T>
void run_tiles(const Product<T>& p, T* scratch) {
  const TilePlan<T> plan(p);
  const int64_t lanes = lanes_of<T>();
  T* packed_b = scratch;
  T* packed_a = scratch + plan.packed_b();
  int64_t k0 = 0;
  do {
    const int64_t k = std::min(plan.block_k, p.k - k0);
    const bool last_k = k0 + k >= p.k;
    const bool on_top = p.accumulate || k0 > 0;
    for (int64_t n0 = 0; n0 < p.n; n0 += plan.block_n) {
      const int64_t n = std::min(plan.block_n, p.n - n0);
      for (int64_t m0 = 0; m0 < p.m; m0 += plan.block_m) {
        const int64_t m = std::min(plan.block_m, p.m - m0);
        if (plan.pack_a) pack_a_panels(p.a + k0 * p.lda + m0, p.lda, m, k, packed_a);
        T* panel = packed_b;
        for (int64_t j = 0; j < n;) {
          const int vectors = tile_vectors(blocks_of(n - j, lanes), p.m);
          const int64_t cols = std::min(vectors * lanes, n - j);
          const int64_t col = n0 + j;
          const T* b = p.trans_b ? p.b + col * p.ldb + k0 : p.b + k0 * p.ldb + col;
          if (plan.pack_b && m0 == 0) pack_b_panel(b, p.ldb, p.trans_b, k, vectors, cols, panel);
          Tile<T> tile;
          tile.k = k;
          tile.cols = cols;
          tile.last = cols - lanes;
          tile.b = plan.pack_b ? panel : b;
          tile.b_stride = plan.pack_b ? vectors * lanes : p.ldb;
          tile.b_last = plan.pack_b ? (vectors - 1) * lanes : tile.last;
          tile.c = p.c + m0 * p.ldc + col;
          tile.c_stride = p.ldc;
          tile.init = on_top ? tile.c : p.bias ? p.bias + col : nullptr;
          tile.init_stride = on_top ? p.ldc : 0;
          if (plan.pack_a) {
            tile.a_stride = kPanelM;
            for (int64_t i = 0; i < m; i += kPanelM) {
              const int64_t rows = std::min(kPanelM, m - i);
              tile.a = packed_a + i * k;
              run_tile_column<T, true>(tile, vectors, rows);
              tile.c += rows * tile.c_stride;
              if (tile.init) tile.init += rows * tile.init_stride;
            }
          } else {
            tile.a_stride = p.lda;
            tile.a = p.trans_a ? p.a + k0 * p.lda + m0 : p.a + m0 * p.lda + k0;
            p.trans_a ? run_tile_column<T, true>(tile, vectors, m) : run_tile_column<T, false>(tile, vectors, m);
          }
          if (last_k && needs_epilogue(p)) finish(p, m0, m, col, cols, false);
          panel += vectors * lanes * k;
          j += cols;
        }
      }
    }
    k0 += k;
  } while (k0 < p.k);
}

// C^T (n,m) = B (n,k) A^T (k,m), kSwapRows rows of C^T at a time, each block turned into C.
template <class T>
void run_swapped(const Product<T>& p, T* scratch) {
  const int64_t lanes = lanes_of<T>();
  const int64_t width = round_up(p.m, lanes);
  T* turned = scratch;                      // (kSwapRows, width)
  T* panels = scratch + kSwapRows * width;  // A^T, tile by tile
  for (int64_t n0 = 0; n0 < p.n; n0 += kSwapRows) {
    const int64_t n = std::min(kSwapRows, p.n - n0);
    T* panel = panels;
    for (int64_t i = 0; i < p.m;) {
      const int vectors = tile_vectors(blocks_of(p.m - i, lanes), kSwapRows);
      const int64_t cols = std::min(vectors * lanes, p.m - i);
      if (n0 == 0) {
        const T* a = p.trans_a ? p.a + i : p.a + i * p.lda;
        pack_b_panel(a, p.lda, !p.trans_a, p.k, vectors, cols, panel);
      }
      Tile<T> tile;
      tile.k = p.k;
      tile.cols = cols;
      tile.last = cols - lanes;
      tile.a = p.b + n0 * p.ldb;
      tile.a_stride = p.ldb;
      tile.b = panel;
      tile.b_stride = vectors * lanes;
      tile.b_last = (vectors - 1) * lanes;
      tile.c = turned + i;
      tile.c_stride = width;
      tile.init = nullptr;
      run_tile_column<T, false>(tile, vectors, n);
      panel += vectors * lanes * p.k;
      i += cols;
    }
    transpose(turned, width, n, p.m, p.c + n0, p.ldc);
    if (p.bias || needs_epilogue(p)) finish(p, 0, p.m, n0, n, p.bias != nullptr);
  }
}

template <class T>
void run_dot_path(const Product<T>& p, Path path, T* scratch) {
  Dots<T> dots{};
  dots.k = p.k;
  dots.out = p.c;
  dots.bias = p.bias;
  dots.accumulate = p.accumulate;
  if (path == Path::dot_rows) {
    dots.count = p.n;
    dots.many = p.b;
    dots.many_stride = p.ldb;
    dots.few = p.a;
    dots.few_stride = p.lda;
    if (p.trans_a) transpose(p.a, p.lda, p.k, p.m, scratch, p.k);
    dots.out_many = 1;
    dots.out_few = p.ldc;
    dots.bias_many = 1;
  } else {
    dots.count = p.m;
    dots.many = p.a;
    dots.many_stride = p.lda;
    dots.few = p.b;
    dots.few_stride = p.ldb;
    if (!p.trans_b) transpose(p.b, p.ldb, p.k, p.n, scratch, p.k);
    dots.out_many = p.ldc;
    dots.out_few = 1;
    dots.bias_few = 1;
  }
  if (path == Path::dot_rows ? p.trans_a : !p.trans_b) {
    dots.few = scratch;
    dots.few_stride = p.k;
  }
  run_dots(dots, path == Path::dot_rows ? p.m : p.n);
  if (needs_epilogue(p)) finish(p, 0, p.m, 0, p.n, false);
}

template <class T>
void run(const Product<T>& p, void* scratch) {
  if (p.m <= 0 || p.n <= 0) return;
  T* space = static_cast<T*>(scratch);
  Path path = choose_path(p);
  if (path == Path::swapped && p.accumulate) path = Path::tiles;
  if (path == Path::tiles) return run_tiles(p, space);
  if (path == Path::swapped) return run_swapped(p, space);
  run_dot_path(p, path, space);
}

template <class T>
size_t scratch_bytes(const Product<T>& p) {
  if (p.m <= 0 || p.n <= 0) return 0;
  const Path path = choose_path(p);
  const TilePlan<T> plan(p);
  int64_t elements = 0;
  if (path == Path::dot_rows || path == Path::dot_columns) elements = kMaxFew * p.k;
  if (path == Path::tiles || path == Path::swapped) elements = plan.packed_b() + plan.packed_a();
  if (path == Path::swapped) elements = std::max(elements, (kSwapRows + p.k) * round_up(p.m, lanes_of<T>()));
  return static_cast<size_t>(round_up(elements * static_cast<int64_t>(sizeof(T)), 64));
}

}  // namespace isochron::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
