// Layers that prepare images, (batch, rows, columns, channels) or one of (rows, columns, channels): in a model, or
// called before it.
//
//   Sequential augment{RandomFlip("horizontal"), RandomRotation(0.1), RandomZoom(0.2), RandomBrightness(0.2)};
//   Sequential model{Input({180, 160, 3}), Resizing(128, 128), augment, Rescaling(1. / 255), Conv2D(32, 3), …};
//
// The random ones change images while training only, each image in its own way; numbers are drawn inside the plan, with
// a `seed` from a sequence of the layer's own, otherwise following set_seed().
// Results are float32 unless the input is floating. Names, arguments and defaults are Keras'.
#pragma once

#include <optional>

#include "isochron/nn/noise.h"

namespace isochron {

struct ResizingOptions {
  std::string interpolation = "bilinear";  // or "nearest", "bicubic", "lanczos3", "lanczos5" (resize_images.h)
  bool crop_to_aspect_ratio = false;       // cuts the middle out first rather than to distort
  bool pad_to_aspect_ratio = false;        // or puts fill_value around it
  double fill_value = 0;
  std::string name = {};
};
ISO_OPTIONS(ResizingOptions, interpolation, crop_to_aspect_ratio, pad_to_aspect_ratio, fill_value, name)

// A layer of images, of which one alone, (rows, columns, channels), may come as well as a batch: it is taken as a batch
// of one.
class ImageLayer : public Layer {
 public:
  // ShapeError for another rank.
  Tensor call(const Tensor& x, const CallContext& context) final;

 protected:
  // images is (batch, rows, columns, channels), floating.
  virtual Tensor call_images(const Tensor& images, const CallContext& context) = 0;
};

class Resizing : public ImageLayer {
 public:
  // ValueError unless sizes are positive, the interpolation is known, and one of crop and pad is asked for at most.
  Resizing(int64_t height, int64_t width, ResizingOptions options = {});
  ISO_LAYER(Resizing)
  ISO_ARGUMENTS(height_, width_, options_)

 private:
  Tensor call_images(const Tensor& images, const CallContext& context) override;
  int64_t height_, width_;
  ResizingOptions options_;
};

// The middle of each image; one that is too small is resized to cover it first.
class CenterCrop : public ImageLayer {
 public:
  CenterCrop(int64_t height, int64_t width, LayerOptions options = {});
  ISO_LAYER(CenterCrop)
  ISO_ARGUMENTS(height_, width_)

 private:
  Tensor call_images(const Tensor& images, const CallContext& context) override;
  int64_t height_, width_;
};

// `0.2`: from -0.2 to 0.2. `{-0.3, 0.1}`: from the first to the second.
class FactorRange {
 public:
  FactorRange(double both) : low(-both), high(both) {}
  FactorRange(double from, double to) : low(from), high(to) {}
  double low, high;
};

struct RandomImageOptions {
  std::string fill_mode = "reflect";  // or "constant", "nearest": what lies outside the image
  double fill_value = 0;
  std::optional<uint64_t> seed = {};
  std::string name = {};
};
ISO_OPTIONS(RandomImageOptions, fill_mode, fill_value, seed, name)

// A layer that draws random numbers while training.
class RandomImageLayer : public ImageLayer {
 public:
  std::vector<Variable> state() const override { return key_.state(); }

 protected:
  RandomImageLayer(std::optional<uint64_t> seed, std::string name) : key_(seed) { set_name(std::move(name)); }
  // In [low, high).
  Tensor drawn(const Shape& shape, double low, double high) const;
  // One number for each image, to be broadcast over it.
  Tensor one_each(const Tensor& images, double low, double high) const;

 private:
  NoiseKey key_;
};

class RandomFlip : public RandomImageLayer {
 public:
  explicit RandomFlip(const std::string& mode = "horizontal_and_vertical", NoiseOptions options = {});
  ISO_LAYER(RandomFlip)
  ISO_ARGUMENTS(mode_, options_)

 private:
  Tensor call_images(const Tensor& images, const CallContext& context) override;
  std::string mode_;
  NoiseOptions options_;
};

// While training a part at a random place, the same for the batch; otherwise the middle.
class RandomCrop : public RandomImageLayer {
 public:
  RandomCrop(int64_t height, int64_t width, NoiseOptions options = {});
  ISO_LAYER(RandomCrop)
  ISO_ARGUMENTS(height_, width_, options_)

 private:
  Tensor call_images(const Tensor& images, const CallContext& context) override;
  int64_t height_, width_;
  NoiseOptions options_;
};

// Differences from the mean of each channel, times a number in [1 - factor, 1 + factor], or of a pair of factors
// {lower, upper} in [1 - lower, 1 + upper]; clipped to the range.
struct RandomContrastOptions {
  std::pair<double, double> value_range = {0, 255};
  std::optional<uint64_t> seed = {};
  std::string name = {};
};
ISO_OPTIONS(RandomContrastOptions, value_range, seed, name)
class RandomContrast : public RandomImageLayer {
 public:
  // ValueError unless the factors are in [0, 1].
  explicit RandomContrast(double factor, RandomContrastOptions options = {})
      : RandomContrast({factor, factor}, std::move(options)) {}
  explicit RandomContrast(std::pair<double, double> factor, RandomContrastOptions options = {});
  ISO_LAYER(RandomContrast)
  ISO_ARGUMENTS(factor_, options_)

 private:
  Tensor call_images(const Tensor& images, const CallContext& context) override;
  std::pair<double, double> factor_;
  RandomContrastOptions options_;
};

// A number in the range of factors, times the width of value_range, added to all of an image; clipped to value_range.
using RandomBrightnessOptions = RandomContrastOptions;
class RandomBrightness : public RandomImageLayer {
 public:
  // ValueError unless the factors are in [-1, 1].
  explicit RandomBrightness(FactorRange factor, RandomBrightnessOptions options = {});
  ISO_LAYER(RandomBrightness)
  ISO_ARGUMENTS(factor_, options_)

 private:
  Tensor call_images(const Tensor& images, const CallContext& context) override;
  FactorRange factor_;
  RandomBrightnessOptions options_;
};

// Rotated, moved and scaled images have one way of being made: for each of them the place in the original from which a
// pixel comes.
class RandomAffine : public RandomImageLayer {
 protected:
  RandomAffine(const char* class_name, RandomImageOptions options);
  Tensor call_images(const Tensor& images, const CallContext& context) final;
  // (batch, 6) as affine_transform() takes them.
  virtual Tensor transforms(int64_t batch, int64_t rows, int64_t columns) const = 0;
  // (batch, 1)
  Tensor factors(int64_t batch, const FactorRange& range) const { return drawn({batch, 1}, range.low, range.high); }
  RandomImageOptions options_;
};

// By a fraction of a full turn.
class RandomRotation : public RandomAffine {
 public:
  explicit RandomRotation(FactorRange factor, RandomImageOptions options = {});
  ISO_LAYER(RandomRotation)
  ISO_ARGUMENTS(factor_, options_)

 protected:
  Tensor transforms(int64_t batch, int64_t rows, int64_t columns) const override;

 private:
  FactorRange factor_;
};

// By fractions of height and width; positive moves down and right.
class RandomTranslation : public RandomAffine {
 public:
  RandomTranslation(FactorRange height_factor, FactorRange width_factor, RandomImageOptions options = {});
  ISO_LAYER(RandomTranslation)
  ISO_ARGUMENTS(height_factor_, width_factor_, options_)

 protected:
  Tensor transforms(int64_t batch, int64_t rows, int64_t columns) const override;

 private:
  FactorRange height_factor_, width_factor_;
};

// By fractions; negative ones enlarge. With one range both axes get the same.
class RandomZoom : public RandomAffine {
 public:
  explicit RandomZoom(FactorRange factor, RandomImageOptions options = {});
  // Said apart, so that {-0.2, 0.2} is no pair of factors for height and width.
  explicit RandomZoom(const double (&factor)[2], RandomImageOptions options = {})
      : RandomZoom(FactorRange(factor[0], factor[1]), std::move(options)) {}
  RandomZoom(FactorRange height_factor, FactorRange width_factor, RandomImageOptions options = {});
  ISO_LAYER(RandomZoom)
  ISO_ARGUMENTS(height_factor_, width_factor_, options_)
  static RandomZoom from_arguments(FactorRange height, std::optional<FactorRange> width, RandomImageOptions options) {
    return width ? RandomZoom(height, *width, std::move(options)) : RandomZoom(height, std::move(options));
  }

 protected:
  Tensor transforms(int64_t batch, int64_t rows, int64_t columns) const override;

 private:
  FactorRange height_factor_;
  std::optional<FactorRange> width_factor_;  // none: that of the height
};

// Pixel (x, y) of a result comes from (a0 x + a1 y + a2, b0 x + b1 y + b2) of its image, between pixels linearly;
// transforms (batch, 6) hold a0 a1 a2 b0 b1 b2.
Tensor affine_transform(const Tensor& images, const Tensor& transforms, const RandomImageOptions& options = {});

}  // namespace isochron
