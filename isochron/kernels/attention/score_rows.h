// Work on one row of attention scores, for the instruction set in use.
#pragma once

#include <cstdint>

namespace isochron::kernels {

template <class T>
struct ScoreRows {
  // s = s scale where `seen` (null: everywhere), else the lowest score; columns from `known` on are not seen either.
  // Returns the maximum.
  T (*scale)(T* s, int64_t n, int64_t known, T factor, const bool* seen);
  // s = exp(s - shift); returns the sum.
  T (*exponentials)(T* s, int64_t n, T shift);
  // s = softmax(s factor), 0 where not seen; returns log(sum(exp(s factor))), infinity for a row that sees nothing,
  // which becomes uniform.
  T (*softmax)(T* s, int64_t n, int64_t known, T factor, const bool* seen);
  // s becomes p = exp(s factor - log_sum), 0 where not seen; dp becomes p (dp - delta) factor.
  void (*gradients)(T* s, T* dp, int64_t n, int64_t known, T factor, const bool* seen, T log_sum, T delta);
  // The same with p known: dp becomes p (dp - delta) factor.
  void (*kept_gradients)(const T* p, T* dp, int64_t n, T factor, T delta);
  void (*multiply)(T* x, int64_t n, T factor);
  T (*dot)(const T* a, const T* b, int64_t n);
};

template <class T>
const ScoreRows<T>& score_rows();

// What a score becomes that is not seen: far below any other, and finite, so that a row of nothing else is uniform.
template <class T>
inline constexpr T kUnseen = sizeof(T) == 4 ? T(-3e38) : T(-1e300);

}  // namespace isochron::kernels
