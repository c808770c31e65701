// Convolutional layers, with Keras' names, arguments and defaults.
//
//   Sequential model{Conv2D(32, 3, {.padding = "same", .activation = "relu"}), MaxPooling2D(), Flatten(), Dense(10)};
//   Conv1D(64, 5, {.padding = "causal", .dilation_rate = 4});
//   DepthwiseConv2D({3, 3}, {.strides = 2, .depth_multiplier = 2});
//   Conv2DTranspose(16, 3, {.strides = 2, .padding = "same"});
//
// Input is (batch, spatial…, channels), kernels are (window…, channels / groups, filters). Sizes are one number for all
// spatial axes, or one for each; padding is "valid", "same", for Conv1D "causal", or pairs of widths {{1, 1}, {0, 2}}.
#pragma once

#include "isochron/nn/activations.h"
#include "isochron/nn/spatial_layer.h"

namespace isochron {

struct ConvLayerOptions {
  Sizes strides = 1;
  Padding padding = "valid";
  std::string data_format = "channels_last";
  Sizes dilation_rate = 1;
  int64_t groups = 1;
  ActivationFunction activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};  // of what the layer gives
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  DType dtype = DType::float32;
  std::string dtype_policy = {};  // see Layer::set_dtype_policy(); empty: as the model says
  std::string name = {};
};
ISO_OPTIONS(ConvLayerOptions, strides, padding, data_format, dilation_rate, groups, activation, use_bias,
            kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
            kernel_constraint, bias_constraint, dtype, dtype_policy, name)

// Weights: kernel (window…, channels / groups, filters), bias (filters).
class Conv : public SpatialLayer {
 public:
  ISO_ARGUMENTS(filters_, kernel_size_, options_)
  void build(const Shape& input) override;
  Variable kernel() const { return kernel_; }
  Variable bias() const { return bias_; }

 protected:
  // ValueError unless filters, sizes, strides and groups are positive and groups divide the filters.
  Conv(std::string class_name, size_t axes, int64_t filters, const Sizes& kernel_size, ConvLayerOptions options);
  Tensor call_channels_last(const Tensor& x) override;

 private:
  int64_t filters_;
  ConvLayerOptions options_;
  Extents kernel_size_;
  Variable kernel_, bias_;
};

struct Conv1D : Conv {
  ISO_LAYER(Conv1D)
  Conv1D(int64_t filters, Sizes kernel_size, ConvLayerOptions options = {})
      : Conv("Conv1D", 1, filters, kernel_size, std::move(options)) {}
};
struct Conv2D : Conv {
  ISO_LAYER(Conv2D)
  Conv2D(int64_t filters, Sizes kernel_size, ConvLayerOptions options = {})
      : Conv("Conv2D", 2, filters, kernel_size, std::move(options)) {}
};
struct Conv3D : Conv {
  ISO_LAYER(Conv3D)
  Conv3D(int64_t filters, Sizes kernel_size, ConvLayerOptions options = {})
      : Conv("Conv3D", 3, filters, kernel_size, std::move(options)) {}
};

struct ConvTransposeLayerOptions {
  Sizes strides = 1;
  Padding padding = "valid";
  Sizes output_padding = {};
  std::string data_format = "channels_last";
  Sizes dilation_rate = 1;
  ActivationFunction activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};  // of what the layer gives
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  DType dtype = DType::float32;
  std::string dtype_policy = {};  // see Layer::set_dtype_policy(); empty: as the model says
  std::string name = {};
};
ISO_OPTIONS(ConvTransposeLayerOptions, strides, padding, output_padding, data_format, dilation_rate, activation,
            use_bias, kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
            kernel_constraint, bias_constraint, dtype, dtype_policy, name)

// Weights: kernel (window…, filters, channels), bias (filters).
class ConvTranspose : public SpatialLayer {
 public:
  ISO_ARGUMENTS(filters_, kernel_size_, options_)
  void build(const Shape& input) override;
  Variable kernel() const { return kernel_; }
  Variable bias() const { return bias_; }

 protected:
  ConvTranspose(std::string class_name, size_t axes, int64_t filters, const Sizes& kernel_size,
                ConvTransposeLayerOptions options);
  Tensor call_channels_last(const Tensor& x) override;

 private:
  int64_t filters_;
  ConvTransposeLayerOptions options_;
  Extents kernel_size_;
  Variable kernel_, bias_;
};

struct Conv1DTranspose : ConvTranspose {
  ISO_LAYER(Conv1DTranspose)
  Conv1DTranspose(int64_t filters, Sizes kernel_size, ConvTransposeLayerOptions options = {})
      : ConvTranspose("Conv1DTranspose", 1, filters, kernel_size, std::move(options)) {}
};
struct Conv2DTranspose : ConvTranspose {
  ISO_LAYER(Conv2DTranspose)
  Conv2DTranspose(int64_t filters, Sizes kernel_size, ConvTransposeLayerOptions options = {})
      : ConvTranspose("Conv2DTranspose", 2, filters, kernel_size, std::move(options)) {}
};
struct Conv3DTranspose : ConvTranspose {
  ISO_LAYER(Conv3DTranspose)
  Conv3DTranspose(int64_t filters, Sizes kernel_size, ConvTransposeLayerOptions options = {})
      : ConvTranspose("Conv3DTranspose", 3, filters, kernel_size, std::move(options)) {}
};

struct DepthwiseConvOptions {
  Sizes strides = 1;
  Padding padding = "valid";
  int64_t depth_multiplier = 1;  // filters for each channel
  std::string data_format = "channels_last";
  Sizes dilation_rate = 1;
  ActivationFunction activation = {};
  bool use_bias = true;
  Initializer depthwise_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer depthwise_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};  // of what the layer gives
  Constraint depthwise_constraint = {};
  Constraint bias_constraint = {};
  DType dtype = DType::float32;
  std::string dtype_policy = {};  // see Layer::set_dtype_policy(); empty: as the model says
  std::string name = {};
};
ISO_OPTIONS(DepthwiseConvOptions, strides, padding, depth_multiplier, data_format, dilation_rate, activation, use_bias,
            depthwise_initializer, bias_initializer, depthwise_regularizer, bias_regularizer, activity_regularizer,
            depthwise_constraint, bias_constraint, dtype, dtype_policy, name)

// Weights: kernel (window…, channels, depth_multiplier), bias (channels * depth_multiplier).
class DepthwiseConv : public SpatialLayer {
 public:
  ISO_ARGUMENTS(kernel_size_, options_)
  void build(const Shape& input) override;
  Variable kernel() const { return kernel_; }
  Variable bias() const { return bias_; }

 protected:
  DepthwiseConv(std::string class_name, size_t axes, const Sizes& kernel_size, DepthwiseConvOptions options);
  Tensor call_channels_last(const Tensor& x) override;

 private:
  DepthwiseConvOptions options_;
  Extents kernel_size_;
  Variable kernel_, bias_;
};

struct DepthwiseConv1D : DepthwiseConv {
  ISO_LAYER(DepthwiseConv1D)
  explicit DepthwiseConv1D(Sizes kernel_size, DepthwiseConvOptions options = {})
      : DepthwiseConv("DepthwiseConv1D", 1, kernel_size, std::move(options)) {}
  ISO_LIST_CONSTRUCTOR(DepthwiseConv1D, Sizes, DepthwiseConvOptions)
};
struct DepthwiseConv2D : DepthwiseConv {
  ISO_LAYER(DepthwiseConv2D)
  explicit DepthwiseConv2D(Sizes kernel_size, DepthwiseConvOptions options = {})
      : DepthwiseConv("DepthwiseConv2D", 2, kernel_size, std::move(options)) {}
  ISO_LIST_CONSTRUCTOR(DepthwiseConv2D, Sizes, DepthwiseConvOptions)
};

struct SeparableConvOptions {
  Sizes strides = 1;
  Padding padding = "valid";
  std::string data_format = "channels_last";
  Sizes dilation_rate = 1;
  int64_t depth_multiplier = 1;
  ActivationFunction activation = {};
  bool use_bias = true;
  Initializer depthwise_initializer = "glorot_uniform";
  Initializer pointwise_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer depthwise_regularizer = {};
  Regularizer pointwise_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};  // of what the layer gives
  Constraint depthwise_constraint = {};
  Constraint pointwise_constraint = {};
  Constraint bias_constraint = {};
  DType dtype = DType::float32;
  std::string dtype_policy = {};  // see Layer::set_dtype_policy(); empty: as the model says
  std::string name = {};
};
ISO_OPTIONS(SeparableConvOptions, strides, padding, data_format, dilation_rate, depth_multiplier, activation, use_bias,
            depthwise_initializer, pointwise_initializer, bias_initializer, depthwise_regularizer,
            pointwise_regularizer, bias_regularizer, activity_regularizer, depthwise_constraint, pointwise_constraint,
            bias_constraint, dtype, dtype_policy, name)

// A depthwise convolution and one over channels alone. Weights: depthwise_kernel (window…, channels, depth_multiplier),
// pointwise_kernel (1…, channels * depth_multiplier, filters), bias (filters).
class SeparableConv : public SpatialLayer {
 public:
  ISO_ARGUMENTS(filters_, kernel_size_, options_)
  void build(const Shape& input) override;
  Variable depthwise_kernel() const { return depthwise_; }
  Variable pointwise_kernel() const { return pointwise_; }
  Variable bias() const { return bias_; }

 protected:
  SeparableConv(std::string class_name, size_t axes, int64_t filters, const Sizes& kernel_size,
                SeparableConvOptions options);
  Tensor call_channels_last(const Tensor& x) override;

 private:
  int64_t filters_;
  SeparableConvOptions options_;
  Extents kernel_size_;
  Variable depthwise_, pointwise_, bias_;
};

struct SeparableConv1D : SeparableConv {
  ISO_LAYER(SeparableConv1D)
  SeparableConv1D(int64_t filters, Sizes kernel_size, SeparableConvOptions options = {})
      : SeparableConv("SeparableConv1D", 1, filters, kernel_size, std::move(options)) {}
};
struct SeparableConv2D : SeparableConv {
  ISO_LAYER(SeparableConv2D)
  SeparableConv2D(int64_t filters, Sizes kernel_size, SeparableConvOptions options = {})
      : SeparableConv("SeparableConv2D", 2, filters, kernel_size, std::move(options)) {}
};

}  // namespace isochron
