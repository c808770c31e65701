// The losses of PyTorch's torch.nn.functional, with its names, order of arguments, options and defaults.
//
//   Tensor loss = mse_loss(prediction, target);
//   Tensor loss = cross_entropy(logits, labels, {.label_smoothing = 0.1});      // labels (B), logits (B, classes)
//   cross_entropy(scores, labels, {.reduction = LossReduction::none});          // (B, classes, H, W) -> (B, H, W)
//
// Classes stand on axis 1 (on axis 0 of a single example), as in PyTorch. Reductions are mean, sum and none.
#pragma once

#include "isochron/nn/loss.h"

namespace isochron {

Tensor mse_loss(const Tensor& input, const Tensor& target, LossReduction reduction = LossReduction::mean);
Tensor l1_loss(const Tensor& input, const Tensor& target, LossReduction reduction = LossReduction::mean);
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, double beta = 1,
                      LossReduction reduction = LossReduction::mean);
Tensor huber_loss(const Tensor& input, const Tensor& target, double delta = 1,
                  LossReduction reduction = LossReduction::mean);

struct ClassLossOptions {
  Tensor weight = {};           // (classes); the mean is then over weights
  int64_t ignore_index = -100;  // a label that does not count
  LossReduction reduction = LossReduction::mean;
  double label_smoothing = 0;  // cross_entropy only
};
// Targets are class indices, or probabilities of the logits' shape. ValueError naming the row when a label is none.
Tensor cross_entropy(const Tensor& logits, const Tensor& target, const ClassLossOptions& options = {});
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target, const ClassLossOptions& options = {});

struct BinaryLossOptions {
  Tensor weight = {};      // of each element, broadcast
  Tensor pos_weight = {};  // of positive targets, broadcast; with logits only
  LossReduction reduction = LossReduction::mean;
};
Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const BinaryLossOptions& options = {});
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                        const BinaryLossOptions& options = {});

struct KLDivOptions {
  bool log_target = false;  // the target holds logarithms, too
  // PyTorch's "batchmean" is sum over the number of rows.
  LossReduction reduction = LossReduction::mean;
};
Tensor kl_div(const Tensor& log_input, const Tensor& target, KLDivOptions options = {});

}  // namespace isochron
