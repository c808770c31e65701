// What layers share that compute attention in the open: which steps a query sees, and how much it looks at each.
#pragma once

#include "isochron/tensor/tensor.h"

namespace isochron {

// Softmax of scores (…, T, S) over the steps that are seen: those of the mask, which is undefined or broadcasts to the
// scores, and with `causal` none after the query's own. A query that sees nothing looks at all alike.
Tensor attention_probabilities(const Tensor& scores, const Tensor& mask, bool causal);

}  // namespace isochron
