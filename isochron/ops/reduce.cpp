#include "isochron/ops/reduce.h"

#include <algorithm>
#include <cmath>

#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/op.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {
namespace {

using G = const GradientContext&;

// Attribute "axes" is sorted and non-negative: the functions below see to it.
Shape reduced(const RuleContext& c) {
  const auto& axes = c.attributes.get<std::vector<int64_t>>("axes");
  const bool keepdims = c.attributes.get<bool>("keepdims");
  std::vector<int64_t> dims;
  for (int i = 0; i < c.shape().rank(); ++i) {
    const bool gone = std::binary_search(axes.begin(), axes.end(), i);
    if (!gone) dims.push_back(c.shape()[i]);
    if (gone && keepdims) dims.push_back(1);
  }
  return Shape(dims);
}

int64_t reduced_count(const RuleContext& c) {
  int64_t count = 1;
  for (int64_t axis : c.attributes.get<std::vector<int64_t>>("axes")) count *= c.shape()[static_cast<int>(axis)];
  return count;
}

Specs sums(const RuleContext& c) {
  if (c.dtype() == DType::boolean) fail<DTypeError>(c.op, "needs numbers, got bool; cast first");
  return {{c.dtype(), reduced(c)}};
}

Specs means(const RuleContext& c) {
  if (!is_floating(c.dtype())) fail<DTypeError>(c.op, "needs a floating tensor, got {}", c.dtype());
  return sums(c);
}

Specs extremes(const RuleContext& c) {
  if (reduced_count(c) == 0) fail<ShapeError>(c.op, "of no elements is not defined, got shape {}", c.shape());
  return sums(c);
}

Specs truths(const RuleContext& c) {
  if (c.dtype() != DType::boolean) fail<DTypeError>(c.op, "needs bool, got {}", c.dtype());
  return {{DType::boolean, reduced(c)}};
}

Specs indices(const RuleContext& c) {
  if (reduced_count(c) == 0) fail<ShapeError>(c.op, "of no elements is not defined, got shape {}", c.shape());
  return {{DType::int64, reduced(c)}};
}

Cost reading_cost(const RuleContext& c, std::span<const TensorSpec> outputs) {
  return {static_cast<double>(c.shape().elements()), static_cast<double>(c[0].bytes() + outputs[0].bytes())};
}

// The reduced tensor shaped like its input with extent 1 along the reduced axes.
Tensor kept(G g, const Tensor& reduced_tensor) {
  std::vector<int64_t> dims = g.input().shape().to_vector();
  for (int64_t axis : g.attributes().get<std::vector<int64_t>>("axes")) dims[static_cast<size_t>(axis)] = 1;
  return reshape(reduced_tensor, dims);
}

// The gradient of max and min goes to the extreme elements, in equal parts where several tie.
Gradients to_extremes(G g) {
  const Tensor hit = cast(equal(g.input(), kept(g, g.output())), g.input().dtype());
  const Tensor count = sum(hit, g.attributes().get<std::vector<int64_t>>("axes"), true);
  return {hit * (kept(g, g.grad()) / count)};
}

// Product of all the other elements, without dividing (so zeros are fine): prefix times suffix products.
Gradients of_product(G g) {
  const auto& axes = g.attributes().get<std::vector<int64_t>>("axes");
  const Tensor x = g.input();
  std::vector<int64_t> order;
  for (int i = 0; i < x.rank(); ++i)
    if (!std::binary_search(axes.begin(), axes.end(), i)) order.push_back(i);
  const auto kept_axes = static_cast<int>(order.size());
  order.insert(order.end(), axes.begin(), axes.end());
  const Tensor moved = transpose(x, order);
  const int64_t outer = moved.shape().elements(0, kept_axes), inner = moved.shape().elements(kept_axes, x.rank());
  const Tensor rows = reshape(moved, {outer, inner});
  const Tensor before = cumprod_exclusive(rows, false), after = cumprod_exclusive(rows, true);
  const Tensor others = transpose(reshape(before * after, moved.shape().to_vector()), inverse_permutation(order));
  return {others * kept(g, g.grad())};
}

const Op& reduction(const char* name, const char* doc, Specs (*rule)(const RuleContext&), Gradients (*gradient)(G),
                    const char* no_gradient = nullptr) {
  return register_op({.name = name,
                      .doc = doc,
                      .arity = 1,
                      .rule = rule,
                      .gradient = gradient,
                      .no_gradient = no_gradient,
                      .cost = reading_cost});
}

const Op& kSum = reduction("sum", "Sum of the elements.", sums,
                           [](G g) -> Gradients { return {broadcast_to(kept(g, g.grad()), g.input().shape())}; });
const Op& kMean = reduction("mean", "Mean of the elements.", means, [](G g) -> Gradients {
  const double count =
      static_cast<double>(g.input().elements()) / static_cast<double>(std::max<int64_t>(g.output().elements(), 1));
  return {broadcast_to(kept(g, g.grad() * (1 / count)), g.input().shape())};
});
const Op& kProd = reduction("prod", "Product of the elements.", sums, of_product);
const Op& kMax = reduction("max", "Largest element; NaN if there is one.", extremes, to_extremes);
const Op& kMin = reduction("min", "Smallest element; NaN if there is one.", extremes, to_extremes);
const Op& kAny = reduction("any", "True if any element is.", truths, nullptr, "its result is bool");
const Op& kAll = reduction("all", "True if all elements are.", truths, nullptr, "its result is bool");
const Op& kArgmax =
    reduction("argmax", "Index of the first largest element.", indices, nullptr, "its result is an index");
const Op& kArgmin =
    reduction("argmin", "Index of the first smallest element.", indices, nullptr, "its result is an index");

[[maybe_unused]] const bool kReduceComposites = register_composites({
    {"var", "Variance of the elements."},
    {"std", "Standard deviation of the elements."},
    {"logsumexp", "log(sum(exp(x))) without overflow."},
    {"norm", "The p-norm of the elements."},
});

Axes normalized(const Op& op, const AxisList& axes, int rank) {
  Axes out;
  for (int64_t axis : axes) out.push_back(normalize_axis(op.name, axis, rank));
  if (axes.empty())
    for (int i = 0; i < rank; ++i) out.push_back(i);
  std::sort(out.begin(), out.end());
  if (std::adjacent_find(out.begin(), out.end()) != out.end()) fail<ValueError>(op.name, "an axis is given twice");
  return out;
}

Tensor reduce(const Op& op, const Operand& x, const AxisList& axes, bool keepdims) {
  const Tensor t = x.tensor();
  Axes sorted = normalized(op, axes, t.rank());
  return apply(op, {t}, {{"axes", std::move(sorted)}, {"keepdims", keepdims}}, x.where());
}

// Sums and products of integers (and truths, which count) are int64: those of a few bytes would overflow a byte.
Operand widened(const Operand& x) {
  return is_floating(x.tensor().dtype()) ? x : Operand(cast(x, DType::int64), x.where());
}
Tensor as_truth(const Operand& x) { return cast(x, DType::boolean); }
// A root is infinitely steep at 0, where norms and deviations are least: the gradient there is 0, as PyTorch says.
Tensor root_flat_at_zero(const Tensor& x, double p = 2) {
  const Tensor some = not_equal(x, 0), safe = where(some, x, 1);
  return where(some, p == 2 ? sqrt(safe) : pow(safe, 1 / p), 0);
}
Tensor as_real(const Operand& x) { return is_floating(x.tensor().dtype()) ? x.tensor() : cast(x, DType::float32); }

}  // namespace

Tensor sum(const Operand& x, const AxisList& axes, bool keepdims) { return reduce(kSum, widened(x), axes, keepdims); }
Tensor mean(const Operand& x, const AxisList& axes, bool keepdims) {
  return reduce(kMean, Operand(as_real(x), x.where()), axes, keepdims);
}
Tensor prod(const Operand& x, const AxisList& axes, bool keepdims) { return reduce(kProd, widened(x), axes, keepdims); }
Tensor max(const Operand& x, const AxisList& axes, bool keepdims) { return reduce(kMax, x, axes, keepdims); }
Tensor min(const Operand& x, const AxisList& axes, bool keepdims) { return reduce(kMin, x, axes, keepdims); }
Tensor any(const Operand& x, const AxisList& axes, bool keepdims) {
  return reduce(kAny, Operand(as_truth(x), x.where()), axes, keepdims);
}
Tensor all(const Operand& x, const AxisList& axes, bool keepdims) {
  return reduce(kAll, Operand(as_truth(x), x.where()), axes, keepdims);
}
Tensor argmax(const Operand& x, int64_t axis, bool keepdims) { return reduce(kArgmax, x, {axis}, keepdims); }
Tensor argmin(const Operand& x, int64_t axis, bool keepdims) { return reduce(kArgmin, x, {axis}, keepdims); }

Tensor var(const Operand& x, const AxisList& axes, bool keepdims, double correction) {
  const Tensor t = as_real(x);
  const Tensor squares = square(t - mean(t, axes, true));
  if (correction == 0) return mean(squares, axes, keepdims);
  const Tensor total = sum(squares, axes, keepdims);
  const double count = static_cast<double>(t.elements()) / static_cast<double>(std::max<int64_t>(total.elements(), 1));
  return total / (count - correction);
}
Tensor std(const Operand& x, const AxisList& axes, bool keepdims, double correction) {
  return root_flat_at_zero(var(x, axes, keepdims, correction));
}

Tensor logsumexp(const Operand& x, const AxisList& axes, bool keepdims) {
  const Tensor t = as_real(x);
  // Of nothing, as the sum is 0.
  if (t.elements() == 0) return log(sum(t, axes, keepdims));
  const Tensor top = stop_gradient(max(t, axes, true));
  const Tensor shift = where(is_finite(top), top, 0);
  const Tensor result = log(sum(exp(t - shift), axes, true)) + shift;
  return keepdims ? result : reshape(result, sum(t, axes, false).shape().to_vector());
}

Tensor norm(const Operand& x, double p, const AxisList& axes, bool keepdims) {
  const Tensor t = as_real(x);
  if (std::isinf(p)) return p > 0 ? max(abs(t), axes, keepdims) : min(abs(t), axes, keepdims);
  if (!(p >= 0)) fail<ValueError>("norm", "p must not be negative, got {}", p);
  if (p == 0) return sum(cast(not_equal(t, 0), t.dtype()), axes, keepdims);
  if (p == 1) return sum(abs(t), axes, keepdims);
  const Tensor total = sum(p == 2 ? square(t) : pow(abs(t), p), axes, keepdims);
  return root_flat_at_zero(total, p);
}

Tensor Tensor::sum(const AxisList& axes, bool keepdims) const { return isochron::sum(*this, axes, keepdims); }
Tensor Tensor::mean(const AxisList& axes, bool keepdims) const { return isochron::mean(*this, axes, keepdims); }

}  // namespace isochron
