// Softmax and the cross-entropy of logits.
//
//   Tensor p = softmax(logits);                                        // along the last axis
//   Tensor loss = mean(sparse_softmax_cross_entropy(logits, labels));  // (B, C), (B) -> (B), averaged
//
// The losses are computed from logits in one pass, and so are their gradients, (softmax - y) * row gradient; large
// logits do not overflow. 16-bit floats are computed in float32.
#pragma once

#include "isochron/ops/operand.h"

namespace isochron {

Tensor softmax(const Operand& x, int64_t axis = -1);
Tensor log_softmax(const Operand& x, int64_t axis = -1);

// -sum(probabilities * log_softmax(logits)) per row: (…, C), (…, C) -> (…).
Tensor softmax_cross_entropy(const Operand& logits, const Operand& probabilities);
// -log_softmax(logits)[label] per row: (…, C), (…) or (…, 1) -> (…). ValueError naming row and value when a label is
// not in [0, C), or not a whole number; labels may be floats.
Tensor sparse_softmax_cross_entropy(const Operand& logits, const Operand& labels);

}  // namespace isochron
