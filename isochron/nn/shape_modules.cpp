#include "isochron/nn/shape_modules.h"

#include "isochron/base/joined.h"
#include "isochron/base/names.h"
#include "isochron/nn/channels_last.h"
#include "isochron/nn/dropout.h"
#include "isochron/nn/resize_layers.h"
#include "isochron/ops/shape_ops.h"

namespace isochron::nn {
namespace {

void check_probability(const char* module, double p) {
  if (!(p >= 0 && p <= 1)) fail<ValueError>(module, "p must be in [0, 1], got {}", p);
}

void check_images(const char* module, const Tensor& x) {
  if (x.rank() < 3) fail<ShapeError>(module, "takes (…, channels, rows, columns), got {}", x.shape());
}

// Shapes in front of the last three axes stay as they are.
std::vector<int64_t> in_front(const Tensor& x, std::initializer_list<int64_t> last) {
  std::vector<int64_t> dims(x.shape().begin(), x.shape().end() - 3);
  dims.insert(dims.end(), last);
  return dims;
}

// Axes in front of the last five stay; `order` is of those.
Tensor permute_last(const Tensor& x, std::initializer_list<int64_t> order) {
  std::vector<int64_t> all;
  const auto front = x.rank() - static_cast<int64_t>(order.size());
  for (int64_t axis = 0; axis < front; ++axis) all.push_back(axis);
  for (const int64_t axis : order) all.push_back(front + axis);
  return transpose(x, all);
}

}  // namespace

Dropout::Dropout(double p) : p_(p) {
  check_probability("Dropout", p);
  describe(fmt::format("p={}", p));
}
Tensor Dropout::forward(Tensor x) { return isochron::Dropout(p_).call(x, {.training = is_training()}); }

ChannelDropout::ChannelDropout(const char* kind, size_t axes, double p) : kind_(kind), axes_(axes), p_(p) {
  check_probability(kind, p);
  describe(fmt::format("p={}", p));
}
Tensor ChannelDropout::forward(Tensor x) {
  const Tensor batch = as_batch(kind_, axes_, x);
  std::vector<int64_t> noise(static_cast<size_t>(batch.rank()), 1);
  noise[0] = noise[1] = -1;
  return reshape(isochron::Dropout(p_, {.noise_shape = noise}).call(batch, {.training = is_training()}),
                 x.shape().to_vector());
}

Flatten::Flatten(int64_t start_dim, int64_t end_dim) : start_dim_(start_dim), end_dim_(end_dim) {
  describe(fmt::format("start_dim={}, end_dim={}", start_dim, end_dim));
}
Tensor Flatten::forward(Tensor x) { return flatten(x, start_dim_, end_dim_); }

Unflatten::Unflatten(int64_t dim, std::vector<int64_t> unflattened_size)
    : dim_(dim), size_(std::move(unflattened_size)) {
  if (size_.empty()) fail<ValueError>("Unflatten", "needs at least one extent for axis {}", dim);
  describe(fmt::format("dim={}, unflattened_size=({})", dim, joined(size_)));
}
Tensor Unflatten::forward(Tensor x) {
  const int axis = normalize_axis("Unflatten", dim_, x.rank());
  int64_t known = 1, open = 0;
  for (const int64_t extent : size_) extent == -1 ? ++open : known *= extent;
  const int64_t given = x.shape()[axis];
  if (known < 1 || open > 1 || (open ? given % known != 0 : given != known))
    fail<ShapeError>("Unflatten", "axis {} of {} does not divide into ({})", dim_, x.shape(), joined(size_));
  std::vector<int64_t> dims = x.shape().to_vector();
  dims.erase(dims.begin() + axis);
  for (size_t i = 0; i < size_.size(); ++i)
    dims.insert(dims.begin() + axis + static_cast<int64_t>(i), size_[i] == -1 ? given / known : size_[i]);
  return reshape(x, dims);
}

PixelShuffle::PixelShuffle(int64_t upscale_factor) : factor_(upscale_factor) {
  if (upscale_factor < 1) fail<ValueError>("PixelShuffle", "upscale_factor must be positive, got {}", upscale_factor);
  describe(fmt::format("upscale_factor={}", upscale_factor));
}
Tensor PixelShuffle::forward(Tensor x) {
  check_images("PixelShuffle", x);
  const int64_t r = factor_, c = x.shape()[-3], h = x.shape()[-2], w = x.shape()[-1];
  if (c % (r * r) != 0)
    fail<ShapeError>("PixelShuffle", "channels must be a multiple of {}, got {} in {}", r * r, c, x.shape());
  const Tensor parts = reshape(x, in_front(x, {c / (r * r), r, r, h, w}));
  return reshape(permute_last(parts, {0, 3, 1, 4, 2}), in_front(x, {c / (r * r), h * r, w * r}));
}

PixelUnshuffle::PixelUnshuffle(int64_t downscale_factor) : factor_(downscale_factor) {
  if (downscale_factor < 1)
    fail<ValueError>("PixelUnshuffle", "downscale_factor must be positive, got {}", downscale_factor);
  describe(fmt::format("downscale_factor={}", downscale_factor));
}
Tensor PixelUnshuffle::forward(Tensor x) {
  check_images("PixelUnshuffle", x);
  const int64_t r = factor_, c = x.shape()[-3], h = x.shape()[-2], w = x.shape()[-1];
  if (h % r != 0 || w % r != 0)
    fail<ShapeError>("PixelUnshuffle", "rows and columns must be multiples of {}, got {}", r, x.shape());
  const Tensor parts = reshape(x, in_front(x, {c, h / r, r, w / r, r}));
  return reshape(permute_last(parts, {0, 2, 4, 1, 3}), in_front(x, {c * r * r, h / r, w / r}));
}

BorderModule::BorderModule(const char* kind, size_t axes, const Sizes& padding, PadOptions options)
    : kind_(kind), widths_(padding.values()), options_(std::move(options)) {
  if (widths_.size() == 1) widths_.resize(2 * axes, widths_[0]);
  if (widths_.size() != 2 * axes)
    fail<ValueError>(kind, "padding needs 1 or {} numbers, got ({})", 2 * axes, joined(widths_));
  for (const int64_t width : widths_)
    if (width < 0) fail<ValueError>(kind, "padding must not be negative, got ({})", joined(widths_));
  describe(fmt::format("({})", joined(widths_)));
}
Tensor BorderModule::forward(Tensor x) {
  const size_t axes = widths_.size() / 2, rank = static_cast<size_t>(x.rank());
  if (rank < axes + 1) fail<ShapeError>(kind_, "needs at least {} axes, got {}", axes + 1, x.shape());
  Padding::Widths all(rank, {0, 0});
  for (size_t i = 0; i < axes; ++i) all[rank - 1 - i] = {widths_[2 * i], widths_[2 * i + 1]};
  return with_borders(kind_, x, all, options_);
}

Tensor with_borders(const char* module, const Tensor& x, const Padding::Widths& widths, const PadOptions& options) {
  const bool reflect = options.mode == "reflect";
  for (size_t axis = 0; axis < widths.size(); ++axis) {
    const auto [before, after] = widths[axis];
    const int64_t extent = x.shape()[static_cast<int>(axis)], widest = std::max(before, after);
    if (widest > 0 && ((reflect && widest >= extent) || (options.mode == "circular" && widest > extent)))
      fail<ShapeError>(module, "borders must be {} than the image, got {} and {} for axis {} of {}",
                       reflect ? "narrower" : "no wider", before, after, axis, x.shape());
  }
  return pad(x, widths, options);
}

Upsample::Upsample(Sizes scale_factor, UpsampleOptions options)
    : factor_(std::move(scale_factor)), linear_(options.mode != "nearest") {
  if (linear_ && options.mode != "linear" && options.mode != "bilinear" && options.mode != "trilinear")
    fail<ValueError>("Upsample", "unknown mode \"{}\"{}", options.mode,
                     did_you_mean(options.mode, {"nearest", "linear", "bilinear", "trilinear"}));
  describe(fmt::format("scale_factor=({}), mode={}", joined(factor_.values()), options.mode));
}
Tensor Upsample::forward(Tensor x) {
  if (x.rank() < 3 || x.rank() > 5)
    fail<ShapeError>("Upsample", "takes (batch, channels, …) with one to three spatial axes, got {}", x.shape());
  const auto axes = static_cast<size_t>(x.rank() - 2);
  return with_channels_last("Upsample", axes, x, [&](const Tensor& rows) {
    return enlarged(rows, per_axis("Upsample", "scale_factor", factor_.values(), axes), linear_);
  });
}

}  // namespace isochron::nn
