// How modules in the manner of PyTorch, whose channels are axis 1, use ops whose channels are last.
#pragma once

#include "isochron/tensor/tensor.h"

namespace isochron::nn {

// x (batch, channels, spatial…), also of a single example (channels, spatial…). ShapeError, naming the module, for
// another number of axes.
Tensor as_batch(const char* module, size_t axes, const Tensor& x);
Tensor channels_last(const Tensor& x);
Tensor channels_first(const Tensor& x);

// f of x with the channels last, given back as x came.
template <class F>
Tensor with_channels_last(const char* module, size_t axes, const Tensor& x, F f) {
  const Tensor batch = as_batch(module, axes, x);
  const Tensor y = channels_first(f(channels_last(batch)));
  return batch.rank() == x.rank() ? y : y.reshape(y.shape().erase(0).to_vector());
}

}  // namespace isochron::nn
