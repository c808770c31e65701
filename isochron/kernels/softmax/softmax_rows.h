// Work on single rows, for the instruction set in use.
#pragma once

#include <cstdint>

namespace isochron::kernels {

template <class T>
struct SoftmaxRows {
  // The row's maximum, and the sum of exp(x - maximum).
  struct Sum {
    T maximum;
    T sum;
  };
  Sum (*sum)(const T* x, int64_t n);
  void (*softmax)(const T* x, T* y, int64_t n);
  void (*shift)(const T* x, T* y, int64_t n, T first, T second);  // y = (x - first) - second
  T (*total)(const T* x, int64_t n);
  T (*dot)(const T* a, const T* b, int64_t n);
  void (*softmax_backward)(const T* dy, const T* y, T* dx, int64_t n);
  void (*log_softmax_backward)(const T* dy, const T* y, T* dx, int64_t n, T total);
  void (*probabilities)(const T* x, T* y, int64_t n, T log_sum, T factor);  // y = factor exp(x - log_sum)
  void (*subtract_scaled)(const T* p, T* y, int64_t n, T factor);           // y -= factor p
};

template <class T>
const SoftmaxRows<T>& softmax_rows();

}  // namespace isochron::kernels
