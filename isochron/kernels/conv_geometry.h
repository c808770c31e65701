// The shape of a convolution or pooling as its node tells it.
#pragma once

#include "isochron/kernels/conv/conv_shape.h"
#include "isochron/kernels/kernel.h"

namespace isochron {

// x (batch, …, channels), y (batch, …, filters) and the window over the spatial axes.
inline kernels::ConvShape conv_shape(const Attributes& attributes, const Shape& x, const Shape& y,
                                     std::span<const int64_t> window) {
  using Ints = std::vector<int64_t>;
  const Ints &strides = attributes.get<Ints>("strides"), &dilations = attributes.get<Ints>("dilations"),
             &pads = attributes.get<Ints>("pads");
  kernels::ConvShape s;
  s.batch = x[0];
  s.in_channels = x[-1];
  s.out_channels = y[-1];
  const size_t axes = window.size(), front = 3 - axes;
  for (size_t i = 0; i < axes; ++i) {
    s.in[front + i] = x[static_cast<int>(i) + 1];
    s.out[front + i] = y[static_cast<int>(i) + 1];
    s.window[front + i] = window[i];
    s.stride[front + i] = strides[i];
    s.dilation[front + i] = dilations[i];
    s.pad[front + i] = pads[2 * i];
  }
  return s;
}

}  // namespace isochron
