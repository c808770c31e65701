#include "isochron/ops/ctc.h"

#include "isochron/ops/elementwise.h"
#include "isochron/ops/op.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {
namespace {

// The loss of each example, and its derivative by the log-probabilities, which takes the same sums.
Specs loss_and_slope(const RuleContext& c) {
  const Shape &p = c.shape(0), &targets = c.shape(1);
  if (p.rank() != 3 || p[2] == 0)
    fail<ShapeError>(c.op, "log-probabilities must be (steps, batch, classes), got {}", p);
  if (c.dtype(0) != DType::float32 && c.dtype(0) != DType::float64)
    fail<DTypeError>(c.op, "needs float32 or float64, got {}", c.dtype(0));
  if (targets.rank() != 2 || targets[0] != p[1])
    fail<ShapeError>(c.op, "targets must be ({}, labels) for log-probabilities {}, got {}", p[1], p, targets);
  for (size_t i : {1, 2, 3})
    if (c.dtype(i) != DType::int64) fail<DTypeError>(c.op, "labels and lengths must be int64, got {}", c.dtype(i));
  for (size_t i : {2, 3})
    if (c.shape(i) != Shape{p[1]})
      fail<ShapeError>(c.op, "needs one length for each of {} examples, got {}", p[1], c.shape(i));
  const auto blank = c.attributes.get<int64_t>("blank");
  if (blank < 0 || blank >= p[2]) fail<ValueError>(c.op, "blank must be one of {} classes, got {}", p[2], blank);
  return {{c.dtype(0), {p[1]}}, c[0]};
}

Cost loop_cost(const RuleContext& c, std::span<const TensorSpec> outputs) {
  const double states = static_cast<double>(c.shape(0)[0] * c.shape(0)[1]) * static_cast<double>(2 * c.shape(1)[1] + 1);
  return {60 * states, 2 * static_cast<double>(outputs[1].bytes())};
}

const Op& kCtc =
    register_op({.name = "ctc",
                 .doc = "-log of the probability of labels that may take any number of steps each.",
                 .arity = 4,
                 .rule = loss_and_slope,
                 .gradient = [](const GradientContext& g) -> Gradients {
                   if (g.grad(1).defined())
                     fail<ValueError>("ctc", "has no second derivative: the first is computed in one pass");
                   return {reshape(g.grad(), {1, -1, 1}) * g.output(1), {}, {}, {}};
                 },
                 .cost = loop_cost});

}  // namespace

Tensor ctc(const Operand& log_probabilities, const Tensor& targets, const Tensor& input_lengths,
           const Tensor& target_lengths, int64_t blank) {
  const auto whole = [](const Tensor& x) {
    if (!is_integral(x.dtype())) fail<DTypeError>("ctc", "labels and lengths must be integers, got {}", x.dtype());
    return cast(x, DType::int64);
  };
  return apply_many(kCtc, {log_probabilities.tensor(), whole(targets), whole(input_lengths), whole(target_lengths)},
                    {{"blank", blank}}, log_probabilities.where())[0];
}

}  // namespace isochron
