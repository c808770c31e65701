#include "isochron/kernels/reduce/reduce_loops.h"

#include <algorithm>
#include <concepts>
#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "isochron/kernels/reduce/reduce_loops.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "isochron/kernels/tile/vector_math-inl.h"
#include "isochron/kernels/tile/vector_parts-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isochron {
namespace kernels {
namespace HWY_NAMESPACE {

// Integers overflow as unsigned ones do.
template <class T>
struct WrappingType {
  using type = T;
};
template <std::integral T>
struct WrappingType<T> {
  using type = std::make_unsigned_t<T>;
};
template <class T>
using Wrapping = typename WrappingType<T>::type;

// Each method: its identity, and two values joined, as scalars and as vectors of floats.
struct Sum {
  template <class T>
  static constexpr T identity() {
    return 0;
  }
  template <class T>
  static HWY_INLINE T join(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  }
  template <class V>
  static HWY_INLINE V join_vectors(V a, V b) {
    return hn::Add(a, b);
  }
};

struct Prod {
  template <class T>
  static constexpr T identity() {
    return 1;
  }
  template <class T>
  static HWY_INLINE T join(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  }
  template <class V>
  static HWY_INLINE V join_vectors(V a, V b) {
    return hn::Mul(a, b);
  }
};

struct Max {
  template <class T>
  static constexpr T identity() {
    return std::is_integral_v<T> ? std::numeric_limits<T>::lowest() : -std::numeric_limits<T>::infinity();
  }
  template <class T>
  static HWY_INLINE T join(T a, T b) {
    return a != a || a > b ? a : b;
  }
  template <class V>
  static HWY_INLINE V join_vectors(V a, V b) {
    return hn::IfThenElse(hn::IsNaN(a), a, max_keep_nan(a, b));
  }
};

struct Min {
  template <class T>
  static constexpr T identity() {
    return std::is_integral_v<T> ? std::numeric_limits<T>::max() : std::numeric_limits<T>::infinity();
  }
  template <class T>
  static HWY_INLINE T join(T a, T b) {
    return a != a || a < b ? a : b;
  }
  template <class V>
  static HWY_INLINE V join_vectors(V a, V b) {
    return hn::IfThenElse(hn::IsNaN(a), a, min_keep_nan(a, b));
  }
};

template <class T>
using Accumulator = std::conditional_t<std::is_integral_v<T>, int64_t, double>;

template <class Method, class T>
HWY_INLINE Accumulator<T> reduce_run(const T* x, int64_t n) {
  using A = Accumulator<T>;
  A result = Method::template identity<A>();
  if constexpr (std::is_integral_v<T>) {
    for (int64_t i = 0; i < n; ++i) result = Method::join(result, static_cast<A>(x[i]));
  } else {
    const hn::ScalableTag<T> d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    const auto identity = hn::Set(d, Method::template identity<T>());
    auto a = identity, b = identity, c = identity, e = identity;
    int64_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
      a = Method::join_vectors(a, hn::LoadU(d, x + i));
      b = Method::join_vectors(b, hn::LoadU(d, x + i + lanes));
      c = Method::join_vectors(c, hn::LoadU(d, x + i + 2 * lanes));
      e = Method::join_vectors(e, hn::LoadU(d, x + i + 3 * lanes));
    }
    for_vectors(d, n - i, [&](int64_t j, auto part) HWY_ATTR {
      a = Method::join_vectors(a, part.load_or(d, x + i + j, identity));
    });
    a = Method::join_vectors(Method::join_vectors(a, b), Method::join_vectors(c, e));
    if constexpr (std::is_same_v<Method, Sum>) {
      result = static_cast<A>(hn::GetLane(hn::SumOfLanes(d, a)));
    } else {
      HWY_ALIGN T each[hn::MaxLanes(d)];
      hn::Store(a, d, each);
      for (int64_t k = 0; k < lanes; ++k) result = Method::join(result, static_cast<A>(each[k]));
    }
  }
  return result;
}

// Runs longer than this are cut, so that no vector lane adds up more than a few dozen elements.
constexpr int64_t kLongestRun = 512;

template <class Method, class T>
void run_loop(const void* x_bytes, int64_t n, void* accumulator) {
  using A = Accumulator<T>;
  const T* x = static_cast<const T*>(x_bytes);
  A& result = *static_cast<A*>(accumulator);
  for (int64_t i = 0; i < n; i += kLongestRun)
    result = Method::join(result, reduce_run<Method>(x + i, std::min(kLongestRun, n - i)));
}

template <class Method, class T>
void rows_loop(const void* x_bytes, int64_t rows, int64_t cols, void* partials_bytes) {
  const T* x = static_cast<const T*>(x_bytes);
  T* partials = static_cast<T*>(partials_bytes);
  if constexpr (std::is_integral_v<T>) {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < cols; ++c) partials[c] = Method::join(partials[c], x[r * cols + c]);
  } else {
    const hn::ScalableTag<T> d;
    for_vectors(d, cols, [&](int64_t c, auto part) HWY_ATTR {
      auto v = part.load(d, partials + c);
      for (int64_t r = 0; r < rows; ++r) v = Method::join_vectors(v, part.load(d, x + r * cols + c));
      part.store(v, d, partials + c);
    });
  }
}

template <class Method, class T>
void flush_loop(void* partials_bytes, int64_t n, void* accumulators_bytes) {
  T* partials = static_cast<T*>(partials_bytes);
  auto* accumulators = static_cast<Accumulator<T>*>(accumulators_bytes);
  for (int64_t i = 0; i < n; ++i) {
    accumulators[i] = Method::join(accumulators[i], static_cast<Accumulator<T>>(partials[i]));
    partials[i] = Method::template identity<T>();
  }
}

template <class Method, class T>
void combine_loop(const void* more_bytes, int64_t n, void* accumulators_bytes) {
  const auto* more = static_cast<const Accumulator<T>*>(more_bytes);
  auto* accumulators = static_cast<Accumulator<T>*>(accumulators_bytes);
  for (int64_t i = 0; i < n; ++i) accumulators[i] = Method::join(accumulators[i], more[i]);
}

template <class Method, class T>
void clear_loop(void* partials, void* accumulators, int64_t n) {
  using A = Accumulator<T>;
  if (partials) std::fill_n(static_cast<T*>(partials), n, Method::template identity<T>());
  if (accumulators) std::fill_n(static_cast<A*>(accumulators), n, Method::template identity<A>());
}

template <class Method>
const ReduceLoops* find_loops(DType compute) {
  static constexpr ReduceLoops table[] = {
#define ISO_LOOPS(T) \
  {run_loop<Method, T>, rows_loop<Method, T>, flush_loop<Method, T>, combine_loop<Method, T>, clear_loop<Method, T>}
      ISO_LOOPS(float), ISO_LOOPS(double), ISO_LOOPS(int32_t), ISO_LOOPS(int64_t)
#undef ISO_LOOPS
  };
  return &table[static_cast<size_t>(compute)];  // the compute types come first in DType, in this order
}

const ReduceLoops* find_reduce_loops(ReduceMethod method, DType compute) {
  switch (method) {
    case ReduceMethod::sum:
      return find_loops<Sum>(compute);
    case ReduceMethod::prod:
      return find_loops<Prod>(compute);
    case ReduceMethod::max:
      return find_loops<Max>(compute);
    case ReduceMethod::min:
      return find_loops<Min>(compute);
  }
  return nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace kernels
}  // namespace isochron
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isochron::kernels {

HWY_EXPORT(find_reduce_loops);

const ReduceLoops* reduce_loops(ReduceMethod method, DType compute) {
  return HWY_DYNAMIC_DISPATCH(find_reduce_loops)(method, compute);
}

}  // namespace isochron::kernels
#endif
