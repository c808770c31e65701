// Gradients kept small between backward() and step(), with the names and rules of torch.nn.utils.
//
//   loss.backward();
//   nn::utils::clip_grad_norm_(net.parameters(), 1.0);
//   optimizer.step();
//
// Parameters without a gradient are left alone. Optimizers clip by themselves as well (docs/optimizers.md).
#pragma once

#include "isochron/optim/optimizer.h"

namespace isochron::nn::utils {

// Scales all gradients alike, so that their norm, as if they were one vector, is at most max_norm; returns the norm
// they had, 0 when there are none. norm_type may be infinite. ValueError for a max_norm that is negative or NaN, or a
// norm_type that is not positive.
Tensor clip_grad_norm_(const Parameters& parameters, double max_norm, double norm_type = 2);
// Every element into [-clip_value, clip_value].
void clip_grad_value_(const Parameters& parameters, double clip_value);

}  // namespace isochron::nn::utils
