// Connectionist temporal classification: for sequences of labels that are not lined up with the steps of the input, as
// in speech and handwriting. A class of its own, the blank, stands between labels.
//
//   model.compile({.optimizer = "adam", .loss = "ctc"});        // labels (batch, longest), 0 behind each; logits
//   Tensor loss = ctc_loss(log_softmax(logits), labels, steps, counts);     // PyTorch's: (T, N, C), (N, S), (N), (N)
#pragma once

#include "isochron/nn/loss.h"

namespace isochron {

namespace losses {
// Of each example: y_true (batch, labels) holds classes from 1 on, 0 behind the last; y_pred (batch, steps, classes)
// logits, class 0 the blank. RowError for a label that is no class.
Tensor ctc(const Tensor& y_true, const Tensor& y_pred);
}  // namespace losses

struct CTCOptions {
  LossReduction reduction = LossReduction::sum_over_batch_size;
};
ISO_OPTIONS(CTCOptions, reduction)
class CTC : public Loss {
 public:
  explicit CTC(CTCOptions options = {}) : Loss("ctc", options.reduction) {}
  ISO_ARGUMENTS(CTCOptions{reduction()})
  Tensor call(const Tensor& t, const Tensor& p) const override { return losses::ctc(t, p); }
};

struct CTCLossOptions {
  int64_t blank = 0;
  LossReduction reduction = LossReduction::mean;  // of losses divided by their number of labels
  bool zero_infinity = false;                     // examples with too few steps count as 0
};
// Targets are padded to one length, not joined end to end.
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CTCLossOptions& options = {});

namespace nn {
class CTCLoss {
 public:
  explicit CTCLoss(CTCLossOptions options = {}) : options_(options) {}
  Tensor operator()(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                    const Tensor& target_lengths) const {
    return ctc_loss(log_probs, targets, input_lengths, target_lengths, options_);
  }

 private:
  CTCLossOptions options_;
};
}  // namespace nn

}  // namespace isochron
