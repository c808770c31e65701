// Convolution over one, two or three spatial axes; channels last.
//
//   conv(x, kernel);                                             // x (N, H, W, I), kernel (h, w, I, O) -> (N, H', W',
//   O) conv(x, kernel, {.strides = {2}, .padding = "same"});        // a number for each spatial axis, or one for all
//   conv(x, kernel, {.groups = 4});                              // kernel (h, w, I / 4, O)
//   conv_transpose(x, kernel, {.strides = {2}});                 // x (N, H, W, O), kernel (h, w, I, O) -> (…, I)
//
// The number of spatial axes is that of x without batch and channels. float32 and float64; 16-bit floats are computed
// in float32. Gradients are convolutions themselves, so they have gradients of every order.
#pragma once

#include "isochron/ops/operand.h"
#include "isochron/ops/window.h"

namespace isochron {

struct ConvOptions {
  Extents strides = {};
  Padding padding = "valid";
  Extents dilations = {};
  int64_t groups = 1;
};
Tensor conv(const Operand& x, const Operand& kernel, const ConvOptions& options = {});

struct ConvTransposeOptions {
  Extents strides = {};
  Padding padding = "valid";
  Extents output_padding = {};  // more elements at the end of each axis; empty: as few as the padding allows
  Extents dilations = {};
  int64_t groups = 1;
};
// The gradient of conv by its input, as a layer that enlarges: kernel is that of the convolution it reverses.
Tensor conv_transpose(const Operand& x, const Operand& kernel, const ConvTransposeOptions& options = {});

}  // namespace isochron
