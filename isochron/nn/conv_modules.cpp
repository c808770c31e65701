#include "isochron/nn/conv_modules.h"

#include <fmt/core.h>

#include <cmath>
#include <numeric>

#include "isochron/base/joined.h"
#include "isochron/base/names.h"
#include "isochron/nn/channels_last.h"
#include "isochron/nn/shape_modules.h"
#include "isochron/ops/conv.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/shape_ops.h"

namespace isochron::nn {
namespace {

constexpr const char* kAxisNames[] = {"length", "rows, columns", "depth, rows, columns"};

std::string text(const Extents& sizes) { return fmt::format("({})", joined(sizes)); }

// As per_axis(), for what may be zero.
Extents widths_per_axis(const char* module, const char* what, const Sizes& given, size_t axes) {
  const Extents& all = given.values();
  for (const int64_t width : all)
    if (width < 0) fail<ValueError>(module, "{} must not be negative, got {}", what, text(all));
  if (all.size() != 1 && all.size() != axes)
    fail<ValueError>(module, "{} needs 1 or {} numbers, got {}", what, axes, text(all));
  return all.size() == 1 ? Extents(axes, all[0]) : all;
}

// (a, b, window…) -> (window…, b, a), as the ops have it.
Tensor kernel_of(const Variable& weight) {
  std::vector<int64_t> order(static_cast<size_t>(weight.rank()));
  std::iota(order.begin(), order.end(), 2);
  order[order.size() - 2] = 1;
  order[order.size() - 1] = 0;
  return transpose(weight, order);
}

}  // namespace

Tensor as_batch(const char* module, size_t axes, const Tensor& x) {
  const auto rank = static_cast<size_t>(x.rank());
  if (rank == axes + 1) return expand_dims(x, 0);
  if (rank != axes + 2)
    fail<ShapeError>(module, "takes (batch, channels, {0}) or (channels, {0}), got {1}", kAxisNames[axes - 1],
                     x.shape());
  return x;
}
Tensor channels_last(const Tensor& x) {
  std::vector<int64_t> order(static_cast<size_t>(x.rank()));
  std::iota(order.begin() + 1, order.end() - 1, 2);
  order.back() = 1;
  return transpose(x, order);
}
Tensor channels_first(const Tensor& x) {
  std::vector<int64_t> order(static_cast<size_t>(x.rank()));
  order[1] = x.rank() - 1;
  std::iota(order.begin() + 2, order.end(), 1);
  return transpose(x, order);
}

Padding SidePadding::of(const char* module, size_t axes) const {
  if (!mode_.empty()) {
    if (mode_ != "same" && mode_ != "valid")
      fail<ValueError>(module, "unknown padding \"{}\"{}", mode_, did_you_mean(mode_, {"same", "valid"}));
    return Padding(mode_);
  }
  Padding::Widths widths;
  for (const int64_t width : widths_per_axis(module, "padding", widths_, axes)) widths.emplace_back(width, width);
  return Padding(std::move(widths));
}

template <class Options>
Extents WindowModule::start(int64_t in, int64_t out, bool transposed, const Sizes& kernel_size,
                            const Options& options) {
  const Extents window = per_axis(kind_, "kernel_size", kernel_size.values(), axes_);
  const Extents stride = per_axis(kind_, "stride", options.stride.values(), axes_);
  per_axis(kind_, "dilation", options.dilation.values(), axes_);
  if (in < 1 || out < 1 || options.groups < 1 || in % options.groups != 0 || out % options.groups != 0)
    fail<ValueError>(kind_, "groups must divide the channels, got {} in, {} out, {} groups", in, out, options.groups);
  std::vector<int64_t> shape{transposed ? in : out, (transposed ? out : in) / options.groups};
  shape.insert(shape.end(), window.begin(), window.end());
  const double bound = 1 / std::sqrt(static_cast<double>(Shape(shape).elements() / shape[0]));
  const Initializer uniform = initializers::random_uniform({.minval = -bound, .maxval = bound});
  weight = register_parameter("weight", uniform(Shape(shape), options.dtype));
  if (options.bias) bias = register_parameter("bias", uniform({out}, options.dtype));
  describe(fmt::format("{}, {}, kernel_size={}, stride={}", in, out, text(window), text(stride)));
  return stride;
}

template <class F>
Tensor WindowModule::convolved(const Tensor& x, int64_t channels, F f) const {
  return with_channels_last(kind_, axes_, x, [&](const Tensor& rows) {
    if (rows.shape()[-1] != channels)
      fail<ShapeError>(kind_, "takes {} channels, got {} in {}", channels, rows.shape()[-1], x.shape());
    if (x.dtype() != weight.dtype())
      fail<DTypeError>(kind_, "takes {}, got {}; convert with x.to(…)", weight.dtype(), x.dtype());
    const Tensor y = f(rows, kernel_of(weight));
    return bias.defined() ? y + bias : y;
  });
}

ConvModule::ConvModule(const char* kind, size_t axes, int64_t in_channels, int64_t out_channels,
                       const Sizes& kernel_size, ConvModuleOptions options)
    : WindowModule(kind, axes, options.padding), channels_(in_channels), options_(std::move(options)) {
  const Extents stride = start(in_channels, out_channels, false, kernel_size, options_);
  if (options_.padding.is_same() && std::any_of(stride.begin(), stride.end(), [](int64_t s) { return s > 1; }))
    fail<ValueError>(kind, "padding \"same\" goes with stride 1, got {}; give the padding in numbers", text(stride));
  const std::string& mode = options_.padding_mode;
  if (mode == "zeros") return;
  const std::vector<std::string_view> modes{"zeros", "reflect", "replicate", "circular"};
  if (std::find(modes.begin(), modes.end(), mode) == modes.end())
    fail<ValueError>(kind, "unknown padding_mode \"{}\"{}", mode, did_you_mean(mode, modes));
  borders_ = padding_.is_explicit() ? padding_.widths() : Padding::Widths(axes, {0, 0});
  if (options_.padding.is_same()) {
    const Extents dilation = per_axis(kind, "dilation", options_.dilation.values(), axes);
    for (size_t i = 0; i < axes; ++i) {
      const int64_t all = dilation[i] * (weight.shape()[static_cast<int>(i) + 2] - 1);
      borders_[i] = {all / 2, all - all / 2};
    }
  }
  padding_ = Padding("valid");
}

Tensor ConvModule::bordered(const Tensor& rows) const {
  if (borders_.empty()) return rows;
  Padding::Widths all{{0, 0}};
  all.insert(all.end(), borders_.begin(), borders_.end());
  all.emplace_back(0, 0);
  return with_borders(kind_, rows, all, {.mode = options_.padding_mode});
}

Tensor ConvModule::forward(Tensor x) {
  return convolved(x, channels_, [&](const Tensor& rows, const Tensor& kernel) {
    return conv(bordered(rows), kernel,
                {.strides = options_.stride.values(),
                 .padding = padding_,
                 .dilations = options_.dilation.values(),
                 .groups = options_.groups});
  });
}

ConvTransposeModule::ConvTransposeModule(const char* kind, size_t axes, int64_t in_channels, int64_t out_channels,
                                         const Sizes& kernel_size, ConvTransposeModuleOptions options)
    : WindowModule(kind, axes, options.padding), options_(std::move(options)) {
  const Extents stride = start(in_channels, out_channels, true, kernel_size, options_);
  if (!padding_.is_explicit()) fail<ValueError>(kind, "padding must be given in numbers, got \"{}\"", padding_.mode());
  const Extents more = widths_per_axis(kind, "output_padding", options_.output_padding, axes);
  for (size_t i = 0; i < axes; ++i)
    if (more[i] >= stride[i])
      fail<ValueError>(kind, "output_padding must be below the stride, got {} with stride {}", text(more),
                       text(stride));
}

Tensor ConvTransposeModule::forward(Tensor x) {
  return convolved(x, weight.shape()[0], [&](const Tensor& rows, const Tensor& kernel) {
    return conv_transpose(rows, kernel,
                          {.strides = options_.stride.values(),
                           .padding = padding_,
                           .output_padding = options_.output_padding.values(),
                           .dilations = options_.dilation.values(),
                           .groups = options_.groups});
  });
}

}  // namespace isochron::nn
