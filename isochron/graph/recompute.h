// Recomputing in place of keeping: what lies between the inputs and the result is computed again when gradients are
// taken, so that a plan need not hold it until then.
//
//   Tensor y = recompute(block(x), {x}, block.trainable_variables());
//
// Values and gradients are the same, bit for bit at one thread count; a step takes one more forward pass of the block
// and less memory. Everything between the inputs and the result must be ops; gradients flow to the inputs and to the
// variables that are listed, and to nothing else inside.
#pragma once

#include <vector>

#include "isochron/tensor/tensor.h"

namespace isochron {

Tensor recompute(const Tensor& result, const std::vector<Tensor>& inputs, const std::vector<Variable>& variables = {});

}  // namespace isochron
