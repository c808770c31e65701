#include "isochron/kernels/normalize/normalize.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "isochron/kernels/normalize/normalize.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "isochron/kernels/tile/vector_parts-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isochron::kernels::HWY_NAMESPACE {

template <class T>
struct Normalize {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;

  // Sum of terms(i, part), in two chains so that additions overlap.
  template <class F>
  static HWY_INLINE T sum_of(int64_t n, F terms) {
    const D d;
    V even = hn::Zero(d), odd = hn::Zero(d);
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    int64_t i = 0;
    for (; i + 2 * lanes <= n; i += 2 * lanes) {
      even = hn::Add(even, terms(i, WholeVector{}));
      odd = hn::Add(odd, terms(i + lanes, WholeVector{}));
    }
    for_vectors(d, n - i, [&](int64_t k, auto part) HWY_ATTR { even = hn::Add(even, terms(i + k, part)); });
    return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
  }

  static void rows(const T* x, const T* gamma, const T* beta, T* y, T* rstd, T* mean, int64_t rows, int64_t cols,
                   double epsilon) {
    const D d;
    const T share = T(1) / static_cast<T>(cols);
    for (int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
      T centre = 0;
      if (mean) {
        centre = sum_of(cols, [&](int64_t i, auto part) HWY_ATTR { return part.load(d, x + i); }) * share;
        mean[r] = centre;
      }
      const V middle = hn::Set(d, centre);
      const T squares = sum_of(cols, [&](int64_t i, auto part) HWY_ATTR {
        const V off = hn::Sub(part.load_or(d, x + i, middle), middle);
        return hn::Mul(off, off);
      });
      const T factor = static_cast<T>(1 / std::sqrt(static_cast<double>(squares * share) + epsilon));
      rstd[r] = factor;
      const V scale = hn::Set(d, factor);
      for_vectors(d, cols, [&](int64_t i, auto part) HWY_ATTR {
        V v = hn::Mul(hn::Sub(part.load(d, x + i), middle), scale);
        if (gamma) v = hn::Mul(v, part.load(d, gamma + i));
        if (beta) v = hn::Add(v, part.load(d, beta + i));
        part.store(v, d, y + i);
      });
    }
  }

  // With n = (x - mean) rstd and g = dy gamma: dx = rstd (g - mean(g) - n mean(g n)); RMS norm lacks mean(g).
  static void rows_backward(const T* dy, const T* x, const T* gamma, const T* rstd, const T* mean, T* dx, T* dgamma,
                            T* dbeta, int64_t rows, int64_t cols) {
    const D d;
    const T share = T(1) / static_cast<T>(cols);
    for (int64_t r = 0; r < rows; ++r, dy += cols, x += cols, dx += cols) {
      const V middle = hn::Set(d, mean ? mean[r] : T(0)), scale = hn::Set(d, rstd[r]);
      V sum = hn::Zero(d), product = hn::Zero(d);
      for_vectors(d, cols, [&](int64_t i, auto part) HWY_ATTR {
        const V up = part.load(d, dy + i);
        const V n = hn::Mul(hn::Sub(part.load(d, x + i), middle), scale);
        const V dn = hn::Mul(up, n);
        if (dgamma) part.store(hn::Add(part.load(d, dgamma + i), dn), d, dgamma + i);
        if (dbeta) part.store(hn::Add(part.load(d, dbeta + i), up), d, dbeta + i);
        const V weight = gamma ? part.load(d, gamma + i) : hn::Set(d, T(1));
        sum = hn::MulAdd(up, weight, sum);
        product = hn::MulAdd(dn, weight, product);
      });
      const V along = hn::Set(d, hn::GetLane(hn::SumOfLanes(d, product)) * share * rstd[r]);
      const V level = hn::Set(d, mean ? hn::GetLane(hn::SumOfLanes(d, sum)) * share : T(0));
      for_vectors(d, cols, [&](int64_t i, auto part) HWY_ATTR {
        V g = part.load(d, dy + i);
        if (gamma) g = hn::Mul(g, part.load(d, gamma + i));
        g = hn::NegMulAdd(hn::Sub(part.load(d, x + i), middle), along, hn::Sub(g, level));
        part.store(hn::Mul(g, scale), d, dx + i);
      });
    }
  }

  // Block by block of rows that stay in cache: the block's mean, then distances from it, then both merged into what
  // came before (Chan's formula), so that a large mean costs no digits of the variance.
  static void column_statistics(const T* x, int64_t rows, int64_t cols, T* mean, T* m2) {
    const D d;
    const int64_t block = std::clamp<int64_t>(4096 / std::max<int64_t>(cols, 1), 8, 256);
    std::fill_n(mean, cols, T(0));
    std::fill_n(m2, cols, T(0));
    for (int64_t first = 0; first < rows; first += block) {
      const int64_t count = std::min(block, rows - first);
      const T* from = x + first * cols;
      const V share = hn::Set(d, T(1) / static_cast<T>(count));
      const T all = static_cast<T>(first + count);
      const V before = hn::Set(d, static_cast<T>(count) / all);
      const V spread = hn::Set(d, static_cast<T>(first) * static_cast<T>(count) / all);
      for_vectors(d, cols, [&](int64_t i, auto part) HWY_ATTR {
        V sum = hn::Zero(d);
        for (int64_t r = 0; r < count; ++r) sum = hn::Add(sum, part.load(d, from + r * cols + i));
        const V centre = hn::Mul(sum, share);
        V squares = hn::Zero(d);
        for (int64_t r = 0; r < count; ++r) {
          const V off = hn::Sub(part.load(d, from + r * cols + i), centre);
          squares = hn::MulAdd(off, off, squares);
        }
        const V old = part.load(d, mean + i), delta = hn::Sub(centre, old);
        part.store(hn::MulAdd(delta, before, old), d, mean + i);
        squares = hn::MulAdd(hn::Mul(delta, delta), spread, squares);
        part.store(hn::Add(part.load(d, m2 + i), squares), d, m2 + i);
      });
    }
  }

  static void scale_columns(const T* x, const T* scale, const T* shift, T* y, int64_t rows, int64_t cols) {
    const D d;
    for (int64_t r = 0; r < rows; ++r)
      for_vectors(d, cols, [&](int64_t i, auto part) HWY_ATTR {
        const int64_t at = r * cols + i;
        part.store(hn::MulAdd(part.load(d, x + at), part.load(d, scale + i), part.load(d, shift + i)), d, y + at);
      });
  }

  static void column_products(const T* dy, const T* x, const T* mean, int64_t rows, int64_t cols, T* sum, T* product) {
    const D d;
    constexpr int64_t kBlock = 64;  // short runs in registers, their totals in memory
    std::fill_n(sum, cols, T(0));
    std::fill_n(product, cols, T(0));
    for (int64_t first = 0; first < rows; first += kBlock) {
      const int64_t last = std::min(first + kBlock, rows);
      for_vectors(d, cols, [&](int64_t i, auto part) HWY_ATTR {
        const V centre = part.load(d, mean + i);
        V s = hn::Zero(d), p = hn::Zero(d);
        for (int64_t r = first; r < last; ++r) {
          const V up = part.load(d, dy + r * cols + i);
          s = hn::Add(s, up);
          p = hn::MulAdd(up, hn::Sub(part.load(d, x + r * cols + i), centre), p);
        }
        part.store(hn::Add(part.load(d, sum + i), s), d, sum + i);
        part.store(hn::Add(part.load(d, product + i), p), d, product + i);
      });
    }
  }

  static void combine_columns(const T* dy, const T* x, const T* a, const T* b, const T* c, T* dx, int64_t rows,
                              int64_t cols) {
    const D d;
    for (int64_t r = 0; r < rows; ++r)
      for_vectors(d, cols, [&](int64_t i, auto part) HWY_ATTR {
        const int64_t at = r * cols + i;
        const V from_x = hn::MulAdd(part.load(d, x + at), part.load(d, b + i), part.load(d, c + i));
        part.store(hn::MulAdd(part.load(d, dy + at), part.load(d, a + i), from_x), d, dx + at);
      });
  }
};

template <class T>
const NormalizeLoops<T>* find_normalize() {
  using N = Normalize<T>;
  static constexpr NormalizeLoops<T> loops = {N::rows,          N::rows_backward,   N::column_statistics,
                                              N::scale_columns, N::column_products, N::combine_columns};
  return &loops;
}
const NormalizeLoops<float>* find_normalize_f32() { return find_normalize<float>(); }
const NormalizeLoops<double>* find_normalize_f64() { return find_normalize<double>(); }

}  // namespace isochron::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isochron::kernels {

HWY_EXPORT(find_normalize_f32);
HWY_EXPORT(find_normalize_f64);

template <>
const NormalizeLoops<float>& normalize_loops<float>() {
  return *HWY_DYNAMIC_DISPATCH(find_normalize_f32)();
}
template <>
const NormalizeLoops<double>& normalize_loops<double>() {
  return *HWY_DYNAMIC_DISPATCH(find_normalize_f64)();
}

}  // namespace isochron::kernels
#endif
