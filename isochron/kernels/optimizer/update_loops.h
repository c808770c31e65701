// The inner loops of optimizer updates and the constants they run with.
#pragma once

#include <cstdint>

#include "isochron/kernels/optimizer/update.h"

namespace isochron::kernels {

// What the loops need, worked out once per tensor so that Keras's and PyTorch's forms share them.
template <class T>
struct UpdateConstants {
  T grad_scale, decay_into_grad;  // g = grad_scale * grad + decay_into_grad * p
  T keep;                         // p * keep is updated
  T beta1, one_minus_beta1, beta2, one_minus_beta2;
  T inner_epsilon, outer_epsilon;  // sqrt(x + inner) + outer
  T root_scale;                    // of the square root
  T state_grad;                    // weight of g in the momentum
  T state_step, grad_step;         // p moves by state_step * state + grad_step * g
};

template <class T>
using UpdateFunction = void (*)(const UpdateConstants<T>& k, T* p, const T* g, T* s0, T* s1, T* s2, int64_t n);

// For the instruction set in use.
template <class T>
UpdateFunction<T> update_function(const UpdateRule& rule);

}  // namespace isochron::kernels
