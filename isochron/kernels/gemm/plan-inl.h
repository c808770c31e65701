// How one thread computes its product: which path, what is packed, how it is blocked, how much scratch that takes.
#if defined(ISOCHRON_KERNELS_GEMM_PLAN_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCHRON_KERNELS_GEMM_PLAN_INL_H
#undef ISOCHRON_KERNELS_GEMM_PLAN_INL_H
#else
#define ISOCHRON_KERNELS_GEMM_PLAN_INL_H
#endif

#include <numeric>

#include "isochron/kernels/gemm/dot-inl.h"
#include "isochron/kernels/gemm/epilogue-inl.h"
#include "isochron/kernels/gemm/microkernel-inl.h"
#include "isochron/kernels/gemm/pack-inl.h"
#include "isochron/kernels/gemm/product.h"

HWY_BEFORE_NAMESPACE();
namespace isochron::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

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

// tiles: register tiles of C.  swapped: tiles of C^T = op(B)^T op(A)^T, turned into C.  outer: k is 1.  row: m is 1.
// dot_rows, dot_columns: few rows or columns.
enum class Path { tiles, swapped, outer, row, dot_rows, dot_columns };

inline constexpr int kSwappedRows = 24;  // of C^T at a time
template <class T>
int64_t swapped_elements(const Product<T>& p) {
  return round_up(p.m, lanes_of<T>()) * (kSwappedRows + (p.trans_a ? 0 : p.k));
}

template <class T>
Path choose_path(const Product<T>& p) {
  if (p.k == 1) return Path::outer;
  if (p.m <= kMaxFew && p.trans_b) return Path::dot_rows;
  if (p.n <= kMaxFew && !p.trans_a) return Path::dot_columns;
  if (p.m == 1 && p.k > 0) return Path::row;
  // In multiply-adds: what a transposed element costs, and the product with its width rounded up to vectors.
  constexpr int64_t kTurn = 6;
  const int64_t lanes = lanes_of<T>();
  const int64_t straight = (p.m * round_up(p.n, lanes) + (p.trans_b ? kTurn * p.n : 0)) * p.k;
  const int64_t swapped = (p.n * round_up(p.m, lanes) + (p.trans_a ? 0 : kTurn * p.m)) * p.k + kTurn * p.m * p.n;
  constexpr int64_t kMostElements = 64 * 1024;
  return !p.accumulate && swapped < straight && swapped_elements(p) <= kMostElements ? Path::swapped : Path::tiles;
}

// Whether the lines of `depth` rows of a matrix, `stride` elements apart, drive each other out of L1 (32 KB, 8 ways, on
// all CPUs we know) before they are used again: its sets are few when the width is a large power of two.
template <class T>
bool crowded(int64_t stride, int64_t depth) {
  constexpr int64_t kWay = 4096, kLine = 64, kWays = 8, kEnough = 32;
  const int64_t sets = kWay / std::max(std::gcd(stride * static_cast<int64_t>(sizeof(T)), kWay), kLine);
  return sets * kWays < std::min(depth, kEnough);
}

// Blocks of the tiles path. A panel of B (block_k deep, one tile wide) stays in L1, a block of A (block_m, block_k) in
// L2, and so does a block of C that is worked on once more. A product that needs none of this is one block.
template <class T>
struct TilePlan {
  bool pack_a, pack_b;
  int64_t block_k, block_n, block_m;

  explicit TilePlan(const Product<T>& p) {
    const bool deep = p.k > 64;
    // A shallow B stays in L1 as it lies; of a panel it takes fewer instructions.
    const bool reused = p.k >= 16 && p.m > (deep ? 64 : 24);
    pack_b = p.trans_b || reused || (p.m > max_rows(2) && crowded<T>(p.ldb, p.k));
    pack_a = p.n > 64 && (deep ? p.trans_a || (p.n > 256 && p.m > 64) : p.trans_a && crowded<T>(p.lda, p.k));
    // Sums of a block of k are rounded together, so that this is not left to the blocking.
    constexpr int64_t kDeepest = 256;  // of a panel that stays in L1
    block_k = pack_a || pack_b ? even_block(p.k, kDeepest) : p.k;
    if (p.blocking != GemmBlocking::modelled && p.m > kPanelRows && block_k <= kDeepest) {
      pack_a = p.blocking == GemmBlocking::packed;
      pack_b = p.trans_b || pack_a;
    }
    const bool whole = !pack_a && !pack_b;
    block_n = whole ? p.n : std::min<int64_t>(p.n, 512);
    block_m = whole && !needs_epilogue(p) ? p.m : std::min<int64_t>(p.m, 192);
  }
  int64_t packed_b() const { return pack_b ? round_up(block_n, lanes_of<T>()) * block_k : 0; }
  int64_t packed_a() const {
    return pack_a ? std::max(round_up(block_m, kPanelRows) * packed_row_stride<T>(block_k),
                             blocks_of(block_m, kPanelRows) * panel_stride<T>(block_k))
                  : 0;
  }
  // Whether all of B passes through packed panels on its way, where its columns are summed cheaply.
  bool sums_columns(const Product<T>& p) const { return pack_b && !p.trans_b && p.n > lanes_of<T>(); }
};

template <class T>
size_t scratch_bytes(const Product<T>& p) {
  if (p.m <= 0 || p.n <= 0) return 0;
  const TilePlan<T> plan(p);
  int64_t elements = 0;
  switch (choose_path(p)) {
    case Path::tiles:
      elements = plan.packed_b() + plan.packed_a();
      break;
    case Path::swapped:  // or tiles, should C be accumulated
      elements = std::max(swapped_elements(p), plan.packed_b() + plan.packed_a());
      break;
    case Path::outer:
      elements = p.trans_b ? p.n : 0;
      break;
    case Path::row:
      break;
    case Path::dot_rows:
    case Path::dot_columns:
      elements = kMaxFew * p.k;
      break;
  }
  return static_cast<size_t>(round_up(elements * static_cast<int64_t>(sizeof(T)), 64));
}

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

}  // namespace isochron::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
