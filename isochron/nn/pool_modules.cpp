#include "isochron/nn/pool_modules.h"

#include <fmt/core.h>

#include "isochron/base/joined.h"
#include "isochron/nn/channels_last.h"
#include "isochron/ops/pool.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"

namespace isochron::nn {
namespace {

std::string listed(const Extents& sizes) { return fmt::format("({})", joined(sizes)); }

}  // namespace

PoolModule::PoolModule(const char* kind, size_t axes, const Sizes& kernel_size, const AvgPoolOptions& options,
                       bool mean)
    : kind_(kind),
      window_(per_axis(kind, "kernel_size", kernel_size.values(), axes)),
      stride_(options.stride.values().empty() ? window_ : per_axis(kind, "stride", options.stride.values(), axes)),
      padding_(options.padding.values()),
      ceil_mode_(options.ceil_mode),
      count_padding_(options.count_include_pad),
      mean_(mean) {
  if (padding_.size() == 1) padding_.resize(axes, padding_[0]);
  if (padding_.size() != axes) fail<ValueError>(kind, "padding needs 1 or {} numbers, got {}", axes, listed(padding_));
  for (size_t i = 0; i < axes; ++i)
    if (padding_[i] < 0 || padding_[i] > window_[i] / 2)
      fail<ValueError>(kind, "padding must be between 0 and half of the window, got {} for a window of {}",
                       listed(padding_), listed(window_));
  describe(fmt::format("kernel_size={}, stride={}, padding={}", listed(window_), listed(stride_), listed(padding_)));
}
PoolModule::PoolModule(const char* kind, size_t axes, const Sizes& kernel_size, const MaxPoolOptions& o)
    : PoolModule(kind, axes, kernel_size, {o.stride, o.padding, o.ceil_mode, false}, false) {}
PoolModule::PoolModule(const char* kind, size_t axes, const Sizes& kernel_size, const AvgPoolOptions& options)
    : PoolModule(kind, axes, kernel_size, options, true) {}

Tensor PoolModule::forward(Tensor x) {
  return with_channels_last(kind_, window_.size(), x, [&](Tensor rows) {
    Padding::Widths sides;
    bool reaches_over = false;
    for (size_t i = 0; i < window_.size(); ++i) {
      int64_t after = padding_[i];
      if (ceil_mode_) {
        // One more window, if it starts before what follows the input begins.
        const int64_t input = rows.shape()[static_cast<int>(i) + 1], rest = input + 2 * padding_[i] - window_[i];
        const int64_t last = (std::max<int64_t>(rest, 0) + stride_[i] - 1) / stride_[i] * stride_[i];
        if (last < input + padding_[i]) after += std::max<int64_t>(last - rest, 0);
      }
      reaches_over |= after > padding_[i];
      sides.emplace_back(padding_[i], after);
    }
    if (!mean_) return max_pool(rows, {.window = window_, .strides = stride_, .padding = Padding(sides)});
    if (reaches_over && count_padding_) {
      // Zeros of the padding count, what a window reaches over does not.
      Padding::Widths zeros{{0, 0}};
      for (size_t i = 0; i < sides.size(); ++i) {
        zeros.emplace_back(padding_[i], padding_[i]);
        sides[i] = {0, sides[i].second - padding_[i]};
      }
      zeros.emplace_back(0, 0);
      rows = pad(rows, zeros);
    }
    return avg_pool(rows, {.window = window_,
                           .strides = stride_,
                           .padding = Padding(sides),
                           .count_padding = count_padding_ && !reaches_over});
  });
}

AdaptivePoolModule::AdaptivePoolModule(const char* kind, size_t axes, const Sizes& output_size, bool mean)
    : kind_(kind), size_(output_size.values()), mean_(mean) {
  if (size_.size() == 1) size_.resize(axes, size_[0]);
  if (size_.size() != axes) fail<ValueError>(kind, "output_size needs 1 or {} numbers, got {}", axes, listed(size_));
  for (const int64_t size : size_)
    if (size < 1 && size != -1)
      fail<ValueError>(kind, "output_size must be positive, or -1 for the input's, got {}", listed(size_));
  describe(fmt::format("output_size={}", listed(size_)));
}

Tensor AdaptivePoolModule::forward(Tensor x) {
  return with_channels_last(kind_, size_.size(), x, [&](Tensor rows) {
    Extents window, size = size_;
    bool even = true;
    for (size_t i = 0; i < size.size(); ++i) {
      const int64_t input = rows.shape()[static_cast<int>(i) + 1];
      if (input < 1) fail<ShapeError>(kind_, "needs at least one element along every axis, got {}", x.shape());
      if (size[i] == -1) size[i] = input;
      even &= input % size[i] == 0;
      window.push_back(input / size[i]);
    }
    if (even) return mean_ ? avg_pool(rows, {.window = window}) : max_pool(rows, {.window = window});
    // Windows are products of one range an axis, so one axis is done after the other.
    for (size_t i = 0; i < size.size(); ++i) {
      const int axis = static_cast<int>(i) + 1;
      const int64_t input = rows.shape()[axis];
      std::vector<Tensor> parts;
      for (int64_t at = 0; at < size[i]; ++at) {
        std::vector<int64_t> from(static_cast<size_t>(rows.rank()), 0), to = rows.shape().to_vector();
        from[i + 1] = at * input / size[i];
        to[i + 1] = ((at + 1) * input + size[i] - 1) / size[i];
        const Tensor part = slice(rows, from, to);
        parts.push_back(mean_ ? mean(part, {axis}, true) : max(part, {axis}, true));
      }
      rows = concat(parts, axis);
    }
    return rows;
  });
}

}  // namespace isochron::nn
