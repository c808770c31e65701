#include "isochron/nn/image_layers.h"

#include <cmath>
#include <numbers>

#include "isochron/base/names.h"
#include "isochron/nn/resize_images.h"
#include "isochron/ops/ops.h"

namespace isochron {
namespace {

void check_sizes(const char* what, int64_t height, int64_t width) {
  if (height < 1 || width < 1)
    fail<ValueError>(what, "height and width must be at least 1, got {} and {}", height, width);
}

Tensor as_floating(const Tensor& x) { return is_floating(x.dtype()) ? x : cast(x, DType::float32); }

Tensor cut(const Tensor& x, int64_t top, int64_t left, int64_t height, int64_t width) {
  return slice(x, {0, top, left}, {kEnd, top + height, left + width});
}

// The largest middle part with the sides of height : width.
Tensor cropped_to_ratio(const Tensor& x, int64_t height, int64_t width) {
  const int64_t rows = x.shape()[1], columns = x.shape()[2];
  const int64_t crop_rows = std::min(rows, std::max<int64_t>(1, columns * height / width));
  const int64_t crop_columns = std::min(columns, std::max<int64_t>(1, rows * width / height));
  return cut(x, (rows - crop_rows) / 2, (columns - crop_columns) / 2, crop_rows, crop_columns);
}

// As much around x as brings it to height : width, evenly on two sides: an odd row or column is left out, as in Keras.
Tensor padded_to_ratio(const Tensor& x, int64_t height, int64_t width, double value) {
  const int64_t rows = x.shape()[1], columns = x.shape()[2];
  const int64_t more_rows = std::max<int64_t>(0, columns * height / width - rows);
  const int64_t more_columns = std::max<int64_t>(0, rows * width / height - columns);
  const auto halves = [](int64_t n) { return std::pair{n / 2, n / 2}; };
  return pad(x, {{0, 0}, halves(more_rows), halves(more_columns), {0, 0}}, value);
}

Tensor middle(const Tensor& x, int64_t height, int64_t width) {
  const int64_t rows = x.shape()[1], columns = x.shape()[2];
  if (rows < height || columns < width)
    return resize_images(cropped_to_ratio(x, height, width), height, width, "bilinear");
  return cut(x, (rows - height) / 2, (columns - width) / 2, height, width);
}

// Where a pixel outside is read, by the mode; whole numbers as floats.
Tensor inside(const Tensor& at, int64_t extent, const std::string& mode) {
  const auto n = static_cast<double>(extent);
  if (mode == "reflect") {
    const Tensor phase = mod(at, 2 * n);
    return minimum(phase, 2 * n - 1 - phase);
  }
  return clip(at, 0, n - 1);
}

}  // namespace

Tensor affine_transform(const Tensor& images, const Tensor& given, const RandomImageOptions& options) {
  if (images.rank() != 4)
    fail<ShapeError>("affine_transform", "takes images (batch, rows, columns, channels), got shape {}", images.shape());
  const Tensor x = as_floating(images);
  const int64_t batch = x.shape()[0], rows = x.shape()[1], columns = x.shape()[2], channels = x.shape()[3];
  if (given.shape() != Shape({batch, 6}))
    fail<ShapeError>("affine_transform", "needs 6 numbers for each of {} images, got shape {}", batch, given.shape());
  const Tensor transforms = cast(given, DType::float32);
  const auto coefficient = [&](int64_t i) { return reshape(slice(transforms, {0, i}, {kEnd, i + 1}), {batch, 1, 1}); };
  const Tensor column = reshape(cast(arange(columns), DType::float32), {1, 1, columns});
  const Tensor row = reshape(cast(arange(rows), DType::float32), {1, rows, 1});
  const Tensor from_x = coefficient(0) * column + coefficient(1) * row + coefficient(2);
  const Tensor from_y = coefficient(3) * column + coefficient(4) * row + coefficient(5);
  const Tensor left = floor(from_x), top = floor(from_y);
  const Tensor part_x = from_x - left, part_y = from_y - top;
  const Tensor pixels = reshape(x, {batch * rows * columns, channels});
  const Tensor first = reshape(arange(batch), {batch, 1, 1}) * (rows * columns);
  const auto corner = [&](int64_t down, int64_t right) {
    const Tensor at_y = top + static_cast<double>(down), at_x = left + static_cast<double>(right);
    const Tensor y = cast(inside(at_y, rows, options.fill_mode), DType::int64);
    const Tensor c = cast(inside(at_x, columns, options.fill_mode), DType::int64);
    const Tensor value = gather(pixels, first + y * columns + c);
    const Tensor weight = expand_dims((down ? part_y : 1 - part_y) * (right ? part_x : 1 - part_x), -1);
    if (options.fill_mode != "constant") return cast(value, DType::float32) * weight;
    const Tensor in_image = expand_dims(logical_and(logical_and(at_y >= 0, at_y <= static_cast<double>(rows - 1)),
                                                    logical_and(at_x >= 0, at_x <= static_cast<double>(columns - 1))),
                                        -1);
    return where(in_image, cast(value, DType::float32), options.fill_value) * weight;
  };
  return cast(corner(0, 0) + corner(0, 1) + corner(1, 0) + corner(1, 1), x.dtype());
}

Tensor ImageLayer::call(const Tensor& x, const CallContext& context) {
  if (x.rank() == 3) return squeeze(call_images(expand_dims(as_floating(x), 0), context), {0});
  if (x.rank() == 4) return call_images(as_floating(x), context);
  fail<ShapeError>(class_name(), "takes images (batch, rows, columns, channels) or one of them, got shape {}",
                   x.shape());
}

Resizing::Resizing(int64_t height, int64_t width, ResizingOptions options)
    : height_(height), width_(width), options_(std::move(options)) {
  check_sizes("Resizing", height, width);
  check_interpolation("Resizing", options_.interpolation);
  if (options_.crop_to_aspect_ratio && options_.pad_to_aspect_ratio)
    fail<ValueError>("Resizing", "crop_to_aspect_ratio and pad_to_aspect_ratio exclude each other: choose one");
  set_name(options_.name);
}
Tensor Resizing::call_images(const Tensor& images, const CallContext&) {
  const Tensor x = options_.crop_to_aspect_ratio  ? cropped_to_ratio(images, height_, width_)
                   : options_.pad_to_aspect_ratio ? padded_to_ratio(images, height_, width_, options_.fill_value)
                                                  : images;
  return resize_images(x, height_, width_, options_.interpolation);
}

CenterCrop::CenterCrop(int64_t height, int64_t width, LayerOptions options) : height_(height), width_(width) {
  check_sizes("CenterCrop", height, width);
  set_name(std::move(options.name));
}
Tensor CenterCrop::call_images(const Tensor& images, const CallContext&) { return middle(images, height_, width_); }

Tensor RandomImageLayer::drawn(const Shape& shape, double low, double high) const {
  return random_uniform(shape, low, high, {.key = key_.next()});
}
Tensor RandomImageLayer::one_each(const Tensor& images, double low, double high) const {
  return cast(drawn({images.shape()[0], 1, 1, 1}, low, high), images.dtype());
}

RandomFlip::RandomFlip(const std::string& mode, NoiseOptions options)
    : RandomImageLayer(options.seed, options.name), mode_(mode), options_(std::move(options)) {
  if (mode != "horizontal" && mode != "vertical" && mode != "horizontal_and_vertical")
    fail<ValueError>("RandomFlip", "unknown mode \"{}\"{}", mode,
                     did_you_mean(mode, {"horizontal", "vertical", "horizontal_and_vertical"}));
}
Tensor RandomFlip::call_images(const Tensor& images, const CallContext& context) {
  Tensor y = images;
  if (!context.training) return y;
  if (mode_ != "vertical") y = where(one_each(y, 0, 1) < 0.5, flip(y, {2}), y);
  if (mode_ != "horizontal") y = where(one_each(y, 0, 1) < 0.5, flip(y, {1}), y);
  return y;
}

RandomCrop::RandomCrop(int64_t height, int64_t width, NoiseOptions options)
    : RandomImageLayer(options.seed, options.name), height_(height), width_(width), options_(std::move(options)) {
  check_sizes("RandomCrop", height, width);
}
Tensor RandomCrop::call_images(const Tensor& images, const CallContext& context) {
  const int64_t rows = images.shape()[1], columns = images.shape()[2];
  if (!context.training || rows < height_ || columns < width_) return middle(images, height_, width_);
  const auto first = [&](int64_t spare) { return cast(drawn({1}, 0, static_cast<double>(spare + 1)), DType::int64); };
  const Tensor top = first(rows - height_), left = first(columns - width_);
  return gather(gather(images, top + arange(height_), 1), left + arange(width_), 2);
}

RandomContrast::RandomContrast(std::pair<double, double> factor, RandomContrastOptions options)
    : RandomImageLayer(options.seed, options.name), factor_(factor), options_(std::move(options)) {
  for (const double one : {factor.first, factor.second})
    if (!(one >= 0 && one <= 1)) fail<ValueError>("RandomContrast", "factor must be in [0, 1], got {}", one);
}
Tensor RandomContrast::call_images(const Tensor& images, const CallContext& context) {
  if (!context.training) return images;
  const Tensor average = mean(images, {1, 2}, true);
  return clip((images - average) * one_each(images, 1 - factor_.first, 1 + factor_.second) + average,
              options_.value_range.first, options_.value_range.second);
}

RandomBrightness::RandomBrightness(FactorRange factor, RandomBrightnessOptions options)
    : RandomImageLayer(options.seed, options.name),
      factor_(std::min(factor.low, factor.high), std::max(factor.low, factor.high)),
      options_(std::move(options)) {
  auto& [low, high] = options_.value_range;
  if (low > high) std::swap(low, high);
  if (!(factor_.low >= -1 && factor_.high <= 1))
    fail<ValueError>("RandomBrightness", "factor must be in [-1, 1], got {} to {}", factor.low, factor.high);
}
Tensor RandomBrightness::call_images(const Tensor& images, const CallContext& context) {
  if (!context.training) return images;
  const auto& [low, high] = options_.value_range;
  return clip(images + one_each(images, factor_.low, factor_.high) * (high - low), low, high);
}

RandomAffine::RandomAffine(const char* class_name, RandomImageOptions options)
    : RandomImageLayer(options.seed, options.name), options_(std::move(options)) {
  const std::vector<std::string_view> modes{"reflect", "constant", "nearest"};
  if (std::find(modes.begin(), modes.end(), options_.fill_mode) == modes.end())
    fail<ValueError>(class_name, "unknown fill_mode \"{}\"{}", options_.fill_mode,
                     did_you_mean(options_.fill_mode, modes));
}
Tensor RandomAffine::call_images(const Tensor& images, const CallContext& context) {
  if (!context.training) return images;
  return affine_transform(images, transforms(images.shape()[0], images.shape()[1], images.shape()[2]), options_);
}

RandomRotation::RandomRotation(FactorRange factor, RandomImageOptions options)
    : RandomAffine("RandomRotation", std::move(options)), factor_(factor) {}
Tensor RandomRotation::transforms(int64_t batch, int64_t rows, int64_t columns) const {
  const Tensor angle = factors(batch, factor_) * (2 * std::numbers::pi);
  const Tensor c = cos(angle), s = sin(angle);
  const double x = static_cast<double>(columns - 1) / 2, y = static_cast<double>(rows - 1) / 2;
  return concat({c, -s, x - (c * x - s * y), s, c, y - (s * x + c * y)}, 1);
}

RandomTranslation::RandomTranslation(FactorRange height_factor, FactorRange width_factor, RandomImageOptions options)
    : RandomAffine("RandomTranslation", std::move(options)),
      height_factor_(height_factor),
      width_factor_(width_factor) {}
Tensor RandomTranslation::transforms(int64_t batch, int64_t rows, int64_t columns) const {
  const Tensor one = ones({batch, 1}), zero = zeros({batch, 1});
  return concat({one, zero, factors(batch, width_factor_) * static_cast<double>(-columns), zero, one,
                 factors(batch, height_factor_) * static_cast<double>(-rows)},
                1);
}

RandomZoom::RandomZoom(FactorRange factor, RandomImageOptions options)
    : RandomAffine("RandomZoom", std::move(options)), height_factor_(factor) {}
RandomZoom::RandomZoom(FactorRange height_factor, FactorRange width_factor, RandomImageOptions options)
    : RandomAffine("RandomZoom", std::move(options)), height_factor_(height_factor), width_factor_(width_factor) {}
Tensor RandomZoom::transforms(int64_t batch, int64_t rows, int64_t columns) const {
  const Tensor zoom_y = 1 + factors(batch, height_factor_);
  const Tensor zoom_x = width_factor_ ? 1 + factors(batch, *width_factor_) : zoom_y;
  const double x = static_cast<double>(columns - 1) / 2, y = static_cast<double>(rows - 1) / 2;
  const Tensor zero = zeros({batch, 1});
  return concat({zoom_x, zero, (1 - zoom_x) * x, zero, zoom_y, (1 - zoom_y) * y}, 1);
}

}  // namespace isochron
