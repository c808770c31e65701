#include "isochron/nn/torch_losses.h"

#include "isochron/nn/losses.h"
#include "isochron/ops/ops.h"

namespace isochron {
namespace {

Tensor reduced(const char* loss, const Tensor& values, LossReduction reduction) {
  switch (reduction) {
    case LossReduction::none:
      return values;
    case LossReduction::sum:
      return sum(values);
    case LossReduction::mean:
      return mean(values);
    default:
      fail<ValueError>(loss, "reduction must be mean, sum or none");
  }
}

// PyTorch broadcasts (B) against (B, 1) to (B, B) and warns; here it is an error.
Tensor same_shape(const char* loss, const Tensor& input, const Tensor& target) {
  if (!is_floating(input.dtype())) fail<DTypeError>(loss, "the input must be floating, got {}", input.dtype());
  if (input.shape() != target.shape())
    fail<ShapeError>(loss, "input and target must have the same shape, got {} and {}; reshape one of them",
                     input.shape(), target.shape());
  return cast(target, input.dtype());
}

// (classes), (B, classes), (B, classes, …) with the classes last.
Tensor classes_last(const char* loss, const Tensor& x) {
  if (x.rank() < 1) fail<ShapeError>(loss, "needs an axis of classes, got a scalar");
  return x.rank() < 3 ? x : transpose(x, axis_last(x.rank(), 1));
}

// Values of rows of log-probabilities by their label; ignored ones are 0. `pick(labels)` gives those of all rows.
template <class Pick>
Tensor of_labels(const char* loss, const Tensor& rows, const Tensor& target, const ClassLossOptions& o, Pick pick) {
  const Shape expected = rows.shape().erase(-1);
  if (!is_integral(target.dtype()) || target.shape() != expected)
    fail<ShapeError>(loss, "target must hold one class index for each of {} rows, of shape {}, got {}",
                     expected.elements(), expected, to_string(target.spec()));
  if (o.weight.defined() && o.weight.shape() != Shape{rows.shape()[-1]})
    fail<ShapeError>(loss, "weight must hold one number for each of {} classes, got {}", rows.shape()[-1],
                     o.weight.shape());
  const Tensor counts = not_equal(target, o.ignore_index), labels = where(counts, target, 0);
  Tensor share = cast(counts, rows.dtype());
  if (o.weight.defined()) share = share * gather(cast(o.weight, rows.dtype()), labels);
  const Tensor values = pick(labels, share);
  return o.reduction == LossReduction::mean ? sum(values) / sum(share) : reduced(loss, values, o.reduction);
}

}  // namespace

Tensor mse_loss(const Tensor& input, const Tensor& target, LossReduction reduction) {
  return reduced("mse_loss", square(input - same_shape("mse_loss", input, target)), reduction);
}
Tensor l1_loss(const Tensor& input, const Tensor& target, LossReduction reduction) {
  return reduced("l1_loss", abs(input - same_shape("l1_loss", input, target)), reduction);
}
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, double beta, LossReduction reduction) {
  if (!(beta > 0)) fail<ValueError>("smooth_l1_loss", "beta must be positive, got {}", beta);
  const Tensor size = abs(input - same_shape("smooth_l1_loss", input, target));
  return reduced("smooth_l1_loss", where(size < beta, 0.5 / beta * square(size), size - 0.5 * beta), reduction);
}
Tensor huber_loss(const Tensor& input, const Tensor& target, double delta, LossReduction reduction) {
  return delta * smooth_l1_loss(input, target, delta, reduction);
}

Tensor cross_entropy(const Tensor& logits, const Tensor& target, const ClassLossOptions& o) {
  constexpr const char* kName = "cross_entropy";
  if (!(o.label_smoothing >= 0 && o.label_smoothing <= 1))
    fail<ValueError>(kName, "label_smoothing must be in [0, 1], got {}", o.label_smoothing);
  const Tensor rows = classes_last(kName, logits);
  const auto classes = static_cast<double>(rows.shape()[-1]);
  const Tensor weight = o.weight.defined() ? cast(o.weight, rows.dtype()) : ones({rows.shape()[-1]}, rows.dtype());
  if (is_floating(target.dtype())) {
    Tensor t = classes_last(kName, same_shape(kName, logits, target));
    t = t * (1 - o.label_smoothing) + o.label_smoothing / classes;
    return reduced(kName,
                   o.weight.defined() ? -sum(log_softmax(rows) * t * weight, {-1}) : softmax_cross_entropy(rows, t),
                   o.reduction);
  }
  return of_labels(kName, rows, target, o, [&](const Tensor& labels, const Tensor& share) {
    const Tensor values = sparse_softmax_cross_entropy(rows, labels) * share;
    if (o.label_smoothing == 0) return values;
    // A share of the label is spread over all classes, each by its weight.
    const Tensor counts = cast(not_equal(target, o.ignore_index), rows.dtype());
    const Tensor spread = -sum(log_softmax(rows) * weight, {-1}) * counts;
    return values * (1 - o.label_smoothing) + spread * (o.label_smoothing / classes);
  });
}

Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target, const ClassLossOptions& o) {
  const Tensor rows = classes_last("nll_loss", log_probabilities);
  const int64_t classes = rows.shape()[-1];
  return of_labels("nll_loss", rows, target, o, [&](const Tensor& labels, const Tensor& share) {
    // Picking from the list of classes refuses what is none.
    const Tensor known = gather(arange(classes), labels);
    return -sum(rows * one_hot(known, classes, rows.dtype()), {-1}) * share;
  });
}

Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const BinaryLossOptions& o) {
  constexpr const char* kName = "binary_cross_entropy";
  if (o.pos_weight.defined()) fail<ValueError>(kName, "pos_weight is for binary_cross_entropy_with_logits");
  const Tensor t = same_shape(kName, input, target);
  // PyTorch bounds the logarithms, not the probabilities.
  Tensor values = -(t * maximum(log(input), -100) + (1 - t) * maximum(log(1 - input), -100));
  if (o.weight.defined()) values = values * cast(o.weight, values.dtype());
  return reduced(kName, values, o.reduction);
}
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target, const BinaryLossOptions& o) {
  constexpr const char* kName = "binary_cross_entropy_with_logits";
  const Tensor t = same_shape(kName, logits, target);
  // -log(sigmoid(x)) = softplus(-x), weighted for positive targets; the other part is softplus(-x) + x.
  const Tensor positive = o.pos_weight.defined() ? 1 + (cast(o.pos_weight, t.dtype()) - 1) * t : ones({}, t.dtype());
  Tensor values = (1 - t) * logits + positive * softplus(-logits);
  if (o.weight.defined()) values = values * cast(o.weight, values.dtype());
  return reduced(kName, values, o.reduction);
}

Tensor kl_div(const Tensor& log_input, const Tensor& target, KLDivOptions o) {
  const Tensor t = same_shape("kl_div", log_input, target);
  const Tensor values =
      o.log_target ? exp(t) * (t - log_input) : where(t > 0, t * (log(where(t > 0, t, 1)) - log_input), 0);
  return reduced("kl_div", values, o.reduction);
}

}  // namespace isochron
