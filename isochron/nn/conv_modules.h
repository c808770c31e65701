// Convolution modules in the manner of PyTorch: input (batch, channels, spatial…), or (channels, spatial…) of a single
// example.
//
//   nn::Sequential net{nn::Conv2d(1, 32, 3), nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(), nn::Linear(5408, 10)};
//   nn::Conv2d(32, 64, {3, 5}, {.stride = 2, .padding = {1, 2}, .groups = 4, .bias = false});
//   nn::Conv1d(8, 8, 3, {.padding = "same", .padding_mode = "circular"});
//   nn::ConvTranspose2d(64, 32, 4, {.stride = 2, .padding = 1});           // twice as large
#pragma once

#include "isochron/nn/module.h"
#include "isochron/nn/spatial_layer.h"

namespace isochron::nn {

// On both sides of each spatial axis: `1`, `{1, 2}`, or by name, "valid" or "same".
class SidePadding {
 public:
  template <class T>
  requires std::is_integral_v<T> SidePadding(T width) : widths_(width) {}
  SidePadding(std::initializer_list<int64_t> widths) : widths_(widths) {}
  SidePadding(const char* mode) : mode_(mode) {}
  // ValueError, naming the module, for negative widths, or as many as do not fit the axes.
  Padding of(const char* module, size_t axes) const;
  bool is_same() const { return mode_ == "same"; }

 private:
  Sizes widths_;
  std::string mode_;
};

struct ConvModuleOptions {
  Sizes stride = 1;
  SidePadding padding = 0;
  Sizes dilation = 1;
  int64_t groups = 1;
  bool bias = true;
  std::string padding_mode = "zeros";  // or "reflect", "replicate", "circular"
  DType dtype = DType::float32;
};
using Conv2dOptions = ConvModuleOptions;

// What convolutions and their transposes have in common: weight (a, b / groups, window…) and bias (out), both uniform
// within 1 / sqrt(b / groups * window).
class WindowModule : public Module {
 public:
  Variable weight, bias;  // bias is undefined without one

 protected:
  WindowModule(const char* kind, size_t axes, const SidePadding& padding)
      : kind_(kind), axes_(axes), padding_(padding.of(kind, axes)) {}
  // ValueError unless counts and sizes are positive and groups divide the channels. Transposed, a are the channels that
  // come in and b those that go out. Gives the strides of all axes.
  template <class Options>
  Extents start(int64_t in_channels, int64_t out_channels, bool transposed, const Sizes& kernel_size,
                const Options& options);
  // f(x with channels last, kernel as the ops have it) and the bias. ShapeError, DTypeError when x does not fit.
  template <class F>
  Tensor convolved(const Tensor& x, int64_t channels, F f) const;

  const char* kind_;
  size_t axes_;
  Padding padding_;
};

// Weight (out, in / groups, window…).
class ConvModule : public WindowModule {
 public:
  Tensor forward(Tensor x) override;

 protected:
  // ValueError for padding "same" with strides, and for an unknown padding_mode.
  ConvModule(const char* kind, size_t axes, int64_t in_channels, int64_t out_channels, const Sizes& kernel_size,
             ConvModuleOptions options);

 private:
  Tensor bordered(const Tensor& rows) const;

  int64_t channels_;
  ConvModuleOptions options_;
  Padding::Widths borders_;  // what another padding_mode than "zeros" puts around, by axis
};

struct ConvTransposeModuleOptions {
  Sizes stride = 1;
  SidePadding padding = 0;   // so much less on both sides of the result
  Sizes output_padding = 0;  // so much more at its end
  int64_t groups = 1;
  bool bias = true;
  Sizes dilation = 1;
  DType dtype = DType::float32;
};

// Weight (in, out / groups, window…).
class ConvTransposeModule : public WindowModule {
 public:
  Tensor forward(Tensor x) override;

 protected:
  ConvTransposeModule(const char* kind, size_t axes, int64_t in_channels, int64_t out_channels,
                      const Sizes& kernel_size, ConvTransposeModuleOptions options);

 private:
  ConvTransposeModuleOptions options_;
};

#define ISO_CONV_MODULE(Class, Base, Options, axes)                                           \
  struct Class : Base {                                                                       \
    Class(int64_t in_channels, int64_t out_channels, Sizes kernel_size, Options options = {}) \
        : Base(#Class, axes, in_channels, out_channels, kernel_size, std::move(options)) {}   \
  }
ISO_CONV_MODULE(Conv1d, ConvModule, ConvModuleOptions, 1);
ISO_CONV_MODULE(Conv2d, ConvModule, ConvModuleOptions, 2);
ISO_CONV_MODULE(Conv3d, ConvModule, ConvModuleOptions, 3);
ISO_CONV_MODULE(ConvTranspose1d, ConvTransposeModule, ConvTransposeModuleOptions, 1);
ISO_CONV_MODULE(ConvTranspose2d, ConvTransposeModule, ConvTransposeModuleOptions, 2);
ISO_CONV_MODULE(ConvTranspose3d, ConvTransposeModule, ConvTransposeModuleOptions, 3);
#undef ISO_CONV_MODULE

}  // namespace isochron::nn
