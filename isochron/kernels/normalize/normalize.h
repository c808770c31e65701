// Loops of layer norm (over rows) and batch norm (over columns) on dense (rows, cols) matrices.
//
//   const NormalizeLoops<float>& loops = normalize_loops<float>();
//   loops.rows(x, gamma, beta, y, rstd, mean, rows, cols, 1e-5);                       // layer norm
//   loops.column_statistics(x, rows, cols, mean, m2);                                  // batch norm: first pass
//
// No synchronisation and no allocation: callers give each thread its rows and merge what belongs to all of them.
// gamma and beta may be null. T: float, double.
#pragma once

#include <cstdint>

namespace isochron::kernels {

template <class T>
struct NormalizeLoops {
  // y = (x - mean) rstd gamma + beta with the mean and 1 / sqrt(variance + epsilon) of each row, which are kept.
  // mean null: none is taken off (RMS norm).
  void (*rows)(const T* x, const T* gamma, const T* beta, T* y, T* rstd, T* mean, int64_t rows, int64_t cols,
               double epsilon);
  // dx of the above, given its rstd and mean; adds to dgamma and dbeta (cols) unless null. dx may be dy.
  void (*rows_backward)(const T* dy, const T* x, const T* gamma, const T* rstd, const T* mean, T* dx, T* dgamma,
                        T* dbeta, int64_t rows, int64_t cols);

  // Mean and sum of squared distances from it for each column.
  void (*column_statistics)(const T* x, int64_t rows, int64_t cols, T* mean, T* m2);
  // y = x scale + shift, by column.
  void (*scale_columns)(const T* x, const T* scale, const T* shift, T* y, int64_t rows, int64_t cols);
  // sum(dy) and sum(dy (x - mean)) for each column.
  void (*column_products)(const T* dy, const T* x, const T* mean, int64_t rows, int64_t cols, T* sum, T* product);
  // dx = dy a + x b + c, by column. dx may be dy.
  void (*combine_columns)(const T* dy, const T* x, const T* a, const T* b, const T* c, T* dx, int64_t rows,
                          int64_t cols);
};

template <class T>
const NormalizeLoops<T>& normalize_loops();

}  // namespace isochron::kernels
