// Depthwise convolutions, one filter for each channel: sums over taps, vectors over channels. float32.
//
// Called by every thread; each writes its own part of the result. Nothing is allocated.
#pragma once

#include "isochron/kernels/conv/conv_shape.h"

namespace isochron::kernels {

inline bool is_depthwise(const ConvShape& shape) {
  return shape.groups == shape.in_channels && shape.out_channels == shape.in_channels && shape.groups > 1;
}

// bias may be null
void depthwise_forward(const ConvShape& shape, const float* x, const float* kernel, const float* bias, float* y,
                       int thread, int threads);
void depthwise_input_grad(const ConvShape& shape, const float* dy, const float* kernel, float* dx, int thread,
                          int threads);
void depthwise_kernel_grad(const ConvShape& shape, const float* x, const float* dy, float* dkernel, int thread,
                           int threads);

}  // namespace isochron::kernels
