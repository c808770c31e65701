#include "isochron/ops/indexing.h"

#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/op.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {
namespace {

using G = const GradientContext&;

int axis_of(const Attributes& attributes) { return static_cast<int>(attributes.get<int64_t>("axis")); }

// The shape of gather(x, indices, axis).
Shape gathered(const RuleContext& c) {
  if (!is_integral(c.dtype(1)))
    fail<DTypeError>(c.attributes.get_or<std::string>("named", std::string(c.op)), "indices must be integers, got {}",
                     c.dtype(1));
  const int axis = axis_of(c.attributes);
  std::vector<int64_t> dims(c.shape(0).begin(), c.shape(0).begin() + axis);
  dims.insert(dims.end(), c.shape(1).begin(), c.shape(1).end());
  dims.insert(dims.end(), c.shape(0).begin() + axis + 1, c.shape(0).end());
  return Shape(dims);
}

const Op& kGather = register_op(
    {.name = "gather",
     .doc = "Slices of x along an axis, picked by index.",
     .arity = 2,
     .rule = [](const RuleContext& c) -> Specs {
       return {{c.dtype(0), gathered(c)}};
     },
     .gradient = [](G g) -> Gradients {
       return {apply(op_named("scatter_add"), {zeros_like(g.input(0)), g.input(1), g.grad()}, g.attributes()),
               Tensor()};
     },
     .cost = [](const RuleContext&, std::span<const TensorSpec> outputs) -> Cost {
       return {0, 2.0 * static_cast<double>(outputs[0].bytes())};
     }});

const Op& kScatterAdd =
    register_op({.name = "scatter_add",
                 .doc = "Updates added to slices of x along an axis, picked by index.",
                 .arity = 3,
                 .rule = [](const RuleContext& c) -> Specs {
                   const Shape expected = gathered(c);
                   if (c.shape(2) != expected)
                     fail<ShapeError>(c.op, "updates must be {} for x {} and indices {}, got {}", expected, c.shape(0),
                                      c.shape(1), c.shape(2));
                   if (c.dtype(0) != c.dtype(2))
                     fail<DTypeError>(c.op, "x and updates need equal dtypes, got {} and {}", c.dtype(0), c.dtype(2));
                   if (c.dtype(0) == DType::boolean) fail<DTypeError>(c.op, "needs numbers, got bool");
                   return {c[0]};
                 },
                 .gradient = [](G g) -> Gradients {
                   Gradients out(3);
                   if (g.wanted(0)) out[0] = g.grad();
                   if (g.wanted(2)) out[2] = gather(g.grad(), g.input(1), axis_of(g.attributes()));
                   return out;
                 },
                 .cost = [](const RuleContext& c, std::span<const TensorSpec> outputs) -> Cost {
                   return {static_cast<double>(c.shape(2).elements()),
                           2.0 * static_cast<double>(outputs[0].bytes()) + 3.0 * static_cast<double>(c[2].bytes())};
                 }});

[[maybe_unused]] const bool kIndexingComposites = register_composites({
    {"embedding", "Rows of a table for tokens, with gradients of the rows in use."},
    {"take", "Elements of the flattened tensor, picked by index."},
    {"take_along_axis", "Along an axis, for each index the element it names."},
    {"one_hot", "A last axis with a 1 where the index says."},
});

}  // namespace

Tensor gather(const Operand& x, const Tensor& indices, int64_t axis, const char* named) {
  const Tensor t = x.tensor();
  Attributes attributes{{"axis", int64_t{normalize_axis(named, axis, t.rank())}}};
  if (std::string_view(named) != kGather.name) attributes.set("named", std::string(named));
  return apply(kGather, {t, indices}, std::move(attributes), x.where());
}

Tensor embedding(const Tensor& table, const Tensor& tokens, bool lazy_updates, const char* named) {
  if (table.rank() != 2) fail<ShapeError>(named, "needs a table (tokens, features), got {}", table.shape());
  Attributes attributes{{"axis", int64_t{0}}, {"named", std::string(named)}};
  if (lazy_updates) attributes.set("lazy", true);
  return apply(kGather, {table, tokens}, std::move(attributes));
}

Tensor take(const Operand& x, const Tensor& indices) {
  return gather(Operand(reshape(x, {-1}), x.where()), indices, 0, "take");
}

Tensor take_along_axis(const Operand& x, const Tensor& indices, int64_t axis) {
  const Tensor t = x.tensor();
  const int along = normalize_axis("take_along_axis", axis, t.rank());
  if (indices.rank() != t.rank())
    fail<ShapeError>("take_along_axis", "x and indices need equally many axes, got {} and {}", t.shape(),
                     indices.shape());
  const Shape shape = t.shape().with(along, indices.shape()[along]);
  for (int i = 0; i < t.rank(); ++i)
    if (indices.shape()[i] != shape[i] && indices.shape()[i] != 1)
      fail<ShapeError>("take_along_axis", "indices for x {} along axis {} must be {}, got {}", t.shape(), along, shape,
                       indices.shape());
  // Picking from 0, 1, 2, … first finds an index outside the axis.
  Tensor place = broadcast_to(gather(arange(t.shape()[along]), indices, 0, "take_along_axis"), shape) *
                 t.shape().elements(along + 1, t.rank());
  for (int i = 0; i < t.rank(); ++i) {
    if (i == along) continue;
    std::vector<int64_t> line(static_cast<size_t>(t.rank()), 1);
    line[static_cast<size_t>(i)] = t.shape()[i];
    place = place + reshape(arange(t.shape()[i]) * t.shape().elements(i + 1, t.rank()), line);
  }
  return take(Operand(t, x.where()), place);
}

Tensor scatter_add(const Operand& x, const Tensor& indices, const Tensor& updates, int64_t axis) {
  const Tensor t = x.tensor();
  return apply(kScatterAdd, {t, indices, updates}, {{"axis", int64_t{normalize_axis("scatter_add", axis, t.rank())}}},
               x.where());
}

Tensor one_hot(const Operand& indices, int64_t depth, DType dtype) {
  const Tensor t = indices.tensor(DType::int64);
  if (!is_integral(t.dtype())) fail<DTypeError>("one_hot", "indices must be integers, got {}", t.dtype());
  if (depth < 0) fail<ValueError>("one_hot", "depth must not be negative, got {}", depth);
  if (depth > kLongestRange) fail<ValueError>("one_hot", "depth must be at most {}, got {}", kLongestRange, depth);
  const Tensor column = expand_dims(Operand(cast(t, DType::int64), indices.where()), -1);
  return cast(equal(column, arange(depth)), dtype);
}

}  // namespace isochron
