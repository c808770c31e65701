#include "isochron/nn/torch_losses.h"

#include "isochron/nn/losses.h"
#include "isochron/nn/torch_reduction.h"
#include "isochron/ops/ops.h"

namespace isochron {
namespace {

// PyTorch broadcasts (B) against (B, 1) to (B, B) and warns; here it is an error.
Tensor same_shape(const char* loss, const Tensor& input, const Tensor& target) {
  if (!is_floating(input.dtype())) fail<DTypeError>(loss, "the input must be floating, got {}", input.dtype());
  if (input.shape() != target.shape())
    fail<ShapeError>(loss, "input and target must have the same shape, got {} and {}; reshape one of them",
                     input.shape(), target.shape());
  return cast(target, input.dtype());
}

// Of each element, without making the loss larger than it is.
Tensor by_element(const char* loss, const Tensor& values, const Tensor& weight) {
  if (!weight.defined()) return values;
  if (!broadcasts_to(weight.shape(), values.shape()))
    fail<ShapeError>(loss, "weight must fit the target {}, got {}", values.shape(), weight.shape());
  return values * cast(weight, values.dtype());
}

// The logarithm of a probability, -100 at least, as PyTorch bounds it; flat at 0, where its slope is infinite.
Tensor bounded_log(const Tensor& p) {
  const Tensor some = p > 0;
  return where(some, maximum(log(where(some, p, 1)), -100), -100);
}

Tensor smooth_l1(const char* loss, const Tensor& input, const Tensor& target, double beta) {
  const Tensor size = abs(input - same_shape(loss, input, target));
  return beta == 0 ? size : where(size < beta, 0.5 / beta * square(size), size - 0.5 * beta);
}

// (classes), (B, classes), (B, classes, …) with the classes last.
Tensor classes_last(const char* loss, const Tensor& x) {
  if (!is_floating(x.dtype())) fail<DTypeError>(loss, "the input must be floating, got {}", x.dtype());
  if (x.rank() < 1) fail<ShapeError>(loss, "needs an axis of classes, got a scalar");
  return x.rank() < 3 ? x : transpose(x, axis_last(x.rank(), 1));
}

// One number a class; undefined when there are none.
Tensor weights_of_classes(const char* loss, const Tensor& rows, const ClassLossOptions& o) {
  if (!o.weight.defined()) return {};
  if (o.weight.shape() != Shape{rows.shape()[-1]})
    fail<ShapeError>(loss, "weight must hold one number for each of {} classes, got {}", rows.shape()[-1],
                     o.weight.shape());
  return cast(o.weight, rows.dtype());
}

// Values of rows of log-probabilities by their label; ignored ones are 0. `pick(labels, share)` gives those of all
// rows, each times its share.
template <class Pick>
Tensor of_labels(const char* loss, const Tensor& rows, const Tensor& target, const ClassLossOptions& o, Pick pick) {
  const Shape expected = rows.shape().erase(-1);
  if (!is_integral(target.dtype()) || target.shape() != expected)
    fail<ShapeError>(loss, "target must hold one class index for each of {} rows, of shape {}, got {}",
                     expected.elements(), expected, to_string(target.spec()));
  const Tensor weight = weights_of_classes(loss, rows, o);
  const Tensor counts = not_equal(target, o.ignore_index), labels = where(counts, target, 0);
  Tensor share = cast(counts, rows.dtype());
  if (weight.defined()) share = share * gather(weight, labels, 0, loss);
  const Tensor values = where(counts, pick(labels, share), 0);
  return o.reduction == LossReduction::mean ? sum(values) / sum(share) : torch_reduced(loss, values, o.reduction);
}

}  // namespace

Tensor torch_reduced(const char* loss, const Tensor& values, LossReduction reduction) {
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

Tensor mse_loss(const Tensor& input, const Tensor& target, LossReduction reduction) {
  return torch_reduced("mse_loss", square(input - same_shape("mse_loss", input, target)), reduction);
}
Tensor l1_loss(const Tensor& input, const Tensor& target, LossReduction reduction) {
  return torch_reduced("l1_loss", abs(input - same_shape("l1_loss", input, target)), reduction);
}
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, double beta, LossReduction reduction) {
  if (!(beta >= 0)) fail<ValueError>("smooth_l1_loss", "beta must not be negative, got {}", beta);
  return torch_reduced("smooth_l1_loss", smooth_l1("smooth_l1_loss", input, target, beta), reduction);
}
Tensor huber_loss(const Tensor& input, const Tensor& target, double delta, LossReduction reduction) {
  if (!(delta > 0)) fail<ValueError>("huber_loss", "delta must be positive, got {}", delta);
  return torch_reduced("huber_loss", delta * smooth_l1("huber_loss", input, target, delta), reduction);
}

Tensor cross_entropy(const Tensor& logits, const Tensor& target, const ClassLossOptions& o) {
  constexpr const char* kName = "cross_entropy";
  if (!(o.label_smoothing >= 0 && o.label_smoothing <= 1))
    fail<ValueError>(kName, "label_smoothing must be in [0, 1], got {}", o.label_smoothing);
  const Tensor rows = classes_last(kName, logits);
  const auto classes = static_cast<double>(rows.shape()[-1]);
  const Tensor given = weights_of_classes(kName, rows, o);
  const Tensor weight = given.defined() ? given : ones({rows.shape()[-1]}, rows.dtype());
  if (is_floating(target.dtype())) {
    if (target.rank() == logits.rank() - 1)
      fail<DTypeError>(kName, "class indices must be integers, got {}{}; convert with target.to(DType::int64)",
                       target.dtype(), target.shape());
    Tensor t = classes_last(kName, same_shape(kName, logits, target));
    t = t * (1 - o.label_smoothing) + o.label_smoothing / classes;
    return torch_reduced(kName,
                         given.defined() ? -sum(log_softmax(rows) * t * weight, {-1}) : softmax_cross_entropy(rows, t),
                         o.reduction);
  }
  return of_labels(kName, rows, target, o, [&](const Tensor& labels, const Tensor& share) {
    const Tensor values = sparse_softmax_cross_entropy(rows, labels) * share;
    if (o.label_smoothing == 0) return values;
    // A share of the label is spread over all classes, each by its weight.
    const Tensor spread = -sum(log_softmax(rows) * weight, {-1});
    return values * (1 - o.label_smoothing) + spread * (o.label_smoothing / classes);
  });
}

Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target, const ClassLossOptions& o) {
  if (o.label_smoothing != 0) fail<ValueError>("nll_loss", "label_smoothing is for cross_entropy");
  const Tensor rows = classes_last("nll_loss", log_probabilities);
  const int64_t classes = rows.shape()[-1];
  return of_labels("nll_loss", rows, target, o, [&](const Tensor& labels, const Tensor& share) {
    // Picking from the list of classes refuses what is none.
    const Tensor known = gather(arange(classes), labels, 0, "nll_loss");
    return -sum(where(one_hot(known, classes, DType::boolean), rows, 0), {-1}) * share;
  });
}

Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const BinaryLossOptions& o) {
  constexpr const char* kName = "binary_cross_entropy";
  if (o.pos_weight.defined()) fail<ValueError>(kName, "pos_weight is for binary_cross_entropy_with_logits");
  const Tensor t = same_shape(kName, input, target);
  const Tensor values = -(t * bounded_log(input) + (1 - t) * bounded_log(1 - input));
  return torch_reduced(kName, by_element(kName, values, o.weight), o.reduction);
}
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target, const BinaryLossOptions& o) {
  constexpr const char* kName = "binary_cross_entropy_with_logits";
  const Tensor t = same_shape(kName, logits, target);
  // -log(sigmoid(x)) = softplus(-x), weighted for positive targets; the other part is softplus(-x) + x.
  const Tensor positive = o.pos_weight.defined() ? 1 + by_element(kName, t, o.pos_weight) - t : ones({}, t.dtype());
  const Tensor values = (1 - t) * logits + positive * softplus(-logits);
  return torch_reduced(kName, by_element(kName, values, o.weight), o.reduction);
}

Tensor kl_div(const Tensor& log_input, const Tensor& target, KLDivOptions o) {
  const Tensor t = same_shape("kl_div", log_input, target);
  const Tensor values =
      o.log_target ? exp(t) * (t - log_input) : where(t > 0, t * (log(where(t > 0, t, 1)) - log_input), 0);
  return torch_reduced("kl_div", values, o.reduction);
}

}  // namespace isochron
