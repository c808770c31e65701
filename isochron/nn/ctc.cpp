#include "isochron/nn/ctc.h"

#include "isochron/nn/torch_reduction.h"
#include "isochron/ops/create.h"
#include "isochron/ops/ctc.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"
#include "isochron/ops/softmax.h"

namespace isochron {

Tensor losses::ctc(const Tensor& y_true, const Tensor& y_pred) {
  if (y_pred.rank() != 3 || !is_floating(y_pred.dtype()))
    fail<ShapeError>("ctc", "predictions must be logits (batch, steps, classes), got {}", to_string(y_pred.spec()));
  if (y_true.rank() != 2 || y_true.shape()[0] != y_pred.shape()[0])
    fail<ShapeError>("ctc", "labels must be ({}, labels) for predictions {}, got {}", y_pred.shape()[0], y_pred.shape(),
                     y_true.shape());
  const Tensor labels = cast(y_true, DType::int64);
  const Tensor steps = full({y_pred.shape()[0]}, static_cast<double>(y_pred.shape()[1]), DType::int64);
  return isochron::ctc(transpose(log_softmax(y_pred), {1, 0, 2}), labels, steps,
                       sum(cast(not_equal(labels, 0), DType::int64), {1}));
}

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CTCLossOptions& options) {
  if (targets.rank() != 2)
    fail<ShapeError>("ctc_loss", "targets must be (batch, labels), padded to one length, got {}", targets.shape());
  Tensor losses = ctc(log_probs, targets, input_lengths, target_lengths, options.blank);
  if (options.zero_infinity) losses = where(is_inf(losses), 0, losses);
  if (options.reduction == LossReduction::mean) losses = losses / maximum(cast(target_lengths, losses.dtype()), 1);
  return torch_reduced("ctc_loss", losses, options.reduction);
}

}  // namespace isochron
