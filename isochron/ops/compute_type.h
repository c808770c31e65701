// The type an elementwise op is computed in, whatever its operands are stored as.
#pragma once

#include <optional>
#include <span>

#include "isochron/ops/op.h"

namespace isochron {

// float32, float64, int32 or int64: 16-bit floats are widened, bool and uint8 count as small numbers of any type.
// nullopt when no one type serves (a cast between wide integers and floats is then a conversion on load).
std::optional<DType> compute_type(const Op& op, std::span<const TensorSpec> inputs,
                                  std::span<const TensorSpec> outputs);

}  // namespace isochron
