// How losses in the manner of PyTorch become one number.
#pragma once

#include "isochron/nn/loss.h"

namespace isochron {

// ValueError, naming the loss, unless mean, sum or none.
Tensor torch_reduced(const char* loss, const Tensor& values, LossReduction reduction);

}  // namespace isochron
