// What layers share that hide scores from a softmax: attention in the open, and Softmax with a mask.
#pragma once

#include "isochron/tensor/tensor.h"

namespace isochron {

// Softmax along an axis over what is seen: bool, broadcasts to x, or undefined for all. Where nothing is seen, all
// shares are alike.
Tensor softmax_of_seen(const Tensor& x, const Tensor& seen, int64_t axis = -1);

// Softmax of scores (…, T, S) over the steps that are seen: those of the mask, which is undefined or broadcasts to the
// scores, and with `causal` none after the query's own. A query that sees nothing looks at all alike.
Tensor attention_probabilities(const Tensor& scores, const Tensor& mask, bool causal);

}  // namespace isochron
