// The inner loops of optimizer updates and the constants they run with.
#pragma once

#include <cstdint>

#include "isochron/kernels/optimizer/update.h"

namespace isochron::kernels {

// Rows of a parameter and its states, `param_ld` elements apart, and of the gradient, `grad_ld` apart.
template <class T>
struct UpdateBlock {
  T* p;
  const T* g;
  T *s0, *s1, *s2;
  int64_t rows, cols, param_ld, grad_ld;
  const T* row_scale = nullptr;  // one more factor of each row's gradient, where there is one
};

template <class T>
using UpdateFunction = void (*)(const UpdateConstants<T>& k, const UpdateBlock<T>& block);

// For the instruction set in use.
template <class T>
UpdateFunction<T> update_function(const UpdateRule& rule);

}  // namespace isochron::kernels
