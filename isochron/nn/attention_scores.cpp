#include "isochron/nn/attention_scores.h"

#include "isochron/nn/masking.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/shape_ops.h"
#include "isochron/ops/softmax.h"

namespace isochron {

Tensor softmax_of_seen(const Tensor& x, const Tensor& seen, int64_t axis) {
  if (!seen.defined()) return softmax(x, axis);
  // Far below every score, and finite, so that a row of nothing else is no NaN.
  return softmax(where(seen, x, x.dtype() == DType::float16 ? -3e4 : -1e30), axis);
}

Tensor attention_probabilities(const Tensor& scores, const Tensor& mask, bool causal) {
  Tensor seen = mask;
  if (causal) seen = both_masks(seen, tril(ones({scores.shape()[-2], scores.shape()[-1]})) > 0);
  return softmax_of_seen(scores, seen);
}

}  // namespace isochron
