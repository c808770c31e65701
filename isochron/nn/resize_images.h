// Images in another size, as Keras resizes them.
//
//   resize_images(x, 128, 128, "bicubic");     // (batch, rows, columns, channels), floating
//
// Centres of pixels lie at halves, and nothing is smoothed when images shrink (Keras' antialias=false).
#pragma once

#include <string>

#include "isochron/tensor/tensor.h"

namespace isochron {

// ValueError, naming the layer, unless it is "nearest", "bilinear", "bicubic", "lanczos3" or "lanczos5".
void check_interpolation(const std::string& layer, const std::string& interpolation);

Tensor resize_images(const Tensor& x, int64_t height, int64_t width, const std::string& interpolation);

}  // namespace isochron
