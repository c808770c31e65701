// Softmax over the last axis and cross-entropy of logits, forward and backward.
//
//   softmax(logits, p, rows, cols, thread, threads);                    // called by every one of `threads` threads
//   CrossEntropyTarget<float> target{.labels = y, .label_dtype = DType::int32, .bad_row = &bad};
//   cross_entropy(logits, rows, cols, target, {.loss = loss, .log_sum = log_sum}, thread, threads);
//   cross_entropy_backward(logits, rows, cols, target, log_sum, weight, 0, dlogits, thread, threads);
//
// All matrices are dense (rows, cols). Rows are independent and divided among the threads; nothing is allocated or
// synchronised, and results do not depend on the number of threads. Outputs may be the same buffer as the first input.
// A NaN anywhere in a row makes all of that row NaN. T: float, double.
#pragma once

#include <cstdint>
#include <limits>

#include "isochron/tensor/dtype.h"

namespace isochron::kernels {

// y = exp(x) / sum(exp(x)), with the row's maximum taken off first
template <class T>
void softmax(const T* x, T* y, int64_t rows, int64_t cols, int thread, int threads);
// y = x - log(sum(exp(x)))
template <class T>
void log_softmax(const T* x, T* y, int64_t rows, int64_t cols, int thread, int threads);

// dx = y (dy - sum(dy y)), y the forward result
template <class T>
void softmax_backward(const T* dy, const T* y, T* dx, int64_t rows, int64_t cols, int thread, int threads);
// dx = dy - exp(y) sum(dy)
template <class T>
void log_softmax_backward(const T* dy, const T* y, T* dx, int64_t rows, int64_t cols, int thread, int threads);

inline constexpr int64_t kNoBadRow = std::numeric_limits<int64_t>::max();
inline constexpr int64_t kNoIgnoredLabel = std::numeric_limits<int64_t>::min();

// What each row should be: a class number or a distribution.
template <class T>
struct CrossEntropyTarget {
  const void* labels = nullptr;             // (rows), or
  DType label_dtype = DType::int32;         // int32, int64, uint8; or whole numbers in float32, float64
  const T* probabilities = nullptr;         // (rows, cols)
  int64_t ignored_label = kNoIgnoredLabel;  // rows with it have loss and gradient 0
  // Set it to kNoBadRow before the call: the first row whose label is not a whole number in [0, cols) lowers it to its
  // index. Loss and gradient of bad rows are NaN.
  int64_t* bad_row = nullptr;
};

// Each is (rows) and may be null. log_sum is what the backward pass wants; correct is 1 where the first largest logit
// is that of the label (of the first largest probability), else 0.
template <class T>
struct CrossEntropyOutputs {
  T* loss = nullptr;
  T* correct = nullptr;
  T* log_sum = nullptr;
};

// loss = log(sum(exp(x))) - x[label], or sum(p) log(sum(exp(x))) - sum(p x)
template <class T>
void cross_entropy(const T* logits, int64_t rows, int64_t cols, const CrossEntropyTarget<T>& target,
                   const CrossEntropyOutputs<T>& outputs, int thread, int threads);

// dlogits = (softmax(x) sum(p) - p) * weight[row * weight_stride]; p of a label is 1 at the label. log_sum may be null,
// it is worked out again then.
template <class T>
void cross_entropy_backward(const T* logits, int64_t rows, int64_t cols, const CrossEntropyTarget<T>& target,
                            const T* log_sum, const T* weight, int64_t weight_stride, T* dlogits, int thread,
                            int threads);

}  // namespace isochron::kernels
