// Pooling modules in the manner of PyTorch: input (batch, channels, spatial…), or (channels, spatial…) of one example.
//
//   nn::MaxPool2d(3, {.stride = 2, .padding = 1});
//   nn::AvgPool1d(2, {.count_include_pad = false});
//   nn::AdaptiveAvgPool2d(1);                              // the mean of each channel, however large the image
//   nn::AdaptiveMaxPool2d({5, -1});                        // -1: as many as the input has
#pragma once

#include "isochron/nn/module.h"
#include "isochron/nn/spatial_layer.h"

namespace isochron::nn {

struct MaxPoolOptions {
  Sizes stride = {};       // none: the window
  Sizes padding = 0;       // on both sides, at most half of the window; never the maximum
  bool ceil_mode = false;  // a last window may reach over the end
};
using Pool2dOptions = MaxPoolOptions;
struct AvgPoolOptions {
  Sizes stride = {};
  Sizes padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;  // zeros of the padding count in the mean
};
using AvgPool2dOptions = AvgPoolOptions;

class PoolModule : public Module {
 public:
  Tensor forward(Tensor x) override;

 protected:
  // ValueError unless window and strides are positive and the padding is at most half of the window.
  PoolModule(const char* kind, size_t axes, const Sizes& kernel_size, const MaxPoolOptions& options);
  PoolModule(const char* kind, size_t axes, const Sizes& kernel_size, const AvgPoolOptions& options);

 private:
  PoolModule(const char* kind, size_t axes, const Sizes& kernel_size, const AvgPoolOptions& options, bool mean);
  const char* kind_;
  Extents window_, stride_, padding_;
  bool ceil_mode_, count_padding_, mean_;
};

// Windows as even as can be that give an output of this size: window i covers the elements from floor(i n / size) up to
// ceil((i + 1) n / size).
class AdaptivePoolModule : public Module {
 public:
  Tensor forward(Tensor x) override;

 protected:
  // ValueError unless sizes are positive, or -1 for the input's.
  AdaptivePoolModule(const char* kind, size_t axes, const Sizes& output_size, bool mean);

 private:
  const char* kind_;
  Extents size_;
  bool mean_;
};

#define ISO_POOL_MODULES(n)                                                      \
  struct MaxPool##n##d : PoolModule {                                            \
    explicit MaxPool##n##d(Sizes kernel_size, MaxPoolOptions options = {})       \
        : PoolModule("MaxPool" #n "d", n, kernel_size, options) {}               \
  };                                                                             \
  struct AvgPool##n##d : PoolModule {                                            \
    explicit AvgPool##n##d(Sizes kernel_size, AvgPoolOptions options = {})       \
        : PoolModule("AvgPool" #n "d", n, kernel_size, options) {}               \
  };                                                                             \
  struct AdaptiveAvgPool##n##d : AdaptivePoolModule {                            \
    explicit AdaptiveAvgPool##n##d(Sizes output_size)                            \
        : AdaptivePoolModule("AdaptiveAvgPool" #n "d", n, output_size, true) {}  \
  };                                                                             \
  struct AdaptiveMaxPool##n##d : AdaptivePoolModule {                            \
    explicit AdaptiveMaxPool##n##d(Sizes output_size)                            \
        : AdaptivePoolModule("AdaptiveMaxPool" #n "d", n, output_size, false) {} \
  }
ISO_POOL_MODULES(1);
ISO_POOL_MODULES(2);
ISO_POOL_MODULES(3);
#undef ISO_POOL_MODULES

}  // namespace isochron::nn
