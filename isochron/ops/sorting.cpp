#include "isochron/ops/sorting.h"

#include <cmath>

#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/indexing.h"
#include "isochron/ops/op.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {
namespace {

using G = const GradientContext&;

// Puts each element of the gradient back where the sorted element came from.
Gradients unsorted(G g) {
  const Tensor x = g.input(), indices = g.output(1);
  if (!g.grad(0).defined()) return {Tensor()};
  const int64_t length = x.dim(-1), rows = length ? x.elements() / length : 0;
  const Tensor row_start = reshape(arange(rows) * length, {rows, 1});
  const Tensor places = reshape(indices, {rows, -1}) + row_start;
  const Tensor flat = scatter_add(zeros({x.elements()}, x.dtype()), reshape(places, {-1}), reshape(g.grad(0), {-1}));
  return {reshape(flat, x.shape().to_vector())};
}

// Along the last axis: attribute "count" elements of it are wanted.
const Op& kSort = register_op(
    {.name = "sort",
     .doc = "The first elements of the last axis in order, and where they stood.",
     .arity = 1,
     .rule = [](const RuleContext& c) -> Specs {
       if (c.shape().rank() == 0) fail<ShapeError>(c.op, "a scalar has no axis to sort");
       const int64_t count = c.attributes.get<int64_t>("count");
       const Shape shape = c.shape().with(c.shape().rank() - 1, count);
       return {{c.dtype(), shape}, {DType::int64, shape}};
     },
     .gradient = unsorted,
     .cost = [](const RuleContext& c, std::span<const TensorSpec>) -> Cost {
       const auto n = static_cast<double>(c.shape().elements());
       return {n * std::log2(static_cast<double>(c.shape()[-1]) + 2) * 8, 3.0 * static_cast<double>(c[0].bytes())};
     }});

[[maybe_unused]] const bool kSortingComposites = register_composites({
    {"argsort", "Positions of the elements in sorted order."},
    {"top_k", "The k largest elements of the last axis and where they stand."},
});

// Output 0 (values) or 1 (positions) of a sort along any axis.
Tensor sorted(const char* name, const Operand& x, int64_t axis, bool descending, size_t output) {
  const Tensor t = x.tensor();
  const int i = normalize_axis(name, axis, t.rank());
  const std::vector<int64_t> order = axis_last(t.rank(), i);
  const Tensor moved = transpose(Operand(t, x.where()), order);
  const std::vector<Tensor> both =
      apply_many(kSort, {moved}, {{"descending", descending}, {"count", t.shape()[i]}}, x.where());
  return transpose(both[output], inverse_permutation(order));
}

}  // namespace

Tensor sort(const Operand& x, int64_t axis, bool descending) { return sorted("sort", x, axis, descending, 0); }
Tensor argsort(const Operand& x, int64_t axis, bool descending) { return sorted("argsort", x, axis, descending, 1); }

TopK top_k(const Operand& x, int64_t k) {
  const Tensor t = x.tensor();
  if (t.rank() == 0) fail<ShapeError>("top_k", "needs at least one axis, got a scalar");
  if (k < 0 || k > t.dim(-1)) fail<ValueError>("top_k", "k must be in [0, {}], got {}", t.dim(-1), k);
  const std::vector<Tensor> both = apply_many(kSort, {t}, {{"descending", true}, {"count", k}}, x.where());
  return {both[0], both[1]};
}

}  // namespace isochron
