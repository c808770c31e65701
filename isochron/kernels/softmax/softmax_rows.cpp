#include "isochron/kernels/softmax/softmax_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "isochron/kernels/softmax/softmax_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "isochron/kernels/tile/exponential-inl.h"
#include "isochron/kernels/tile/vector_parts-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isochron {
namespace kernels {
namespace HWY_NAMESPACE {

template <class T>
struct Rows {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  using Sum = typename SoftmaxRows<T>::Sum;
  static constexpr T kLowest = -std::numeric_limits<T>::infinity();

  static T maximum(const T* x, int64_t n) {
    const D d;
    const V lowest = hn::Set(d, kLowest);
    V most = lowest;
    for_vectors(d, n, [&](int64_t i, auto part) HWY_ATTR { most = hn::Max(part.load_or(d, x + i, lowest), most); });
    return hn::GetLane(hn::MaxOfLanes(d, most));
  }

  // Sums of terms(i, part) over the row: short runs in vectors, the runs in double, so that long rows lose no digits.
  template <class F>
  static HWY_INLINE T blocked_sum(int64_t n, F terms) {
    constexpr int64_t kRun = 1024;
    const D d;
    double total = 0;
    for (int64_t begin = 0; begin < n; begin += kRun) {
      V sum = hn::Zero(d);
      for_vectors(d, std::min(kRun, n - begin),
                  [&](int64_t i, auto part) HWY_ATTR { sum = hn::Add(sum, terms(begin + i, part)); });
      total += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
    }
    return static_cast<T>(total);
  }

  static Sum sum(const T* x, int64_t n) {
    const D d;
    const T most = maximum(x, n);
    const V shift = hn::Set(d, most), lowest = hn::Set(d, kLowest);
    return {most, blocked_sum(n, [&](int64_t i, auto part) HWY_ATTR {
              return exponential(d, hn::Sub(part.load_or(d, x + i, lowest), shift));
            })};
  }

  static void softmax(const T* x, T* y, int64_t n) {
    const D d;
    const V shift = hn::Set(d, maximum(x, n)), lowest = hn::Set(d, kLowest);
    const T total_of_all = blocked_sum(n, [&](int64_t i, auto part) HWY_ATTR {
      const V e = exponential(d, hn::Sub(part.load_or(d, x + i, lowest), shift));
      part.store(e, d, y + i);
      return e;
    });
    const V factor = hn::Set(d, 1 / total_of_all);
    for_vectors(d, n,
                [&](int64_t i, auto part) HWY_ATTR { part.store(hn::Mul(part.load(d, y + i), factor), d, y + i); });
  }

  static void shift(const T* x, T* y, int64_t n, T first, T second) {
    const D d;
    const V a = hn::Set(d, first), b = hn::Set(d, second);
    for_vectors(d, n, [&](int64_t i, auto part) HWY_ATTR {
      part.store(hn::Sub(hn::Sub(part.load(d, x + i), a), b), d, y + i);
    });
  }

  static T total(const T* x, int64_t n) {
    const D d;
    return blocked_sum(n, [&](int64_t i, auto part) HWY_ATTR { return part.load(d, x + i); });
  }

  static T dot(const T* a, const T* b, int64_t n) {
    const D d;
    return blocked_sum(
        n, [&](int64_t i, auto part) HWY_ATTR { return hn::Mul(part.load(d, a + i), part.load(d, b + i)); });
  }

  static void softmax_backward(const T* dy, const T* y, T* dx, int64_t n) {
    const D d;
    const V s = hn::Set(d, dot(dy, y, n));
    for_vectors(d, n, [&](int64_t i, auto part) HWY_ATTR {
      part.store(hn::Mul(part.load(d, y + i), hn::Sub(part.load(d, dy + i), s)), d, dx + i);
    });
  }

  static void log_softmax_backward(const T* dy, const T* y, T* dx, int64_t n, T row_total) {
    const D d;
    const V s = hn::Set(d, row_total);
    for_vectors(d, n, [&](int64_t i, auto part) HWY_ATTR {
      part.store(hn::NegMulAdd(exponential(d, part.load(d, y + i)), s, part.load(d, dy + i)), d, dx + i);
    });
  }

  static void probabilities(const T* x, T* y, int64_t n, T log_sum, T factor) {
    const D d;
    const V s = hn::Set(d, log_sum), f = hn::Set(d, factor);
    for_vectors(d, n, [&](int64_t i, auto part) HWY_ATTR {
      part.store(hn::Mul(exponential(d, hn::Sub(part.load(d, x + i), s)), f), d, y + i);
    });
  }

  static void subtract_scaled(const T* p, T* y, int64_t n, T factor) {
    const D d;
    const V f = hn::Set(d, factor);
    for_vectors(d, n, [&](int64_t i, auto part) HWY_ATTR {
      part.store(hn::NegMulAdd(part.load(d, p + i), f, part.load(d, y + i)), d, y + i);
    });
  }
};

template <class T>
const SoftmaxRows<T>* find_rows() {
  using R = Rows<T>;
  static constexpr SoftmaxRows<T> rows = {
      R::sum,           R::softmax,        R::shift, R::total, R::dot, R::softmax_backward, R::log_softmax_backward,
      R::probabilities, R::subtract_scaled};
  return &rows;
}

const SoftmaxRows<float>* find_rows_f32() { return find_rows<float>(); }
const SoftmaxRows<double>* find_rows_f64() { return find_rows<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace kernels
}  // namespace isochron
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isochron::kernels {

HWY_EXPORT(find_rows_f32);
HWY_EXPORT(find_rows_f64);

template <>
const SoftmaxRows<float>& softmax_rows<float>() {
  return *HWY_DYNAMIC_DISPATCH(find_rows_f32)();
}
template <>
const SoftmaxRows<double>& softmax_rows<double>() {
  return *HWY_DYNAMIC_DISPATCH(find_rows_f64)();
}

}  // namespace isochron::kernels
#endif
