// Convolution and pooling modules in the manner of PyTorch: input (batch, channels, rows, columns).
//
//   nn::Sequential net{nn::Conv2d(1, 32, 3), nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(), nn::Linear(5408, 10)};
//   nn::Conv2d(32, 64, {3, 5}, {.stride = 2, .padding = {1, 2}, .groups = 4, .bias = false});
#pragma once

#include "isochron/nn/module.h"
#include "isochron/nn/spatial_layer.h"

namespace isochron::nn {

struct Conv2dOptions {
  Sizes stride = 1;
  Sizes padding = 0;  // on both sides of each axis
  Sizes dilation = 1;
  int64_t groups = 1;
  bool bias = true;
  DType dtype = DType::float32;
};

// Weight (out, in / groups, rows, columns) and bias (out), both uniform within 1 / sqrt(in / groups * rows * columns).
class Conv2d : public Module {
 public:
  // ValueError unless counts and sizes are positive and groups divide the channels.
  Conv2d(int64_t in_channels, int64_t out_channels, Sizes kernel_size, Conv2dOptions options = {});
  // ShapeError, DTypeError when x does not fit.
  Tensor forward(Tensor x) override;

  Variable weight, bias;  // bias is undefined without one

 private:
  Conv2dOptions options_;
};

struct Pool2dOptions {
  Sizes stride = {};  // none: the window
  Sizes padding = 0;
};
class MaxPool2d : public Module {
 public:
  explicit MaxPool2d(Sizes kernel_size, Pool2dOptions options = {});
  Tensor forward(Tensor x) override;

 private:
  Sizes window_;
  Pool2dOptions options_;
};

struct AvgPool2dOptions {
  Sizes stride = {};
  Sizes padding = 0;
  bool count_include_pad = true;
};
class AvgPool2d : public Module {
 public:
  explicit AvgPool2d(Sizes kernel_size, AvgPool2dOptions options = {});
  Tensor forward(Tensor x) override;

 private:
  Sizes window_;
  AvgPool2dOptions options_;
};

}  // namespace isochron::nn
