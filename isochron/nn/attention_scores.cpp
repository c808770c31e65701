#include "isochron/nn/attention_scores.h"

#include "isochron/nn/masking.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/shape_ops.h"
#include "isochron/ops/softmax.h"

namespace isochron {

Tensor attention_probabilities(const Tensor& scores, const Tensor& mask, bool causal) {
  Tensor seen = mask;
  if (causal) seen = both_masks(seen, tril(ones({scores.shape()[-2], scores.shape()[-1]})) > 0);
  return softmax(seen.defined() ? where(seen, scores, -1e30) : scores);
}

}  // namespace isochron
