// Reshaping, permuting, joining, cutting.
#include "isochron/ops/shape_ops.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "isochron/base/joined.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/op.h"
#include "isochron/ops/reduce.h"
#include "isochron/tensor/deferred.h"

namespace isochron {
namespace {

using G = const GradientContext&;
using Ints = std::vector<int64_t>;

const Ints& ints(const RuleContext& c, const char* name) { return c.attributes.get<Ints>(name); }

Ints identity_permutation(int rank) {
  Ints order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

Cost copying_cost(const RuleContext&, std::span<const TensorSpec> outputs) {
  return {0, 2.0 * static_cast<double>(outputs[0].bytes())};
}

const Op& kReshape =
    register_op({.name = "reshape",
                 .doc = "The same elements in another shape.",
                 .arity = 1,
                 .rule = [](const RuleContext& c) -> Specs {
                   const Shape shape(ints(c, "shape"));
                   if (shape.elements() != c.shape().elements())
                     fail<ShapeError>(c.op, "{} has {} elements, {} has {}", c.shape(), c.shape().elements(), shape,
                                      shape.elements());
                   return {{c.dtype(), shape}};
                 },
                 .gradient = [](G g) -> Gradients { return {reshape(g.grad(), g.input().shape().to_vector())}; },
                 .cost = [](const RuleContext&, std::span<const TensorSpec>) -> Cost { return {}; }});

const Op& kTranspose =
    register_op({.name = "transpose",
                 .doc = "Axes in another order.",
                 .arity = 1,
                 .rule = [](const RuleContext& c) -> Specs {
                   const Ints& order = ints(c, "permutation");
                   Ints sorted = order;
                   std::sort(sorted.begin(), sorted.end());
                   if (sorted != identity_permutation(c.shape().rank()))
                     fail<ShapeError>(c.op, "needs each of the {} axes of {} once, got [{}]", c.shape().rank(),
                                      c.shape(), joined(order));
                   Ints dims;
                   for (int64_t axis : order) dims.push_back(c.shape()[static_cast<int>(axis)]);
                   return {{c.dtype(), Shape(dims)}};
                 },
                 .gradient = [](G g) -> Gradients {
                   return {transpose(g.grad(), inverse_permutation(g.attributes().get<Ints>("permutation")))};
                 },
                 .cost = copying_cost});

const Op& kBroadcastTo =
    register_op({.name = "broadcast_to",
                 .doc = "Repeated along axes of extent 1 to fill a shape.",
                 .arity = 1,
                 .rule = [](const RuleContext& c) -> Specs {
                   const Shape shape(ints(c, "shape"));
                   if (!broadcasts_to(c.shape(), shape))
                     fail<ShapeError>(c.op, "{} does not broadcast to {}", c.shape(), shape);
                   return {{c.dtype(), shape}};
                 },
                 .gradient = [](G g) -> Gradients { return {sum_to(g.grad(), g.input().shape())}; },
                 .elementwise = true,
                 .cost = copying_cost});

const Op& kConcat = register_op(
    {.name = "concat",
     .doc = "Tensors joined along one axis.",
     .arity = -1,
     .rule = [](const RuleContext& c) -> Specs {
       const int axis = static_cast<int>(c.attributes.get<int64_t>("axis"));
       int64_t extent = 0;
       for (size_t i = 0; i < c.inputs.size(); ++i) {
         if (c.dtype(i) != c.dtype(0))
           fail<DTypeError>(c.op, "needs equal dtypes, got {} and {}", c.dtype(0), c.dtype(i));
         if (c.shape(i).rank() != c.shape(0).rank() || c.shape(i).with(axis, 0) != c.shape(0).with(axis, 0))
           fail<ShapeError>(c.op, "all extents but axis {} must agree, got {} and {}", axis, c.shape(0), c.shape(i));
         extent += c.shape(i)[axis];
       }
       return {{c.dtype(), c.shape(0).with(axis, extent)}};
     },
     .gradient = [](G g) -> Gradients {
       const int64_t axis = g.attributes().get<int64_t>("axis");
       Ints sizes;
       for (size_t i = 0; i < g.inputs(); ++i) sizes.push_back(g.input(i).shape()[static_cast<int>(axis)]);
       return split(g.grad(), sizes, axis);
     },
     .cost = copying_cost});

// Attributes begin, step (per axis, begin within the axis) and shape, the resulting extents.
const Op& kSlice = register_op({.name = "slice",
                                .doc = "Every step-th element from begin on, per axis.",
                                .arity = 1,
                                .rule = [](const RuleContext& c) -> Specs {
                                  return {{c.dtype(), Shape(ints(c, "shape"))}};
                                },
                                .gradient = [](G g) -> Gradients {
                                  return {apply(op_named("slice_scatter"), {g.grad()},
                                                {{"begin", g.attributes().get<Ints>("begin")},
                                                 {"step", g.attributes().get<Ints>("step")},
                                                 {"shape", g.input().shape().to_vector()}})};
                                },
                                .cost = copying_cost});

const Op& kSliceScatter =
    register_op({.name = "slice_scatter",
                 .doc = "Zeros with a tensor written where a slice would read: the gradient of slice.",
                 .arity = 1,
                 .rule = [](const RuleContext& c) -> Specs {
                   return {{c.dtype(), Shape(ints(c, "shape"))}};
                 },
                 .gradient = [](G g) -> Gradients {
                   return {apply(kSlice, {g.grad()},
                                 {{"begin", g.attributes().get<Ints>("begin")},
                                  {"step", g.attributes().get<Ints>("step")},
                                  {"shape", g.input().shape().to_vector()}})};
                 },
                 .cost = copying_cost});

const Op& kPad = register_op(
    {.name = "pad",
     .doc = "Elements of one value added around a tensor.",
     .arity = 1,
     .rule = [](const RuleContext& c) -> Specs {
       Ints dims = c.shape().to_vector();
       for (size_t i = 0; i < dims.size(); ++i) {
         const int64_t before = ints(c, "before")[i], after = ints(c, "after")[i];
         if (before < 0 || after < 0)
           fail<ValueError>(c.op, "widths must not be negative, got ({}, {}) for axis {}", before, after, i);
         if (__builtin_add_overflow(dims[i], before, &dims[i]) || __builtin_add_overflow(dims[i], after, &dims[i]) ||
             dims[i] > INT64_MAX / 16)
           fail<ShapeError>(c.op, "widths ({}, {}) for axis {} of {} are too large", before, after, i, c.shape());
       }
       return {{c.dtype(), Shape(dims)}};
     },
     .gradient = [](G g) -> Gradients {
       const Ints& before = g.attributes().get<Ints>("before");
       Ints end;
       for (size_t i = 0; i < before.size(); ++i) end.push_back(before[i] + g.input().shape()[static_cast<int>(i)]);
       return {slice(g.grad(), before, end)};
     },
     .cost = copying_cost});

const Op& kCumsum =
    register_op({.name = "cumsum",
                 .doc = "Running sum along an axis.",
                 .arity = 1,
                 .rule = [](const RuleContext& c) -> Specs {
                   if (c.dtype() == DType::boolean) fail<DTypeError>(c.op, "needs numbers, got bool");
                   return {c[0]};
                 },
                 .gradient = [](G g) -> Gradients {
                   return {cumsum(g.grad(), g.attributes().get<int64_t>("axis"), g.attributes().get<bool>("exclusive"),
                                  !g.attributes().get<bool>("reverse"))};
                 }});

// y_i is the product of all x before i, so dy_i/dx_k = (all before k) * (all between k and i): no division, which zeros
// would forbid, but a square of memory for each row. Serves second derivatives of prod.
Gradients gradient_of_running_product(G g) {
  const bool reverse = g.attributes().get<bool>("reverse");
  const auto in_order = [&](const Tensor& t) { return reverse ? flip(t, {1}) : t; };
  const Tensor x = in_order(g.input()), grad = in_order(g.grad());
  const int64_t rows = x.shape()[0], columns = x.shape()[1];
  const Tensor at = arange(columns);
  const Tensor after =
      broadcast_to(greater(reshape(at, {1, 1, columns}), reshape(at, {1, columns, 1})), {rows, columns, columns});
  const Tensor factors = where(after, reshape(x, {rows, 1, columns}), 1);
  const Tensor between =
      reshape(cumprod_exclusive(reshape(factors, {rows * columns, columns}), false), {rows, columns, columns});
  const Tensor sums = sum(where(after, reshape(grad, {rows, 1, columns}) * between, 0), {2});
  return {in_order(in_order(g.output()) * sums)};
}

const Op& kCumprodExclusive = register_op({.name = "cumprod_exclusive",
                                           .doc = "Product of the elements before each one in its row.",
                                           .arity = 1,
                                           .rule = [](const RuleContext& c) -> Specs {
                                             if (c.shape().rank() != 2)
                                               fail<ShapeError>(c.op, "needs (rows, columns), got {}", c.shape());
                                             return {c[0]};
                                           },
                                           .gradient = gradient_of_running_product});

[[maybe_unused]] const bool kShapeOpsComposites = register_composites({
    {"squeeze", "Axes of extent 1 dropped."},
    {"expand_dims", "An axis of extent 1 added."},
    {"flatten", "Axes from one to another made one."},
    {"stack", "Tensors joined along a new axis."},
    {"split", "A tensor cut into parts along one axis."},
    {"tile", "A tensor repeated along its axes."},
    {"repeat", "Each element repeated along an axis."},
    {"flip", "Axes in reverse order."},
    {"roll", "Elements moved along an axis, around its end."},
    {"tril", "Lower triangle, zeros above."},
    {"triu", "Upper triangle, zeros below."},
});

Tensor triangle(const char* name, const Operand& x, int64_t k, bool lower) {
  const Tensor t = x.tensor();
  if (t.rank() < 2) fail<ShapeError>(name, "needs at least two axes, got {}", t.shape());
  const int64_t farthest = t.dim(-2) + t.dim(-1);
  const Tensor row = reshape(arange(t.dim(-2)), {-1, 1}) + std::clamp(k, -farthest, farthest);
  const Tensor column = arange(t.dim(-1));
  return where(lower ? row >= column : row <= column, t, 0);
}

}  // namespace

Tensor reshape(const Operand& x, const Ints& shape) {
  const Tensor t = x.tensor();
  Ints dims = shape;
  const auto unknown = std::find(dims.begin(), dims.end(), -1);
  if (unknown != dims.end()) {
    if (std::find(unknown + 1, dims.end(), -1) != dims.end())
      fail<ShapeError>("reshape", "only one extent may be -1, got [{}]", joined(shape));
    *unknown = 1;
    const int64_t known = Shape(dims).elements();
    if (known == 0 || t.elements() % known)
      fail<ShapeError>("reshape", "{} has {} elements, which do not fill [{}]", t.shape(), t.elements(), joined(shape));
    *unknown = t.elements() / known;
  }
  if (t.shape() == Shape(dims)) return t;
  return apply(kReshape, {t}, {{"shape", std::move(dims)}}, x.where());
}

Tensor transpose(const Operand& x, const Ints& permutation) {
  const Tensor t = x.tensor();
  Ints order;
  for (int64_t axis : permutation) order.push_back(normalize_axis("transpose", axis, t.rank()));
  if (permutation.empty())
    for (int i = t.rank() - 1; i >= 0; --i) order.push_back(i);
  if (order == identity_permutation(t.rank())) return t;
  return apply(kTranspose, {t}, {{"permutation", std::move(order)}}, x.where());
}

Ints axis_last(int rank, int axis) {
  Ints order;
  for (int i = 0; i < rank; ++i)
    if (i != axis) order.push_back(i);
  order.push_back(axis);
  return order;
}

Ints inverse_permutation(const Ints& permutation) {
  Ints back(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) back[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
  return back;
}

Tensor broadcast_to(const Operand& x, const Shape& shape) {
  const Tensor t = x.tensor();
  if (t.shape() == shape) return t;
  return apply(kBroadcastTo, {t}, {{"shape", shape.to_vector()}}, x.where());
}

Tensor squeeze(const Operand& x, const AxisList& axes) {
  const Tensor t = x.tensor();
  Ints dims;
  std::vector<bool> drop(static_cast<size_t>(t.rank()), axes.empty());
  for (int64_t axis : axes) {
    const int i = normalize_axis("squeeze", axis, t.rank());
    if (t.shape()[i] != 1)
      fail<ShapeError>("squeeze", "axis {} of {} has extent {}, not 1", axis, t.shape(), t.shape()[i]);
    if (drop[static_cast<size_t>(i)]) fail<ValueError>("squeeze", "axis {} is given twice", axis);
    drop[static_cast<size_t>(i)] = true;
  }
  for (int i = 0; i < t.rank(); ++i)
    if (!drop[static_cast<size_t>(i)] || t.shape()[i] != 1) dims.push_back(t.shape()[i]);
  return reshape(Operand(t, x.where()), dims);
}

Tensor expand_dims(const Operand& x, int64_t axis) {
  const Tensor t = x.tensor();
  const int i = normalize_axis("expand_dims", axis, t.rank() + 1);
  return reshape(Operand(t, x.where()), t.shape().insert(i, 1).to_vector());
}

Tensor flatten(const Operand& x, int64_t start_axis, int64_t end_axis) {
  const Tensor t = x.tensor();
  if (t.rank() == 0) return reshape(Operand(t, x.where()), {1});
  const int first = normalize_axis("flatten", start_axis, t.rank()),
            last = normalize_axis("flatten", end_axis, t.rank());
  if (first > last)
    fail<ValueError>("flatten", "axis {} must not come after axis {} in a tensor of shape {}", start_axis, end_axis,
                     t.shape());
  Ints dims = t.shape().to_vector();
  dims[static_cast<size_t>(first)] = t.shape().elements(first, last + 1);
  dims.erase(dims.begin() + first + 1, dims.begin() + last + 1);
  return reshape(Operand(t, x.where()), dims);
}

Tensor concat(const std::vector<Tensor>& parts, int64_t axis) {
  if (parts.empty()) fail<ValueError>("concat", "needs at least one tensor");
  const int i = normalize_axis("concat", axis, parts[0].rank());
  if (parts.size() == 1) return parts[0];
  return apply(kConcat, parts, {{"axis", int64_t{i}}});
}

Tensor stack(const std::vector<Tensor>& parts, int64_t axis) {
  if (parts.empty()) fail<ValueError>("stack", "needs at least one tensor");
  const int i = normalize_axis("stack", axis, parts[0].rank() + 1);
  std::vector<Tensor> widened;
  for (const Tensor& part : parts) {
    if (part.shape() != parts[0].shape())
      fail<ShapeError>("stack", "needs equal shapes, got {} and {}", parts[0].shape(), part.shape());
    if (part.dtype() != parts[0].dtype())
      fail<DTypeError>("stack", "needs equal dtypes, got {} and {}", parts[0].dtype(), part.dtype());
    widened.push_back(expand_dims(part, i));
  }
  return concat(widened, i);
}

std::vector<Tensor> split(const Operand& x, int64_t parts, int64_t axis) {
  const Tensor t = x.tensor();
  const int i = normalize_axis("split", axis, t.rank());
  if (parts < 1 || t.shape()[i] % parts)
    fail<ValueError>("split", "axis {} of {} has extent {}, which {} equal parts do not fill", axis, t.shape(),
                     t.shape()[i], parts);
  return split(Operand(t, x.where()), Ints(static_cast<size_t>(parts), t.shape()[i] / parts), axis);
}

std::vector<Tensor> split(const Operand& x, const Ints& sizes, int64_t axis) {
  const Tensor t = x.tensor();
  const int i = normalize_axis("split", axis, t.rank());
  if (std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size < 0; }))
    fail<ValueError>("split", "sizes must not be negative, got [{}]", joined(sizes));
  if (std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) != t.shape()[i])
    fail<ValueError>("split", "sizes [{}] do not add up to {}, the extent of axis {} of {}", joined(sizes),
                     t.shape()[i], axis, t.shape());
  std::vector<Tensor> parts;
  int64_t at = 0;
  for (int64_t size : sizes) {
    Ints begin(static_cast<size_t>(t.rank()), 0), end = t.shape().to_vector();
    begin[static_cast<size_t>(i)] = at;
    end[static_cast<size_t>(i)] = at += size;
    parts.push_back(slice(Operand(t, x.where()), begin, end));
  }
  return parts;
}

namespace {

// Rows of known data are those bytes themselves: nothing is computed, and to a plan every batch of a loop looks alike.
// Not so for what has a gradient, and for variables, whose bytes change.
Tensor rows_in_place(const Tensor& t, const Ints& first, const Ints& dims) {
  const Value& value = t.value();
  const Node& node = *value.node;
  if (!node.computed() || node.differentiable || node.variable || node.role == LeafRole::stale) return {};
  for (size_t axis = 1; axis < dims.size(); ++axis)
    if (dims[axis] != t.shape()[static_cast<int>(axis)]) return {};
  const TensorSpec spec{t.dtype(), Shape(dims)};
  const Storage& whole = node.results[static_cast<size_t>(value.index)];
  fill_deferred(whole);
  const int64_t row_bytes = t.shape()[0] > 0 ? t.spec().bytes() / t.shape()[0] : 0;
  return Tensor::from_storage(
      Storage::wrap(whole.data() + first[0] * row_bytes, static_cast<size_t>(spec.bytes()), [whole] {}), spec);
}

}  // namespace

Tensor slice(const Operand& x, const Ints& begin, const Ints& end, const Ints& step) {
  const Tensor t = x.tensor();
  const auto rank = static_cast<size_t>(t.rank());
  if (begin.size() > rank || end.size() > rank || step.size() > rank)
    fail<ShapeError>("slice", "{} has {} axes, got positions for {}", t.shape(), rank,
                     std::max({begin.size(), end.size(), step.size()}));
  Ints first, stride, dims;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t extent = t.shape()[static_cast<int>(i)];
    const int64_t by = i < step.size() ? step[i] : 1;
    if (by == 0) fail<ValueError>("slice", "the step of axis {} must not be 0", i);
    // Positions as in NumPy: from the end when negative, then clamped.
    const auto position = [&](int64_t p) {
      if (p < 0) p += extent;
      return by > 0 ? std::clamp<int64_t>(p, 0, extent) : std::clamp<int64_t>(p, -1, extent - 1);
    };
    const int64_t from = i < begin.size() && begin[i] != kEnd ? position(begin[i]) : (by > 0 ? 0 : extent - 1);
    const int64_t to = i < end.size() && end[i] != kEnd ? position(end[i]) : (by > 0 ? extent : -1);
    const int64_t count = by > 0 ? (to - from + by - 1) / by : (from - to - by - 1) / -by;
    first.push_back(count > 0 ? from : 0);
    stride.push_back(by);
    dims.push_back(std::max<int64_t>(count, 0));
  }
  if (std::all_of(stride.begin(), stride.end(), [](int64_t s) { return s == 1; })) {
    if (Shape(dims) == t.shape()) return t;
    if (const Tensor rows = rows_in_place(t, first, dims); rows.defined()) return rows;
  }
  return apply(kSlice, {t}, {{"begin", std::move(first)}, {"step", std::move(stride)}, {"shape", std::move(dims)}},
               x.where());
}

Tensor pad(const Operand& x, const std::vector<std::pair<int64_t, int64_t>>& widths, double value) {
  const Tensor t = x.tensor();
  if (static_cast<int>(widths.size()) != t.rank())
    fail<ShapeError>("pad", "needs widths for the {} axes of {}, got {}", t.rank(), t.shape(), widths.size());
  if (!Operand(value).fits(t.dtype())) fail<ValueError>("pad", "the value {} does not fit {}", value, t.dtype());
  Ints before, after;
  for (const auto& [b, a] : widths) {
    before.push_back(b);
    after.push_back(a);
  }
  return apply(kPad, {t}, {{"before", std::move(before)}, {"after", std::move(after)}, {"value", value}}, x.where());
}

Tensor tile(const Operand& x, const Ints& repeats) {
  const Tensor t = x.tensor();
  Ints counts = repeats, dims = t.shape().to_vector();
  while (counts.size() < dims.size()) counts.insert(counts.begin(), 1);
  while (dims.size() < counts.size()) dims.insert(dims.begin(), 1);
  Tensor result = reshape(Operand(t, x.where()), dims);
  // Axis by axis: (…, n, …) -> (…, 1, n, …) -> (…, r, n, …) -> (…, r*n, …).
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] < 0) fail<ValueError>("tile", "repeats must not be negative, got {}", counts[i]);
    if (counts[i] == 1) continue;
    const int64_t outer = Shape(dims).elements(0, static_cast<int>(i)),
                  rest = Shape(dims).elements(static_cast<int>(i), static_cast<int>(dims.size()));
    dims[i] *= counts[i];
    result = reshape(broadcast_to(reshape(result, {outer, 1, rest}), {outer, counts[i], rest}), dims);
  }
  return result;
}

Tensor repeat(const Operand& x, int64_t count, int64_t axis) {
  const Tensor t = x.tensor();
  if (count < 0) fail<ValueError>("repeat", "count must not be negative, got {}", count);
  const int i = normalize_axis("repeat", axis, t.rank());
  const int64_t outer = t.shape().elements(0, i + 1), inner = t.shape().elements(i + 1, t.rank());
  const Tensor widened = broadcast_to(reshape(Operand(t, x.where()), {outer, 1, inner}), {outer, count, inner});
  return reshape(widened, t.shape().with(i, t.shape()[i] * count).to_vector());
}

Tensor flip(const Operand& x, const AxisList& axes) {
  const Tensor t = x.tensor();
  Ints step(static_cast<size_t>(t.rank()), axes.empty() ? -1 : 1);
  for (int64_t axis : axes) {
    int64_t& stride = step[static_cast<size_t>(normalize_axis("flip", axis, t.rank()))];
    if (stride < 0) fail<ValueError>("flip", "axis {} is given twice", axis);
    stride = -1;
  }
  return slice(Operand(t, x.where()), Ints(step.size(), kEnd), Ints(step.size(), kEnd), step);
}

Tensor roll(const Operand& x, int64_t shift, int64_t axis) {
  const Tensor t = x.tensor();
  const int i = normalize_axis("roll", axis, t.rank());
  const int64_t extent = t.shape()[i];
  if (extent == 0) return t;
  const int64_t moved = ((shift % extent) + extent) % extent;
  if (moved == 0) return t;
  const std::vector<Tensor> parts = split(Operand(t, x.where()), Ints{extent - moved, moved}, i);
  return concat({parts[1], parts[0]}, i);
}

Tensor tril(const Operand& x, int64_t k) { return triangle("tril", x, k, true); }
Tensor triu(const Operand& x, int64_t k) { return triangle("triu", x, k, false); }

Tensor cumsum(const Operand& x, int64_t axis, bool exclusive, bool reverse) {
  const Tensor t = x.tensor();
  return apply(
      kCumsum, {t},
      {{"axis", int64_t{normalize_axis("cumsum", axis, t.rank())}}, {"exclusive", exclusive}, {"reverse", reverse}},
      x.where());
}

Tensor cumprod_exclusive(const Operand& x, bool reverse) {
  return apply(kCumprodExclusive, {x.tensor()}, {{"reverse", reverse}}, x.where());
}

Tensor Tensor::reshape(std::vector<int64_t> shape) const { return isochron::reshape(*this, shape); }
Tensor Tensor::transpose(std::vector<int64_t> permutation) const { return isochron::transpose(*this, permutation); }
Tensor Tensor::operator[](int64_t index) const {
  if (rank() == 0) fail<IndexError>("operator[]", "a scalar has no elements to index");
  const int64_t extent = shape()[0];
  if (index < -extent || index >= extent)
    fail<IndexError>("operator[]", "index must be in [{}, {}) for shape {}, got {}", -extent, extent, shape(), index);
  const int64_t at = index < 0 ? index + extent : index;
  return isochron::reshape(slice(*this, {at}, {at + 1}), shape().erase(0).to_vector());
}

}  // namespace isochron
