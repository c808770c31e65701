// Rescaling: x * scale + offset, for inputs such as pixels.
//
//   Rescaling(1. / 255);            // [0, 255] -> [0, 1]
//   Rescaling(1. / 127.5, -1);      // [0, 255] -> [-1, 1]
//
// Integers become float32; floating inputs keep their dtype.
#pragma once

#include "isochron/nn/layer.h"

namespace isochron {

class Rescaling : public Layer {
 public:
  // ValueError unless both numbers are finite.
  explicit Rescaling(double scale, double offset = 0, LayerOptions options = {});
  ISO_LAYER(Rescaling)
  ISO_ARGUMENTS(scale_, offset_)
  bool supports_masking() const override { return true; }
  Tensor call(const Tensor& x, const CallContext&) override;
  Shape output_shape(const Shape& input) const override { return input; }

 private:
  double scale_, offset_;
};

}  // namespace isochron
