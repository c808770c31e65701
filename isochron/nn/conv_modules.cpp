#include "isochron/nn/conv_modules.h"

#include <fmt/core.h>

#include <cmath>
#include <numeric>

#include "isochron/base/joined.h"
#include "isochron/base/names.h"
#include "isochron/nn/channels_last.h"
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

// What ConvModule and ConvTransposeModule check and start alike; `shared` are the channels that each group has for
// itself in the weight's second axis.
struct Start {
  Extents window;
  Initializer uniform;
};
template <class Options>
Start checked_start(const char* module, size_t axes, int64_t in, int64_t out, const Sizes& kernel_size, int64_t shared,
                    const Options& options) {
  Start start;
  start.window = per_axis(module, "kernel_size", kernel_size.values(), axes);
  per_axis(module, "stride", options.stride.values(), axes);
  per_axis(module, "dilation", options.dilation.values(), axes);
  if (in < 1 || out < 1 || options.groups < 1 || in % options.groups != 0 || out % options.groups != 0)
    fail<ValueError>(module, "groups must divide the channels, got {} in, {} out, {} groups", in, out, options.groups);
  int64_t fan = shared / options.groups;
  for (const int64_t size : start.window) fan *= size;
  const double bound = 1 / std::sqrt(static_cast<double>(fan));
  start.uniform = initializers::random_uniform({.minval = -bound, .maxval = bound});
  return start;
}

Shape weight_shape(int64_t first, int64_t second, const Extents& window) {
  std::vector<int64_t> dims{first, second};
  dims.insert(dims.end(), window.begin(), window.end());
  return Shape(dims);
}

// (a, b, window…) -> (window…, b, a), as the ops have it.
Tensor kernel_of(const Variable& weight) {
  std::vector<int64_t> order(static_cast<size_t>(weight.rank()));
  std::iota(order.begin(), order.end(), 2);
  order[order.size() - 2] = 1;
  order[order.size() - 1] = 0;
  return transpose(weight, order);
}

void check_input(const char* module, const Tensor& x, const Tensor& rows, int64_t channels, DType dtype) {
  if (rows.shape()[-1] != channels)
    fail<ShapeError>(module, "takes {} channels, got {} in {}", channels, rows.shape()[-1], x.shape());
  if (x.dtype() != dtype) fail<DTypeError>(module, "takes {}, got {}; convert with x.to(…)", dtype, x.dtype());
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

ConvModule::ConvModule(const char* kind, size_t axes, int64_t in_channels, int64_t out_channels,
                       const Sizes& kernel_size, ConvModuleOptions options)
    : kind_(kind), channels_(in_channels), padding_(options.padding.of(kind, axes)), options_(std::move(options)) {
  const Start start = checked_start(kind, axes, in_channels, out_channels, kernel_size, in_channels, options_);
  const Extents stride = per_axis(kind, "stride", options_.stride.values(), axes);
  if (options_.padding.is_same() && std::any_of(stride.begin(), stride.end(), [](int64_t s) { return s > 1; }))
    fail<ValueError>(kind, "padding \"same\" goes with stride 1, got {}; give the padding in numbers", text(stride));
  weight = register_parameter(
      "weight", start.uniform(weight_shape(out_channels, in_channels / options_.groups, start.window), options_.dtype));
  if (options_.bias) bias = register_parameter("bias", start.uniform({out_channels}, options_.dtype));
  describe(
      fmt::format("{}, {}, kernel_size={}, stride={}", in_channels, out_channels, text(start.window), text(stride)));
}

Tensor ConvModule::forward(Tensor x) {
  const auto axes = static_cast<size_t>(weight.rank() - 2);
  return with_channels_last(kind_, axes, x, [&](const Tensor& rows) {
    check_input(kind_, x, rows, channels_, weight.dtype());
    const Tensor y = conv(rows, kernel_of(weight),
                          {.strides = options_.stride.values(),
                           .padding = padding_,
                           .dilations = options_.dilation.values(),
                           .groups = options_.groups});
    return bias.defined() ? y + bias : y;
  });
}

ConvTransposeModule::ConvTransposeModule(const char* kind, size_t axes, int64_t in_channels, int64_t out_channels,
                                         const Sizes& kernel_size, ConvTransposeModuleOptions options)
    : kind_(kind), padding_(options.padding.of(kind, axes)), options_(std::move(options)) {
  const Start start = checked_start(kind, axes, in_channels, out_channels, kernel_size, out_channels, options_);
  if (!padding_.is_explicit()) fail<ValueError>(kind, "padding must be given in numbers, got \"{}\"", padding_.mode());
  const Extents stride = per_axis(kind, "stride", options_.stride.values(), axes);
  const Extents more = widths_per_axis(kind, "output_padding", options_.output_padding, axes);
  for (size_t i = 0; i < axes; ++i)
    if (more[i] >= stride[i])
      fail<ValueError>(kind, "output_padding must be below the stride, got {} with stride {}", text(more),
                       text(stride));
  weight = register_parameter(
      "weight", start.uniform(weight_shape(in_channels, out_channels / options_.groups, start.window), options_.dtype));
  if (options_.bias) bias = register_parameter("bias", start.uniform({out_channels}, options_.dtype));
  describe(
      fmt::format("{}, {}, kernel_size={}, stride={}", in_channels, out_channels, text(start.window), text(stride)));
}

Tensor ConvTransposeModule::forward(Tensor x) {
  const auto axes = static_cast<size_t>(weight.rank() - 2);
  return with_channels_last(kind_, axes, x, [&](const Tensor& rows) {
    check_input(kind_, x, rows, weight.shape()[0], weight.dtype());
    const Tensor y = conv_transpose(rows, kernel_of(weight),
                                    {.strides = options_.stride.values(),
                                     .padding = padding_,
                                     .output_padding = options_.output_padding.values(),
                                     .dilations = options_.dilation.values(),
                                     .groups = options_.groups});
    return bias.defined() ? y + bias : y;
  });
}

}  // namespace isochron::nn
