#include "isochron/ops/conv.h"

#include "isochron/ops/elementwise.h"

namespace isochron {
namespace {

using G = const GradientContext&;

// The shapes of a convolution: x (batch, input…, in_channels), kernel (window…, in_channels / groups, out_channels),
// y (batch, output…, out_channels).
void need_floats(const RuleContext& c) {
  if (c.dtype(0) != c.dtype(1)) fail<DTypeError>(c.op, "needs equal dtypes, got {} and {}", c.dtype(0), c.dtype(1));
  if (!is_floating(c.dtype())) fail<DTypeError>(c.op, "needs floats, got {}", c.dtype());
}

Extents window_of_kernel(std::string_view op, const Shape& x, const Shape& kernel) {
  if (kernel.rank() != x.rank())
    fail<ShapeError>(op, "x {} needs a kernel of rank {}, (window…, channels / groups, filters), got {}", x, x.rank(),
                     kernel);
  if (kernel.elements() == 0) fail<ShapeError>(op, "the kernel must not be empty, got {}", kernel);
  return Extents(kernel.begin(), kernel.end() - 2);
}

int64_t groups_of(const RuleContext& c, int64_t in_channels, int64_t out_channels) {
  const int64_t groups = c.attributes.get<int64_t>("groups");
  if (groups < 1 || in_channels % groups != 0 || out_channels % groups != 0)
    fail<ShapeError>(c.op, "groups must divide the channels, got {} groups, {} channels, {} filters", groups,
                     in_channels, out_channels);
  return groups;
}

void need_channels(const RuleContext& c, int64_t channels, const Shape& kernel) {
  const int64_t groups = groups_of(c, channels, kernel[-1]);
  if (kernel[-2] * groups != channels)
    fail<ShapeError>(c.op, "x has {} channels, kernel {} takes {} in each of {} groups", channels, kernel, kernel[-2],
                     groups);
}

Specs conv_rule(const RuleContext& c) {
  need_floats(c);
  const Extents input = spatial_extents(c.op, c.shape(0));
  const Windows windows = windows_of(c.op, c.attributes, window_of_kernel(c.op, c.shape(0), c.shape(1)));
  need_channels(c, c.shape(0)[-1], c.shape(1));
  return {{c.dtype(), with_spatial(c.shape(0)[0], windows.output_extents(input), c.shape(1)[-1])}};
}

void need_output(const RuleContext& c, const Windows& windows, const Extents& input, const Shape& dy) {
  if (windows.output_extents(input) != spatial_extents(c.op, dy))
    fail<ShapeError>(c.op, "the convolution of this input gives {}, got {}",
                     with_spatial(dy[0], windows.output_extents(input), dy[-1]), dy);
}

Specs input_grad_rule(const RuleContext& c) {
  need_floats(c);
  const auto& input = c.attributes.get<Extents>("input");
  const Shape &dy = c.shape(0), &kernel = c.shape(1);
  const Windows windows = windows_of(c.op, c.attributes, window_of_kernel(c.op, dy, kernel));
  if (dy[-1] != kernel[-1])
    fail<ShapeError>(c.op, "{} has {} channels, kernel {} has {} filters", dy, dy[-1], kernel, kernel[-1]);
  need_output(c, windows, input, dy);
  const int64_t channels = kernel[-2] * c.attributes.get<int64_t>("groups");
  groups_of(c, channels, kernel[-1]);
  return {{c.dtype(), with_spatial(dy[0], input, channels)}};
}

Specs kernel_grad_rule(const RuleContext& c) {
  need_floats(c);
  const Shape &x = c.shape(0), &dy = c.shape(1);
  if (x.rank() != dy.rank() || x[0] != dy[0])
    fail<ShapeError>(c.op, "input and gradient need one batch and equal ranks, got {} and {}", x, dy);
  const auto& window = c.attributes.get<Extents>("window");
  need_output(c, windows_of(c.op, c.attributes, window), spatial_extents(c.op, x), dy);
  Extents dims = window;
  dims.insert(dims.end(), {x[-1] / groups_of(c, x[-1], dy[-1]), dy[-1]});
  return {{c.dtype(), Shape(dims)}};
}

// Two flops for each element of y and each element of the kernel that it sees.
Cost product_cost(const RuleContext& c, std::span<const TensorSpec> outputs, const Shape& y, const Shape& kernel) {
  return {2.0 * static_cast<double>(y.elements()) * static_cast<double>(kernel.elements() / kernel[-1]),
          static_cast<double>(c[0].bytes() + c[1].bytes() + outputs[0].bytes())};
}

Attributes geometry(const Attributes& a) {
  return {{"strides", a.get<Extents>("strides")},
          {"dilations", a.get<Extents>("dilations")},
          {"pads", a.get<Extents>("pads")},
          {"groups", a.get<int64_t>("groups")}};
}
Attributes geometry_with(const Attributes& a, AttributeName name, Extents extents) {
  Attributes out = geometry(a);
  out.set(name, std::move(extents));
  return out;
}
Extents spatial(const Tensor& x) { return Extents(x.shape().begin() + 1, x.shape().end() - 1); }
Extents window(const Tensor& kernel) { return Extents(kernel.shape().begin(), kernel.shape().end() - 2); }

// The three are one trilinear form of x, kernel and the gradient of y, each solved for another of them: the gradient of
// one is made of the other two.
Tensor forward(const Attributes& a, const Tensor& x, const Tensor& kernel) {
  return apply(op_named("conv"), {x, kernel}, geometry(a));
}
Tensor by_input(const Attributes& a, const Tensor& dy, const Tensor& kernel, const Tensor& x) {
  return apply(op_named("conv_input_grad"), {dy, kernel}, geometry_with(a, "input", spatial(x)));
}
Tensor by_kernel(const Attributes& a, const Tensor& x, const Tensor& dy, const Tensor& kernel) {
  return apply(op_named("conv_kernel_grad"), {x, dy}, geometry_with(a, "window", window(kernel)));
}

const Op& kConv =
    register_op({.name = "conv",
                 .doc = "Convolution of (batch, spatial…, channels) with a kernel (window…, channels, filters).",
                 .arity = 2,
                 .rule = conv_rule,
                 .gradient = [](G g) -> Gradients {
                   const Tensor x = g.input(0), kernel = g.input(1);
                   Gradients out(2);
                   if (g.wanted(0)) out[0] = by_input(g.attributes(), g.grad(), kernel, x);
                   if (g.wanted(1)) out[1] = by_kernel(g.attributes(), x, g.grad(), kernel);
                   return out;
                 },
                 .cost = [](const RuleContext& c, std::span<const TensorSpec> outputs) -> Cost {
                   return product_cost(c, outputs, outputs[0].shape, c.shape(1));
                 }});

const Op& kInputGrad = register_op({.name = "conv_input_grad",
                                    .doc = "Gradient of conv by its input; a transposed convolution.",
                                    .arity = 2,
                                    .rule = input_grad_rule,
                                    .gradient = [](G g) -> Gradients {
                                      const Tensor dy = g.input(0), kernel = g.input(1), &d = g.grad();
                                      Gradients out(2);
                                      if (g.wanted(0)) out[0] = forward(g.attributes(), d, kernel);
                                      if (g.wanted(1)) out[1] = by_kernel(g.attributes(), d, dy, kernel);
                                      return out;
                                    },
                                    .cost = [](const RuleContext& c, std::span<const TensorSpec> outputs) -> Cost {
                                      return product_cost(c, outputs, c.shape(0), c.shape(1));
                                    }});

const Op& kKernelGrad = register_op({.name = "conv_kernel_grad",
                                     .doc = "Gradient of conv by its kernel.",
                                     .arity = 2,
                                     .rule = kernel_grad_rule,
                                     .gradient = [](G g) -> Gradients {
                                       const Tensor x = g.input(0), dy = g.input(1), &d = g.grad();
                                       Gradients out(2);
                                       if (g.wanted(0)) out[0] = by_input(g.attributes(), dy, d, x);
                                       if (g.wanted(1)) out[1] = forward(g.attributes(), x, d);
                                       return out;
                                     },
                                     .cost = [](const RuleContext& c, std::span<const TensorSpec> outputs) -> Cost {
                                       return product_cost(c, outputs, c.shape(1), outputs[0].shape);
                                     }});

[[maybe_unused]] const bool kConvComposites = register_composites(
    {{"conv_transpose", "Transposed convolution, which enlarges: the gradient of conv by its input."}});

Windows windows_for(const char* op, const Tensor& x, const Tensor& kernel, const Extents& strides,
                    const Extents& dilations) {
  Windows windows{op, window_of_kernel(op, x.shape(), kernel.shape())};
  const size_t axes = spatial_extents(op, x.shape()).size();
  windows.strides = per_axis(op, "strides", strides, axes);
  windows.dilations = per_axis(op, "dilations", dilations, axes);
  return windows;
}

Attributes attributes_of(const Windows& windows, int64_t groups) {
  return {{"strides", windows.strides}, {"dilations", windows.dilations}, {"pads", windows.pads}, {"groups", groups}};
}

}  // namespace

Tensor conv(const Operand& x, const Operand& kernel, const ConvOptions& options) {
  const auto [a, b] = meet("conv", x, kernel);
  Windows windows = windows_for("conv", a, b, options.strides, options.dilations);
  windows.pads = pads_of(windows, spatial(a), options.padding);
  return apply(kConv, {a, b}, attributes_of(windows, options.groups), x.where());
}

Tensor conv_transpose(const Operand& x, const Operand& kernel, const ConvTransposeOptions& options) {
  const auto [a, b] = meet("conv_transpose", x, kernel);
  Windows windows = windows_for("conv_transpose", a, b, options.strides, options.dilations);
  const bool same = options.padding.mode() == "same";
  if (options.padding.mode() == "causal")
    fail<ValueError>("conv_transpose", "padding must be \"valid\", \"same\" or widths");
  const Extents small = spatial(a);
  Extents pads = same ? Extents(2 * small.size(), 0) : pads_of(windows, small, options.padding);
  Extents large(small.size());
  const Extents& more = options.output_padding;
  if (!more.empty() && more.size() != 1 && more.size() != small.size())
    fail<ValueError>("conv_transpose", "output_padding needs 1 or {} numbers, got {}", small.size(), more.size());
  for (size_t i = 0; i < small.size(); ++i) {
    const int64_t stride = windows.strides[i], reach = windows.reach(i);
    if (more.empty()) {
      const int64_t rest = same ? 0 : std::max<int64_t>(reach - stride, 0);
      large[i] = small[i] * stride + rest - pads[2 * i] - pads[2 * i + 1];
    } else {
      const int64_t extra = more[more.size() == 1 ? 0 : i];
      if (extra < 0 || extra >= stride)
        fail<ValueError>("conv_transpose", "output_padding must be in [0, stride), got {} with stride {}", extra,
                         stride);
      const int64_t cut = same ? reach / 2 * 2 : pads[2 * i] + pads[2 * i + 1];
      large[i] = (small[i] - 1) * stride + reach - cut + extra;
    }
    if (large[i] < 0) fail<ShapeError>("conv_transpose", "padding leaves nothing of spatial axis {}", i);
  }
  windows.pads = same ? same_pads(windows, large) : std::move(pads);
  Attributes attributes = attributes_of(windows, options.groups);
  attributes.set("input", large);
  return apply(kInputGrad, {a, b}, std::move(attributes), x.where());
}

}  // namespace isochron
