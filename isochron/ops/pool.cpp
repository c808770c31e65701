#include "isochron/ops/pool.h"

#include "isochron/ops/elementwise.h"

namespace isochron {
namespace {

using G = const GradientContext&;

Windows windows_of_pool(const RuleContext& c) {
  return windows_of(c.op, c.attributes, c.attributes.get<Extents>("window"));
}

void need_floats(const RuleContext& c) {
  if (!is_floating(c.dtype())) fail<DTypeError>(c.op, "needs floats, got {}", c.dtype());
}

Shape pooled(const RuleContext& c, const Shape& x) {
  return with_spatial(x[0], windows_of_pool(c).output_extents(spatial_extents(c.op, x)), x[-1]);
}

Specs pool_rule(const RuleContext& c) {
  need_floats(c);
  return {{c.dtype(), pooled(c, c.shape())}};
}

// Inputs: the gradient (or what is to be picked), and x.
void need_pair(const RuleContext& c, const Shape& first) {
  need_floats(c);
  if (c.dtype(0) != c.dtype(1)) fail<DTypeError>(c.op, "needs equal dtypes, got {} and {}", c.dtype(0), c.dtype(1));
  if (c.shape(0) != first) fail<ShapeError>(c.op, "for x {} it needs {}, got {}", c.shape(1), first, c.shape(0));
}
Specs max_backward_rule(const RuleContext& c) {
  need_pair(c, pooled(c, c.shape(1)));
  return {c[1]};
}
Specs max_pick_rule(const RuleContext& c) {
  need_pair(c, c.shape(1));
  return {{c.dtype(), pooled(c, c.shape(1))}};
}
Specs avg_backward_rule(const RuleContext& c) {
  need_floats(c);
  const Shape x = with_spatial(c.shape()[0], c.attributes.get<Extents>("input"), c.shape()[-1]);
  if (c.shape() != pooled(c, x)) fail<ShapeError>(c.op, "for x {} it needs {}, got {}", x, pooled(c, x), c.shape());
  return {{c.dtype(), x}};
}

Cost window_cost(const RuleContext& c, std::span<const TensorSpec> outputs) {
  Cost cost;
  int64_t elements = outputs[0].shape.elements();
  for (const TensorSpec& input : c.inputs) {
    cost.bytes += static_cast<double>(input.bytes());
    elements = std::min(elements, input.shape.elements());
  }
  cost.bytes += static_cast<double>(outputs[0].bytes());
  cost.flops = static_cast<double>(elements);
  for (const int64_t extent : c.attributes.get<Extents>("window")) cost.flops *= static_cast<double>(extent);
  return cost;
}

const Op& kMaxBackward =
    register_op({.name = "max_pool_backward",
                 .doc = "Gradient of max_pool: dy where x is the first maximum of its window.",
                 .arity = 2,
                 .rule = max_backward_rule,
                 .gradient = [](G g) -> Gradients {
                   return {apply(op_named("max_pool_pick"), {g.grad(), g.input(1)}, g.attributes()), Tensor()};
                 },
                 .cost = window_cost});

const Op& kMaxPick = register_op({.name = "max_pool_pick",
                                  .doc = "Elements of one tensor where another is the first maximum of its window.",
                                  .arity = 2,
                                  .rule = max_pick_rule,
                                  .gradient = [](G g) -> Gradients {
                                    return {apply(kMaxBackward, {g.grad(), g.input(1)}, g.attributes()), Tensor()};
                                  },
                                  .cost = window_cost});

const Op& kMaxPool = register_op({.name = "max_pool",
                                  .doc = "Maxima of windows over the spatial axes.",
                                  .arity = 1,
                                  .rule = pool_rule,
                                  .gradient = [](G g) -> Gradients {
                                    return {apply(kMaxBackward, {g.grad(), g.input()}, g.attributes())};
                                  },
                                  .cost = window_cost});

const Op& kAvgBackward = register_op({.name = "avg_pool_backward",
                                      .doc = "Gradient of avg_pool: dy spread evenly over its window.",
                                      .arity = 1,
                                      .rule = avg_backward_rule,
                                      .gradient = [](G g) -> Gradients {
                                        Attributes a;
                                        for (const auto& [name, value] : g.attributes().items())
                                          if (name != "input") a.set(name, value);
                                        return {apply(op_named("avg_pool"), {g.grad()}, std::move(a))};
                                      },
                                      .cost = window_cost});

const Op& kAvgPool = register_op({.name = "avg_pool",
                                  .doc = "Means of windows over the spatial axes.",
                                  .arity = 1,
                                  .rule = pool_rule,
                                  .gradient = [](G g) -> Gradients {
                                    Attributes a = g.attributes();
                                    const Tensor x = g.input();
                                    a.set("input", Extents(x.shape().begin() + 1, x.shape().end() - 1));
                                    return {apply(kAvgBackward, {g.grad()}, std::move(a))};
                                  },
                                  .cost = window_cost});

Tensor pool(const Op& op, const Operand& x, const PoolOptions& options) {
  const Tensor t = x.tensor();
  const Extents input = spatial_extents(op.name, t.shape());
  Windows windows{op.name, per_axis(op.name, "window", options.window, input.size())};
  windows.strides =
      options.strides.empty() ? windows.window : per_axis(op.name, "strides", options.strides, input.size());
  windows.dilations = Extents(input.size(), 1);
  windows.pads = pads_of(windows, input, options.padding);
  for (size_t i = 0; i < input.size(); ++i)
    if (std::max(windows.pads[2 * i], windows.pads[2 * i + 1]) >= windows.window[i])
      fail<ValueError>(op.name, "padding must be smaller than the window, got ({}, {}) and a window of {}",
                       windows.pads[2 * i], windows.pads[2 * i + 1], windows.window[i]);
  Attributes attributes{{"window", windows.window},
                        {"strides", windows.strides},
                        {"dilations", windows.dilations},
                        {"pads", windows.pads}};
  if (&op == &kAvgPool) attributes.set("count_padding", options.count_padding);
  return apply(op, {t}, std::move(attributes), x.where());
}

}  // namespace

Tensor max_pool(const Operand& x, const PoolOptions& options) { return pool(kMaxPool, x, options); }
Tensor avg_pool(const Operand& x, const PoolOptions& options) { return pool(kAvgPool, x, options); }

}  // namespace isochron
