// Pooling modules in the manner of PyTorch: input (batch, channels, spatial…), or (channels, spatial…) of one example.
//
//   nn::MaxPool2d(3, {.stride = 2, .padding = 1});         // or nn::MaxPool2d(3, 2, 1)
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

// With the stride second and the padding third, as PyTorch has them, or by name in options.
#define ISO_POOL_MODULE(Name, n, Options)                                                                \
  struct Name##n##d : PoolModule {                                                                       \
    explicit Name##n##d(Sizes kernel_size, Options options = {})                                         \
        : PoolModule(#Name #n "d", n, kernel_size, options) {}                                           \
    ISO_LIST_CONSTRUCTOR(Name##n##d, Sizes, Options)                                                     \
    template <std::integral T>                                                                           \
    Name##n##d(Sizes kernel_size, T stride, Sizes padding = 0)                                           \
        : Name##n##d(kernel_size, Options{.stride = stride, .padding = padding}) {}                      \
    template <std::integral T>                                                                           \
    Name##n##d(Sizes kernel_size, std::initializer_list<T> stride, Sizes padding = 0)                    \
        : Name##n##d(kernel_size, Options{.stride = Sizes(stride), .padding = padding}) {}               \
    template <std::integral T, std::integral S>                                                          \
    Name##n##d(std::initializer_list<T> kernel_size, std::initializer_list<S> stride, Sizes padding = 0) \
        : Name##n##d(Sizes(kernel_size), stride, padding) {}                                             \
  };
#define ISO_ADAPTIVE_POOL_MODULE(Name, n, mean)                                                        \
  struct Name##n##d : AdaptivePoolModule {                                                             \
    explicit Name##n##d(Sizes output_size) : AdaptivePoolModule(#Name #n "d", n, output_size, mean) {} \
    template <std::integral T>                                                                         \
    explicit Name##n##d(std::initializer_list<T> output_size) : Name##n##d(Sizes(output_size)) {}      \
  };
#define ISO_POOL_MODULES(n)                          \
  ISO_POOL_MODULE(MaxPool, n, MaxPoolOptions)        \
  ISO_POOL_MODULE(AvgPool, n, AvgPoolOptions)        \
  ISO_ADAPTIVE_POOL_MODULE(AdaptiveAvgPool, n, true) \
  ISO_ADAPTIVE_POOL_MODULE(AdaptiveMaxPool, n, false)
ISO_POOL_MODULES(1)
ISO_POOL_MODULES(2)
ISO_POOL_MODULES(3)
#undef ISO_POOL_MODULES
#undef ISO_ADAPTIVE_POOL_MODULE
#undef ISO_POOL_MODULE

}  // namespace isochron::nn
