#include "isochron/nn/conv_modules.h"

#include <fmt/core.h>

#include <cmath>

#include "isochron/base/joined.h"
#include "isochron/ops/conv.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/pool.h"
#include "isochron/ops/shape_ops.h"

namespace isochron::nn {
namespace {

// (batch, channels, rows, columns) <-> (batch, rows, columns, channels)
Tensor channels_last(const char* module, const Tensor& x) {
  if (x.rank() != 4) fail<ShapeError>(module, "takes (batch, channels, rows, columns), got {}", x.shape());
  return transpose(x, {0, 2, 3, 1});
}
Tensor channels_first(const Tensor& x) { return transpose(x, {0, 3, 1, 2}); }

Padding both_sides(const char* module, const Sizes& padding) {
  const Extents& given = padding.values();
  if (given.size() != 1 && given.size() != 2)
    fail<ValueError>(module, "padding needs 1 or 2 numbers, got ({})", joined(given));
  const int64_t rows = given.front(), columns = given.back();
  if (rows < 0 || columns < 0) fail<ValueError>(module, "padding must not be negative, got ({}, {})", rows, columns);
  return Padding({{rows, rows}, {columns, columns}});
}

std::string text(const Extents& sizes) { return fmt::format("({})", joined(sizes)); }

}  // namespace

Conv2d::Conv2d(int64_t in_channels, int64_t out_channels, Sizes kernel_size, Conv2dOptions options)
    : options_(std::move(options)) {
  const Extents window = per_axis("Conv2d", "kernel_size", kernel_size.values(), 2);
  const Extents stride = per_axis("Conv2d", "stride", options_.stride.values(), 2);
  per_axis("Conv2d", "dilation", options_.dilation.values(), 2);
  both_sides("Conv2d", options_.padding);
  const int64_t groups = options_.groups;
  if (in_channels < 1 || out_channels < 1 || groups < 1 || in_channels % groups != 0 || out_channels % groups != 0)
    fail<ValueError>("Conv2d", "groups must divide the channels, got {} in, {} out, {} groups", in_channels,
                     out_channels, groups);
  const double bound = 1 / std::sqrt(static_cast<double>(in_channels / groups * window[0] * window[1]));
  const Initializer uniform = initializers::random_uniform({.minval = -bound, .maxval = bound});
  weight =
      register_parameter("weight", uniform({out_channels, in_channels / groups, window[0], window[1]}, options_.dtype));
  if (options_.bias) bias = register_parameter("bias", uniform({out_channels}, options_.dtype));
  describe(fmt::format("{}, {}, kernel_size={}, stride={}", in_channels, out_channels, text(window), text(stride)));
}

Tensor Conv2d::forward(Tensor x) {
  const Tensor rows = channels_last("Conv2d", x);
  const int64_t channels = weight.shape()[1] * options_.groups;
  if (rows.shape()[-1] != channels)
    fail<ShapeError>("Conv2d", "takes {} channels, got {} in {}", channels, rows.shape()[-1], x.shape());
  if (x.dtype() != weight.dtype())
    fail<DTypeError>("Conv2d", "takes {}, got {}; convert with x.to(…)", weight.dtype(), x.dtype());
  const Tensor y = conv(rows, transpose(weight, {2, 3, 1, 0}),
                        {.strides = options_.stride.values(),
                         .padding = both_sides("Conv2d", options_.padding),
                         .dilations = options_.dilation.values(),
                         .groups = options_.groups});
  return channels_first(bias.defined() ? y + bias : y);
}

MaxPool2d::MaxPool2d(Sizes kernel_size, Pool2dOptions options)
    : window_(std::move(kernel_size)), options_(std::move(options)) {
  describe(fmt::format("kernel_size={}", text(per_axis("MaxPool2d", "kernel_size", window_.values(), 2))));
}
Tensor MaxPool2d::forward(Tensor x) {
  return channels_first(
      max_pool(channels_last("MaxPool2d", x), {.window = window_.values(),
                                               .strides = options_.stride.values(),
                                               .padding = both_sides("MaxPool2d", options_.padding)}));
}

AvgPool2d::AvgPool2d(Sizes kernel_size, AvgPool2dOptions options)
    : window_(std::move(kernel_size)), options_(std::move(options)) {
  describe(fmt::format("kernel_size={}", text(per_axis("AvgPool2d", "kernel_size", window_.values(), 2))));
}
Tensor AvgPool2d::forward(Tensor x) {
  return channels_first(avg_pool(channels_last("AvgPool2d", x), {.window = window_.values(),
                                                                 .strides = options_.stride.values(),
                                                                 .padding = both_sides("AvgPool2d", options_.padding),
                                                                 .count_padding = options_.count_include_pad}));
}

}  // namespace isochron::nn
