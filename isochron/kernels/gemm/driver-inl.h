// Walks one thread's product along the path that was chosen for it.
#if defined(ISOCHRON_KERNELS_GEMM_DRIVER_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCHRON_KERNELS_GEMM_DRIVER_INL_H
#undef ISOCHRON_KERNELS_GEMM_DRIVER_INL_H
#else
#define ISOCHRON_KERNELS_GEMM_DRIVER_INL_H
#endif

#include "isochron/kernels/gemm/outer-inl.h"
#include "isochron/kernels/gemm/plan-inl.h"
#include "isochron/kernels/gemm/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isochron::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows of A over one block of k, packed or where they are.
template <class T>
struct BlockOfA {
  const T* a;
  int64_t stride;
  bool k_major;
  int rows, panel_rows;  // panels lie panel_stride apart; unpacked rows are one panel
  int64_t panel_stride;

  void run(TileColumn<T> column, int vectors) const {
    column.a_stride = stride;
    for (int row = 0, panel = 0; row < rows; row += panel_rows, ++panel) {
      column.a = a + panel * panel_stride;
      const int count = std::min(panel_rows, rows - row);
      k_major ? run_rows<T, true>(column, vectors, count) : run_rows<T, false>(column, vectors, count);
    }
  }
};

template <class T>
BlockOfA<T> block_of_a(const Product<T>& p, bool pack, int64_t m0, int rows, int64_t k0, int64_t k, T* packed) {
  const T* a = p.trans_a ? p.a + k0 * p.lda + m0 : p.a + m0 * p.lda + k0;
  if (!pack) return {a, p.lda, p.trans_a, rows, rows, 0};
  if (p.trans_a) {
    pack_k_major_a(a, p.lda, rows, k, packed);
    return {packed, kPanelRows, true, rows, kPanelRows, panel_stride<T>(k)};
  }
  pack_row_major_a(a, p.lda, rows, k, packed);
  return {packed, packed_row_stride<T>(k), false, rows, rows, 0};
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
        const int m = static_cast<int>(std::min(plan.block_m, p.m - m0));
        const BlockOfA<T> block_a = block_of_a(p, plan.pack_a, m0, m, k0, k, packed_a);
        T* panel = packed_b;
        for (int64_t j = 0; j < n;) {
          const int vectors = tile_vectors(blocks_of(n - j, lanes), p.m);
          const int64_t cols = std::min(vectors * lanes, n - j);
          const int64_t col = n0 + j;
          TileColumn<T> column;
          column.k = k;
          column.cols = cols;
          column.last = cols - lanes;
          column.c = p.c + m0 * p.ldc + col;
          column.c_stride = p.ldc;
          column.init = on_top ? column.c : p.bias ? p.bias + col : nullptr;
          column.init_stride = on_top ? p.ldc : 0;
          if (p.residual && k0 == 0) column.residual = p.residual + m0 * p.ldc + col;
          if (p.gate && last_k) column.gate = p.gate + m0 * p.ldc + col;
          column.packed_b = nullptr;
          if (p.trans_b) {
            if (m0 == 0) pack_transposed_b(p.b + col * p.ldb + k0, p.ldb, k, vectors, cols, panel);
            column.use_packed(panel, vectors);
          } else if (!plan.pack_b || vectors == 1 || m0 == 0) {
            column.b = p.b + k0 * p.ldb + col;
            column.b_stride = p.ldb;
            column.b_last = column.last;
            if (plan.pack_b && vectors > 1) column.packed_b = panel;
          } else {
            column.use_packed(panel, vectors);
          }
          block_a.run(column, vectors);
          if (p.column_sums && m0 == 0 && plan.sums_columns(p)) {
            column.use_packed(panel, vectors);
            add_rows(column, vectors, k0 == 0, p.column_sums + col);
          }
          panel += vectors * lanes * k;
          j += cols;
        }
        if (last_k && needs_epilogue(p)) finish(p, m0, m, n0, n, false, false);
      }
    }
    k0 += k;
  } while (k0 < p.k);
}

// C^T (n,m) = op(B)^T (n,k) op(A)^T (k,m), kSwappedRows rows of C^T at a time, each block turned into C.
template <class T>
void run_swapped(const Product<T>& p, T* scratch) {
  const int64_t lanes = lanes_of<T>();
  const int64_t width = round_up(p.m, lanes);
  T* turned = scratch;                         // (kSwappedRows, width)
  T* panels = scratch + kSwappedRows * width;  // op(A)^T, tile by tile, unless A is stored that way
  for (int64_t n0 = 0; n0 < p.n; n0 += kSwappedRows) {
    const int n = static_cast<int>(std::min<int64_t>(kSwappedRows, p.n - n0));
    T* panel = panels;
    for (int64_t i = 0; i < p.m;) {
      const int vectors = tile_vectors(blocks_of(p.m - i, lanes), std::min<int64_t>(p.n, kSwappedRows));
      const int64_t cols = std::min(vectors * lanes, p.m - i);
      if (n0 == 0 && !p.trans_a) pack_transposed_b(p.a + i * p.lda, p.lda, p.k, vectors, cols, panel);
      TileColumn<T> column;
      column.k = p.k;
      column.a = p.trans_b ? p.b + n0 * p.ldb : p.b + n0;
      column.a_stride = p.ldb;
      column.cols = cols;
      column.last = cols - lanes;
      column.packed_b = nullptr;
      if (p.trans_a) {
        column.b = p.a + i;
        column.b_stride = p.lda;
        column.b_last = column.last;
      } else {
        column.use_packed(panel, vectors);
      }
      column.c = turned + i;
      column.c_stride = width;
      column.init = nullptr;
      p.trans_b ? run_rows<T, false>(column, vectors, n) : run_rows<T, true>(column, vectors, n);
      panel += vectors * lanes * p.k;
      i += cols;
    }
    transpose(turned, width, n, p.m, p.c + n0, p.ldc);
    if (p.bias || p.residual || p.gate || needs_epilogue(p)) finish(p, 0, p.m, n0, n, p.bias != nullptr, true);
  }
}

template <class T>
void run_dot_path(const Product<T>& p, bool few_rows, T* scratch) {
  Dots<T> dots{};
  dots.k = p.k;
  dots.out = p.c;
  dots.bias = p.bias;
  dots.accumulate = p.accumulate;
  if (few_rows) {
    dots.count = p.n;
    dots.many = p.b;
    dots.many_stride = p.ldb;
    dots.few = p.a;
    dots.few_stride = p.lda;
    dots.out_many = 1;
    dots.out_few = p.ldc;
    dots.bias_many = 1;
  } else {
    dots.count = p.m;
    dots.many = p.a;
    dots.many_stride = p.lda;
    dots.few = p.b;
    dots.few_stride = p.ldb;
    dots.out_many = p.ldc;
    dots.out_few = 1;
    dots.bias_few = 1;
  }
  const int64_t few = few_rows ? p.m : p.n;
  if (few_rows ? p.trans_a : !p.trans_b) {
    transpose(dots.few, dots.few_stride, p.k, few, scratch, p.k);
    dots.few = scratch;
    dots.few_stride = p.k;
  }
  run_dots(dots, few);
}

template <class T>
void sum_columns(const Product<T>& p) {
  std::fill_n(p.column_sums, p.n, T(0));
  for (int64_t k = 0; k < p.k; ++k) {
    const T* HWY_RESTRICT row = p.b + k * p.ldb;
    for (int64_t j = 0; j < p.n; ++j) p.column_sums[j] += row[j];
  }
}

template <class T>
void run_add_parts(const Product<T>& p, const PartialSums<T>& parts) {
  const hn::ScalableTag<T> d;
  for (int64_t row = 0; row < p.m; ++row) {
    const T* first = parts.first + row * parts.ld;
    for_vectors(d, p.n, [&](int64_t j, auto part) HWY_ATTR {
      auto sum = part.load(d, first + j);
      for (int i = 1; i < parts.count; ++i) sum = hn::Add(sum, part.load(d, first + i * parts.distance + j));
      if (p.bias) sum = hn::Add(sum, part.load(d, p.bias + j));
      part.store(sum, d, p.c + row * p.ldc + j);
    });
  }
  if (p.residual || p.gate || needs_epilogue(p)) finish(p, 0, p.m, 0, p.n, false, true);
}

template <class T>
void run(const Product<T>& p, void* scratch) {
  if (p.m <= 0 || p.n <= 0) return;
  T* space = static_cast<T*>(scratch);
  const Path path = choose_path(p);
  if (p.column_sums && !(path == Path::tiles && TilePlan<T>(p).sums_columns(p))) sum_columns(p);
  if (path == Path::tiles) return run_tiles(p, space);
  if (path == Path::swapped) return run_swapped(p, space);
  path == Path::row     ? run_row(p)
  : path == Path::outer ? run_outer(p, space)
                        : run_dot_path(p, path == Path::dot_rows, space);
  if (p.residual || p.gate || needs_epilogue(p)) finish(p, 0, p.m, 0, p.n, false, true);
}

}  // namespace isochron::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
