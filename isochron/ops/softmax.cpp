#include "isochron/ops/softmax.h"

#include "isochron/ops/elementwise.h"
#include "isochron/ops/indexing.h"
#include "isochron/ops/op.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {
namespace {

using G = const GradientContext&;

// Exponentials and the passes around them, per element.
constexpr double kFlops = 12;

Cost exponential_cost(const RuleContext& c, std::span<const TensorSpec> outputs) {
  Cost cost{kFlops * static_cast<double>(c.shape().elements()), 0};
  for (const TensorSpec& input : c.inputs) cost.bytes += static_cast<double>(input.bytes());
  for (const TensorSpec& output : outputs) cost.bytes += static_cast<double>(output.bytes());
  return cost;
}

void need_rows(const RuleContext& c) {
  if (c.shape().rank() == 0) fail<ShapeError>(c.op, "needs at least one axis, got a scalar");
  if (c.dtype() != DType::float32 && c.dtype() != DType::float64)
    fail<DTypeError>(c.op, "needs float32 or float64, got {}", c.dtype());
}

Specs like_first(const RuleContext& c) {
  need_rows(c);
  for (size_t i = 1; i < c.inputs.size(); ++i)
    if (c[i] != c[0]) fail<ShapeError>(c.op, "needs equal tensors, got {} and {}", to_string(c[0]), to_string(c[i]));
  return {c[0]};
}

Shape rows_of(const Shape& shape) { return shape.erase(shape.rank() - 1); }

void need_distribution(const RuleContext& c) {
  need_rows(c);
  if (c.shape(0) != c.shape(1))
    fail<ShapeError>(c.op, "logits and probabilities need equal shapes, got {} and {}", c.shape(0), c.shape(1));
  if (c.dtype(0) != c.dtype(1))
    fail<DTypeError>(c.op, "logits and probabilities need equal dtypes, got {} and {}", c.dtype(0), c.dtype(1));
}

void need_labels(const RuleContext& c) {
  need_rows(c);
  if (!is_integral(c.dtype(1)) && c.dtype(1) != DType::float32 && c.dtype(1) != DType::float64)
    fail<DTypeError>(c.op, "labels must be integers, got {}", c.dtype(1));
  if (c.shape(1) != rows_of(c.shape(0)))
    fail<ShapeError>(c.op, "labels must be {} for logits {}, got {}", rows_of(c.shape(0)), c.shape(0), c.shape(1));
}

// Per row: the loss, and log(sum(exp(logits))), which the backward op uses.
template <void (*need)(const RuleContext&)>
Specs losses(const RuleContext& c) {
  need(c);
  const TensorSpec row{c.dtype(), rows_of(c.shape())};
  return {row, row};
}

// Inputs: logits, targets, log_sum of the forward op, gradient of the rows' losses.
template <void (*need)(const RuleContext&)>
Specs logit_gradients(const RuleContext& c) {
  need(c);
  for (size_t i : {2, 3})
    if (c.shape(i) != rows_of(c.shape(0)))
      fail<ShapeError>(c.op, "needs one value for each row of {}, got {}", c.shape(0), c.shape(i));
  return {c[0]};
}

Tensor row_sum(const Tensor& x) { return sum(x, {-1}, true); }
Tensor as_column(const Tensor& rows) { return expand_dims(rows, -1); }

const Op& kSoftmaxBackward = register_op({.name = "softmax_backward",
                                          .doc = "Gradient of softmax, y * (dy - sum(dy * y)).",
                                          .arity = 2,
                                          .rule = like_first,
                                          .gradient = [](G g) -> Gradients {
                                            const Tensor dy = g.input(0), y = g.input(1), &d = g.grad();
                                            Gradients out(2);
                                            if (g.wanted(0)) out[0] = apply(op_named("softmax_backward"), {d, y});
                                            if (g.wanted(1)) out[1] = d * (dy - row_sum(dy * y)) - dy * row_sum(d * y);
                                            return out;
                                          },
                                          .cost = exponential_cost});

const Op& kSoftmax = register_op({.name = "softmax",
                                  .doc = "exp(x) / sum(exp(x)) along the last axis.",
                                  .arity = 1,
                                  .rule = like_first,
                                  .gradient = [](G g) -> Gradients {
                                    return {apply(kSoftmaxBackward, {g.grad(), g.output()})};
                                  },
                                  .cost = exponential_cost});

const Op& kLogSoftmaxBackward = register_op({.name = "log_softmax_backward",
                                             .doc = "Gradient of log_softmax, dy - exp(y) * sum(dy).",
                                             .arity = 2,
                                             .rule = like_first,
                                             .gradient = [](G g) -> Gradients {
                                               const Tensor dy = g.input(0), p = exp(g.input(1)), &d = g.grad();
                                               Gradients out(2);
                                               if (g.wanted(0)) out[0] = d - row_sum(d * p);
                                               if (g.wanted(1)) out[1] = -d * p * row_sum(dy);
                                               return out;
                                             },
                                             .cost = exponential_cost});

const Op& kLogSoftmax = register_op({.name = "log_softmax",
                                     .doc = "x - log(sum(exp(x))) along the last axis.",
                                     .arity = 1,
                                     .rule = like_first,
                                     .gradient = [](G g) -> Gradients {
                                       return {apply(kLogSoftmaxBackward, {g.grad(), g.output()})};
                                     },
                                     .cost = exponential_cost});

// In the two rules below log_sum is a copy of what follows from the logits, so all of the derivative is that by the
// logits, and none goes to log_sum.
const Op& kCrossEntropyBackward =
    register_op({.name = "softmax_cross_entropy_backward",
                 .doc = "Gradient of softmax_cross_entropy by its logits, (softmax - y) * row gradient.",
                 .arity = 4,
                 .rule = logit_gradients<need_distribution>,
                 .gradient = [](G g) -> Gradients {
                   const Tensor p = g.input(1), weight = as_column(g.input(3)), &d = g.grad();
                   const Tensor s = softmax(g.input(0)), total = row_sum(p);
                   Gradients out(4);
                   if (g.wanted(0)) out[0] = apply(kSoftmaxBackward, {d * weight * total, s});
                   if (g.wanted(1)) out[1] = weight * (row_sum(d * s) - d);
                   if (g.wanted(3)) out[3] = sum(d * (s * total - p), {-1});
                   return out;
                 },
                 .cost = exponential_cost});

const Op& kCrossEntropy =
    register_op({.name = "softmax_cross_entropy",
                 .doc = "-sum(probabilities * log_softmax(logits)) per row.",
                 .arity = 2,
                 .rule = losses<need_distribution>,
                 .gradient = [](G g) -> Gradients {
                   Gradients out(2);
                   if (g.wanted(0))
                     out[0] = apply(kCrossEntropyBackward, {g.input(0), g.input(1), g.output(1), g.grad()});
                   if (g.wanted(1)) out[1] = -log_softmax(g.input(0)) * as_column(g.grad());
                   return out;
                 },
                 .cost = exponential_cost});

const Op& kSparseCrossEntropyBackward =
    register_op({.name = "sparse_softmax_cross_entropy_backward",
                 .doc = "Gradient of sparse_softmax_cross_entropy by its logits, (softmax - y) * row gradient.",
                 .arity = 4,
                 .rule = logit_gradients<need_labels>,
                 .gradient = [](G g) -> Gradients {
                   const Tensor weight = as_column(g.input(3)), &d = g.grad();
                   const Tensor s = softmax(g.input(0));
                   Gradients out(4);
                   if (g.wanted(0)) out[0] = apply(kSoftmaxBackward, {d * weight, s});
                   if (g.wanted(3))
                     out[3] = sum(d * (s - one_hot(cast(g.input(1), DType::int64), s.dim(-1), s.dtype())), {-1});
                   return out;
                 },
                 .cost = exponential_cost});

const Op& kSparseCrossEntropy = register_op(
    {.name = "sparse_softmax_cross_entropy",
     .doc = "-log_softmax(logits)[label] per row.",
     .arity = 2,
     .rule = losses<need_labels>,
     .gradient = [](G g) -> Gradients {
       return {apply(kSparseCrossEntropyBackward, {g.input(0), g.input(1), g.output(1), g.grad()}), Tensor()};
     },
     .cost = exponential_cost});

// Floats as they are, 16-bit floats and integers in float32.
Tensor widened(const Operand& x) {
  const Tensor t = x.tensor();
  return t.dtype() == DType::float64 ? t : cast(Operand(t, x.where()), DType::float32);
}
Tensor narrowed(const Tensor& result, const Operand& like) {
  const DType dtype = like.tensor().dtype();
  return size_of(dtype) == 2 ? cast(result, dtype) : result;
}

Tensor along(const Op& op, const Operand& x, int64_t axis) {
  const Tensor t = widened(x);
  const std::vector<int64_t> order = axis_last(t.rank(), normalize_axis(op.name, axis, t.rank()));
  const Tensor result = apply(op, {transpose(t, order)}, {}, x.where());
  return narrowed(transpose(result, inverse_permutation(order)), x);
}

}  // namespace

Tensor softmax(const Operand& x, int64_t axis) { return along(kSoftmax, x, axis); }
Tensor log_softmax(const Operand& x, int64_t axis) { return along(kLogSoftmax, x, axis); }

Tensor softmax_cross_entropy(const Operand& logits, const Operand& probabilities) {
  const Tensor x = widened(logits);
  return narrowed(apply(kCrossEntropy, {x, cast(probabilities, x.dtype())}, {}, logits.where()), logits);
}

Tensor sparse_softmax_cross_entropy(const Operand& logits, const Operand& labels) {
  const Tensor x = widened(logits);
  Tensor y = labels.tensor(DType::int64);
  if (y.rank() == x.rank() && y.rank() > 0 && y.dim(-1) == 1 && x.dim(-1) != 1) y = squeeze(y, {-1});
  // Labels that were loaded as floats are read as they are, so that a fraction among them is found.
  if (is_floating(y.dtype()) && size_of(y.dtype()) == 2) y = cast(y, DType::float32);
  return narrowed(apply(kSparseCrossEntropy, {x, y}, {}, logits.where()), logits);
}

}  // namespace isochron
