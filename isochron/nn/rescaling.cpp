#include "isochron/nn/rescaling.h"

#include <cmath>

#include "isochron/ops/elementwise.h"

namespace isochron {

Rescaling::Rescaling(double scale, double offset, LayerOptions options) : scale_(scale), offset_(offset) {
  if (!std::isfinite(scale) || !std::isfinite(offset))
    fail<ValueError>("Rescaling", "scale and offset must be finite, got {} and {}", scale, offset);
  set_name(std::move(options.name));
}

Tensor Rescaling::call(const Tensor& x, const CallContext&) {
  const Tensor real = is_floating(x.dtype()) ? x : cast(x, DType::float32);
  return real * scale_ + offset_;
}

}  // namespace isochron
