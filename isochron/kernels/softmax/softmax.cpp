#include "isochron/kernels/softmax/softmax.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "isochron/kernels/share.h"
#include "isochron/kernels/softmax/softmax_rows.h"

namespace isochron::kernels {
namespace {

constexpr int64_t kSoftmaxShare = 512;  // elements

Share rows_of(int64_t rows, int64_t cols, int thread, int threads) {
  if (cols == 0) return {0, 0};
  return share_of(rows, std::max<int64_t>(1, kSoftmaxShare / cols), thread, threads);
}

constexpr int64_t kNoLabel = std::numeric_limits<int64_t>::max();

// Fractions, and what is too large for an integer, are no label.
template <class T>
int64_t whole_or_none(T value) {
  return std::abs(value) < T{1e18} && value == std::trunc(value) ? static_cast<int64_t>(value) : kNoLabel;
}

int64_t label_at(const void* labels, DType dtype, int64_t row) {
  switch (dtype) {
    case DType::int32:
      return static_cast<const int32_t*>(labels)[row];
    case DType::uint8:
      return static_cast<const uint8_t*>(labels)[row];
    case DType::float32:
      return whole_or_none(static_cast<const float*>(labels)[row]);
    case DType::float64:
      return whole_or_none(static_cast<const double*>(labels)[row]);
    default:
      return static_cast<const int64_t*>(labels)[row];
  }
}

void lower_to(int64_t* place, int64_t value) {
  std::atomic_ref<int64_t> least(*place);
  int64_t seen = least.load(std::memory_order_relaxed);
  while (value < seen && !least.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

template <class T>
T log_sum_of(const typename SoftmaxRows<T>::Sum& s) {
  return s.maximum + std::log(s.sum);
}

// The label of a row, or that the row is to be skipped or bad.
enum class LabelKind { good, ignored, bad };
template <class T>
LabelKind read_label(const CrossEntropyTarget<T>& target, int64_t row, int64_t cols, int64_t& label) {
  label = label_at(target.labels, target.label_dtype, row);
  if (label == target.ignored_label) return LabelKind::ignored;
  if (label >= 0 && label < cols) return LabelKind::good;
  if (target.bad_row) lower_to(target.bad_row, row);
  return LabelKind::bad;
}

template <class T>
bool is_first_maximum(const T* x, int64_t label, T maximum) {
  return x[label] == maximum && std::find(x, x + label, maximum) == x + label;
}

}  // namespace

template <class T>
void softmax(const T* x, T* y, int64_t rows, int64_t cols, int thread, int threads) {
  const SoftmaxRows<T>& row = softmax_rows<T>();
  const Share mine = rows_of(rows, cols, thread, threads);
  for (int64_t r = mine.begin; r < mine.end; ++r) row.softmax(x + r * cols, y + r * cols, cols);
}

template <class T>
void log_softmax(const T* x, T* y, int64_t rows, int64_t cols, int thread, int threads) {
  const SoftmaxRows<T>& row = softmax_rows<T>();
  const Share mine = rows_of(rows, cols, thread, threads);
  for (int64_t r = mine.begin; r < mine.end; ++r) {
    const auto s = row.sum(x + r * cols, cols);
    row.shift(x + r * cols, y + r * cols, cols, s.maximum, std::log(s.sum));
  }
}

template <class T>
void softmax_backward(const T* dy, const T* y, T* dx, int64_t rows, int64_t cols, int thread, int threads) {
  const SoftmaxRows<T>& row = softmax_rows<T>();
  const Share mine = rows_of(rows, cols, thread, threads);
  for (int64_t at = mine.begin * cols; at < mine.end * cols; at += cols)
    row.softmax_backward(dy + at, y + at, dx + at, cols);
}

template <class T>
void log_softmax_backward(const T* dy, const T* y, T* dx, int64_t rows, int64_t cols, int thread, int threads) {
  const SoftmaxRows<T>& row = softmax_rows<T>();
  const Share mine = rows_of(rows, cols, thread, threads);
  for (int64_t at = mine.begin * cols; at < mine.end * cols; at += cols)
    row.log_softmax_backward(dy + at, y + at, dx + at, cols, row.total(dy + at, cols));
}

template <class T>
void cross_entropy(const T* logits, int64_t rows, int64_t cols, const CrossEntropyTarget<T>& target,
                   const CrossEntropyOutputs<T>& outputs, int thread, int threads) {
  const SoftmaxRows<T>& row = softmax_rows<T>();
  const Share mine = rows_of(rows, cols, thread, threads);
  for (int64_t r = mine.begin; r < mine.end; ++r) {
    const T* x = logits + r * cols;
    const auto s = row.sum(x, cols);
    const T log_sum = log_sum_of<T>(s);
    T loss = 0, correct = 0;
    if (target.probabilities) {
      const T* p = target.probabilities + r * cols;
      loss = row.total(p, cols) * log_sum - row.dot(p, x, cols);
      if (outputs.correct) correct = is_first_maximum(x, std::max_element(p, p + cols) - p, s.maximum);
    } else {
      int64_t label;
      const LabelKind kind = read_label(target, r, cols, label);
      if (kind == LabelKind::good) {
        loss = (s.maximum - x[label]) + std::log(s.sum);
        if (outputs.correct) correct = is_first_maximum(x, label, s.maximum);
      } else if (kind == LabelKind::bad) {
        loss = std::numeric_limits<T>::quiet_NaN();
      }
    }
    if (outputs.loss) outputs.loss[r] = loss;
    if (outputs.correct) outputs.correct[r] = correct;
    if (outputs.log_sum) outputs.log_sum[r] = log_sum;
  }
}

template <class T>
void cross_entropy_backward(const T* logits, int64_t rows, int64_t cols, const CrossEntropyTarget<T>& target,
                            const T* log_sum, const T* weight, int64_t weight_stride, T* dlogits, int thread,
                            int threads) {
  const SoftmaxRows<T>& row = softmax_rows<T>();
  const Share mine = rows_of(rows, cols, thread, threads);
  for (int64_t r = mine.begin; r < mine.end; ++r) {
    const T* x = logits + r * cols;
    T* dx = dlogits + r * cols;
    const T w = weight[r * weight_stride];
    int64_t label = 0;
    const LabelKind kind = target.probabilities ? LabelKind::good : read_label(target, r, cols, label);
    if (kind != LabelKind::good) {
      std::fill_n(dx, cols, kind == LabelKind::ignored ? T{0} : std::numeric_limits<T>::quiet_NaN());
      continue;
    }
    const T row_log_sum = log_sum ? log_sum[r] : log_sum_of<T>(row.sum(x, cols));
    if (target.probabilities) {
      const T* p = target.probabilities + r * cols;
      row.probabilities(x, dx, cols, row_log_sum, w * row.total(p, cols));
      row.subtract_scaled(p, dx, cols, w);
    } else {
      row.probabilities(x, dx, cols, row_log_sum, w);
      dx[label] -= w;
    }
  }
}

#define ISO_INSTANTIATE(T)                                                                                             \
  template void softmax(const T*, T*, int64_t, int64_t, int, int);                                                     \
  template void log_softmax(const T*, T*, int64_t, int64_t, int, int);                                                 \
  template void softmax_backward(const T*, const T*, T*, int64_t, int64_t, int, int);                                  \
  template void log_softmax_backward(const T*, const T*, T*, int64_t, int64_t, int, int);                              \
  template void cross_entropy(const T*, int64_t, int64_t, const CrossEntropyTarget<T>&, const CrossEntropyOutputs<T>&, \
                              int, int);                                                                               \
  template void cross_entropy_backward(const T*, int64_t, int64_t, const CrossEntropyTarget<T>&, const T*, const T*,   \
                                       int64_t, T*, int, int);
ISO_INSTANTIATE(float)
ISO_INSTANTIATE(double)
#undef ISO_INSTANTIATE

}  // namespace isochron::kernels
