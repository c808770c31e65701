// Modules in the manner of PyTorch that move, repeat or drop elements and have no parameters.
//
//   nn::Sequential net{nn::Conv2d(16, 4 * 9, 3, {.padding = 1}), nn::PixelShuffle(3)};    // three times as large
//   nn::Unflatten(1, {64, 7, 7});
//   nn::ZeroPad2d(1);  nn::ZeroPad2d({1, 2, 0, 0});                  // left, right, top, bottom
//   nn::ReflectionPad2d(3);                                          // the image goes on mirrored
//   nn::Upsample(2, {.mode = "bilinear"});
#pragma once

#include "isochron/nn/module.h"
#include "isochron/nn/spatial_layer.h"
#include "isochron/ops/shape_ops.h"

namespace isochron::nn {

struct Identity : Module {
  Tensor forward(Tensor x) override { return x; }
};

// While training, zeroes each element with probability p and scales the others by 1 / (1 - p).
class Dropout : public Module {
 public:
  explicit Dropout(double p = 0.5);  // ValueError unless in [0, 1]
  Tensor forward(Tensor x) override;

 private:
  double p_;
};

// Whole channels of (batch, channels, spatial…) instead of elements.
class ChannelDropout : public Module {
 public:
  Tensor forward(Tensor x) override;

 protected:
  ChannelDropout(const char* kind, size_t axes, double p);

 private:
  const char* kind_;
  size_t axes_;
  double p_;
};
struct Dropout1d : ChannelDropout {
  explicit Dropout1d(double p = 0.5) : ChannelDropout("Dropout1d", 1, p) {}
};
struct Dropout2d : ChannelDropout {
  explicit Dropout2d(double p = 0.5) : ChannelDropout("Dropout2d", 2, p) {}
};
struct Dropout3d : ChannelDropout {
  explicit Dropout3d(double p = 0.5) : ChannelDropout("Dropout3d", 3, p) {}
};

// Axes start_dim to end_dim become one.
class Flatten : public Module {
 public:
  explicit Flatten(int64_t start_dim = 1, int64_t end_dim = -1);
  Tensor forward(Tensor x) override;

 private:
  int64_t start_dim_, end_dim_;
};

// One axis becomes several; one extent may be -1.
class Unflatten : public Module {
 public:
  Unflatten(int64_t dim, std::vector<int64_t> unflattened_size);
  Tensor forward(Tensor x) override;

 private:
  int64_t dim_;
  std::vector<int64_t> size_;
};

// (…, C r^2, H, W) -> (…, C, H r, W r).
class PixelShuffle : public Module {
 public:
  explicit PixelShuffle(int64_t upscale_factor);
  Tensor forward(Tensor x) override;

 private:
  int64_t factor_;
};
// (…, C, H r, W r) -> (…, C r^2, H, W).
class PixelUnshuffle : public Module {
 public:
  explicit PixelUnshuffle(int64_t downscale_factor);
  Tensor forward(Tensor x) override;

 private:
  int64_t factor_;
};

// pad() of all axes, where a border that is as wide as the image ("reflect"), or wider ("circular"), is a ShapeError.
Tensor with_borders(const char* module, const Tensor& x, const Padding::Widths& widths, const PadOptions& options);

// Borders around the last axes: one number for all sides, or two an axis from the last axis on, as in PyTorch.
class BorderModule : public Module {
 public:
  Tensor forward(Tensor x) override;

 protected:
  // ValueError for a negative width, or as many as do not fit. Modes are those of pad().
  BorderModule(const char* kind, size_t axes, const Sizes& padding, PadOptions options);

 private:
  const char* kind_;
  Extents widths_;
  PadOptions options_;
};
#define ISO_BORDER_MODULE(Name, n, ...)                                                                            \
  struct Name##n##d : BorderModule {                                                                               \
    explicit Name##n##d(const Sizes& padding) : BorderModule(#Name #n "d", n, padding, PadOptions{__VA_ARGS__}) {} \
    template <std::integral T>                                                                                     \
    explicit Name##n##d(std::initializer_list<T> sides) : Name##n##d(Sizes(sides)) {}                              \
  };
#define ISO_BORDER_MODULES(n)                                                           \
  ISO_BORDER_MODULE(ZeroPad, n)                                                         \
  ISO_BORDER_MODULE(ReflectionPad, n, .mode = "reflect")                                \
  ISO_BORDER_MODULE(ReplicationPad, n, .mode = "replicate")                             \
  ISO_BORDER_MODULE(CircularPad, n, .mode = "circular")                                 \
  struct ConstantPad##n##d : BorderModule {                                             \
    ConstantPad##n##d(const Sizes& padding, double value)                               \
        : BorderModule("ConstantPad" #n "d", n, padding, PadOptions{.value = value}) {} \
  }
ISO_BORDER_MODULES(1);
ISO_BORDER_MODULES(2);
ISO_BORDER_MODULES(3);
#undef ISO_BORDER_MODULES
#undef ISO_BORDER_MODULE

struct UpsampleOptions {
  std::string mode = "nearest";  // or "linear", "bilinear", "trilinear", without align_corners
};
// (batch, channels, spatial…), each spatial axis so many times as large.
class Upsample : public Module {
 public:
  explicit Upsample(Sizes scale_factor, UpsampleOptions options = {});
  template <std::integral T>
  explicit Upsample(std::initializer_list<T> scale_factor, UpsampleOptions options = {})
      : Upsample(Sizes(scale_factor), std::move(options)) {}
  Tensor forward(Tensor x) override;

 private:
  Sizes factor_;
  bool linear_;
};

}  // namespace isochron::nn
