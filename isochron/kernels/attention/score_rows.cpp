#include "isochron/kernels/attention/score_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "isochron/kernels/attention/score_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "isochron/kernels/tile/exponential-inl.h"
#include "isochron/kernels/tile/vector_parts-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isochron::kernels::HWY_NAMESPACE {

template <class T>
struct Scores {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;

  // Scores nobody may see; masks are rare enough in a step's time for a plain loop.
  static void hide(T* s, int64_t n, int64_t known, const bool* seen, T value) {
    if (seen)
      for (int64_t i = 0; i < known; ++i)
        if (!seen[i]) s[i] = value;
    if (known < n) std::fill(s + std::max<int64_t>(known, 0), s + n, value);
  }

  static T scale(T* s, int64_t n, int64_t known, T factor, const bool* seen) {
    const D d;
    const V by = hn::Set(d, factor), lowest = hn::Set(d, kUnseen<T>);
    const bool all = known >= n && !seen;
    V most = lowest;
    for_vectors(d, std::min(n, known), [&](int64_t i, auto part) HWY_ATTR {
      part.store(hn::Mul(part.load(d, s + i), by), d, s + i);
      most = hn::Max(part.load_or(d, s + i, lowest), most);
    });
    if (all) return hn::GetLane(hn::MaxOfLanes(d, most));
    hide(s, n, known, seen, kUnseen<T>);
    most = lowest;
    for_vectors(d, n, [&](int64_t i, auto part) HWY_ATTR { most = hn::Max(part.load_or(d, s + i, lowest), most); });
    return hn::GetLane(hn::MaxOfLanes(d, most));
  }

  static T exponentials(T* s, int64_t n, T shift) {
    const D d;
    const V by = hn::Set(d, shift);
    V sum = hn::Zero(d);
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
      const V e = exponential(d, hn::Sub(hn::LoadU(d, s + i), by));
      hn::StoreU(e, d, s + i);
      sum = hn::Add(sum, e);
    }
    if (i < n) {
      const auto mask = hn::FirstN(d, static_cast<size_t>(n - i));
      const V e = hn::IfThenElseZero(mask, exponential(d, hn::Sub(hn::MaskedLoad(mask, d, s + i), by)));
      hn::BlendedStore(e, mask, d, s + i);
      sum = hn::Add(sum, e);
    }
    return hn::GetLane(hn::SumOfLanes(d, sum));
  }

  static T softmax(T* s, int64_t n, int64_t known, T factor, const bool* seen) {
    const T most = scale(s, n, known, factor, seen);
    const T sum = exponentials(s, n, most);
    multiply(s, n, 1 / sum);
    return most <= kUnseen<T> ? std::numeric_limits<T>::infinity() : most + std::log(sum);
  }

  static void kept_gradients(const T* p, T* dp, int64_t n, T factor, T delta) {
    const D d;
    const V by = hn::Set(d, factor), off = hn::Set(d, delta);
    for_vectors(d, n, [&](int64_t i, auto part) HWY_ATTR {
      part.store(hn::Mul(hn::Mul(part.load(d, p + i), by), hn::Sub(part.load(d, dp + i), off)), d, dp + i);
    });
  }

  static void gradients(T* s, T* dp, int64_t n, int64_t known, T factor, const bool* seen, T log_sum, T delta) {
    const D d;
    const V by = hn::Set(d, factor), shift = hn::Set(d, log_sum), off = hn::Set(d, delta);
    const int64_t visible = std::min(n, known);
    for_vectors(d, visible, [&](int64_t i, auto part) HWY_ATTR {
      const V p = exponential(d, hn::MulSub(part.load(d, s + i), by, shift));
      part.store(p, d, s + i);
      part.store(hn::Mul(hn::Mul(p, by), hn::Sub(part.load(d, dp + i), off)), d, dp + i);
    });
    if (visible == n && !seen) return;
    hide(s, n, known, seen, T(0));
    hide(dp, n, known, seen, T(0));
  }

  static void multiply(T* x, int64_t n, T factor) {
    const D d;
    const V by = hn::Set(d, factor);
    for_vectors(d, n, [&](int64_t i, auto part) HWY_ATTR { part.store(hn::Mul(part.load(d, x + i), by), d, x + i); });
  }

  static T dot(const T* a, const T* b, int64_t n) {
    const D d;
    V sum = hn::Zero(d);
    for_vectors(
        d, n, [&](int64_t i, auto part) HWY_ATTR { sum = hn::MulAdd(part.load(d, a + i), part.load(d, b + i), sum); });
    return hn::GetLane(hn::SumOfLanes(d, sum));
  }
};

template <class T>
const ScoreRows<T>* find_scores() {
  using S = Scores<T>;
  static constexpr ScoreRows<T> rows = {S::scale,          S::exponentials, S::softmax, S::gradients,
                                        S::kept_gradients, S::multiply,     S::dot};
  return &rows;
}
const ScoreRows<float>* find_scores_f32() { return find_scores<float>(); }
const ScoreRows<double>* find_scores_f64() { return find_scores<double>(); }

}  // namespace isochron::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isochron::kernels {

HWY_EXPORT(find_scores_f32);
HWY_EXPORT(find_scores_f64);

template <>
const ScoreRows<float>& score_rows<float>() {
  return *HWY_DYNAMIC_DISPATCH(find_scores_f32)();
}
template <>
const ScoreRows<double>& score_rows<double>() {
  return *HWY_DYNAMIC_DISPATCH(find_scores_f64)();
}

}  // namespace isochron::kernels
#endif
