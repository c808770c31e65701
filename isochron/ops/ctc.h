// Connectionist temporal classification: how unlikely a sequence of labels is when each may take any number of steps,
// with blanks between.
//
//   Tensor loss = ctc(log_softmax(logits), labels, steps, counts);       // (T, N, C), (N, S), (N), (N) -> (N)
//
// -log of the sum, over all ways to say the labels in that many steps, of the products of their probabilities. Example
// n has input_lengths[n] steps and target_lengths[n] labels; what lies behind them is not looked at. Infinite, and
// without a gradient, where there are too few steps. ValueError names the row of a label that is no class, or is the
// blank, and of a length that is too large. Computed in float64.
#pragma once

#include "isochron/ops/operand.h"

namespace isochron {

Tensor ctc(const Operand& log_probabilities, const Tensor& targets, const Tensor& input_lengths,
           const Tensor& target_lengths, int64_t blank = 0);

}  // namespace isochron
