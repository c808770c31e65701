#include "isochron/kernels/reduce/arg_reduce.h"

#include <algorithm>
#include <type_traits>

namespace isochron::kernels {
namespace {

constexpr int64_t kArgReduceShare = 4096;  // elements

template <class T>
auto comparable(T x) {
  if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
    return static_cast<float>(x);
  else
    return x;
}

template <bool kMax, class T>
bool better(T x, T best) {
  if (kMax ? x > best : x < best) return true;
  return x != x && best == best;
}

template <bool kMax, class T>
int64_t best_of(const T* x, int64_t count, int64_t stride) {
  auto best = comparable(x[0]);
  int64_t position = 0;
  for (int64_t i = 1; i < count; ++i) {
    const auto value = comparable(x[i * stride]);
    if (!better<kMax>(value, best)) continue;
    best = value;
    position = i;
  }
  return position;
}

// Eight neighbouring columns at a time, so that a cache line is used whole.
constexpr int64_t kColumns = 8;
template <bool kMax, class T>
void best_of_columns(const T* x, int64_t count, int64_t stride, int64_t columns, int64_t* positions) {
  decltype(comparable(x[0])) best[kColumns];
  for (int64_t c = 0; c < columns; ++c) {
    best[c] = comparable(x[c]);
    positions[c] = 0;
  }
  for (int64_t i = 1; i < count; ++i) {
    for (int64_t c = 0; c < columns; ++c) {
      const auto value = comparable(x[i * stride + c]);
      const bool wins = better<kMax>(value, best[c]);
      best[c] = wins ? value : best[c];
      positions[c] = wins ? i : positions[c];
    }
  }
}

template <bool kMax, class T, class Index>
void run(const T* x, const ReduceShape& shape, Index* y, int thread, int threads) {
  const int64_t results = shape.outer * shape.inner;
  const Share mine = share_of(results, std::max<int64_t>(kColumns, kArgReduceShare / shape.count), thread, threads);
  for (int64_t r = mine.begin; r < mine.end;) {
    const int64_t column = r % shape.inner;
    const T* first = x + r / shape.inner * shape.count * shape.inner + column;
    if (shape.inner == 1) {
      y[r++] = static_cast<Index>(best_of<kMax>(first, shape.count, 1));
      continue;
    }
    int64_t positions[kColumns];
    const int64_t columns = std::min({kColumns, shape.inner - column, mine.end - r});
    best_of_columns<kMax>(first, shape.count, shape.inner, columns, positions);
    for (int64_t c = 0; c < columns; ++c) y[r++] = static_cast<Index>(positions[c]);
  }
}

}  // namespace

void arg_reduce(ArgReduceOp op, const void* x, DType dtype, const ReduceShape& shape, void* y, DType index_dtype,
                int thread, int threads) {
  ISO_CHECK(shape.count > 0);
  visit_dtype(dtype, [&]<class T>(Type<T>) {
    const T* values = static_cast<const T*>(x);
    const auto run_as = [&](auto* indices) {
      if (op == ArgReduceOp::argmax)
        run<true>(values, shape, indices, thread, threads);
      else
        run<false>(values, shape, indices, thread, threads);
    };
    if (index_dtype == DType::int32)
      run_as(static_cast<int32_t*>(y));
    else
      run_as(static_cast<int64_t*>(y));
  });
}

}  // namespace isochron::kernels
