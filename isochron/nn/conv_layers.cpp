#include "isochron/nn/conv_layers.h"

#include "isochron/ops/conv.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {
namespace {

void need_filters(const std::string& layer, int64_t filters) {
  if (filters < 1) fail<ValueError>(layer, "filters must be at least 1, got {}", filters);
}

Shape kernel_shape(const Extents& window, int64_t in, int64_t out) {
  Extents dims = window;
  dims.insert(dims.end(), {in, out});
  return Shape(dims);
}

// What a layer was built for is what it takes.
void need_channels(const std::string& layer, const std::string& name, const Tensor& x, int64_t channels) {
  if (x.shape()[-1] != channels)
    fail<ShapeError>(layer, "input {} has {} channels, layer \"{}\" was built for {}", x.shape(), x.shape()[-1], name,
                     channels);
}

// Undefined without one; add_weight(name, shape, initializer, options) makes it part of the layer.
template <class Options, class Add>
Variable bias_of(const Options& o, int64_t filters, Add add_weight) {
  if (!o.use_bias) return {};
  return add_weight(
      "bias", Shape{filters}, o.bias_initializer,
      WeightOptions{.regularizer = o.bias_regularizer, .constraint = o.bias_constraint, .dtype = o.dtype});
}

Tensor finished(Tensor y, const Variable& bias, const ActivationFunction& activation) {
  if (bias.defined()) y = y + cast(bias, y.dtype());
  return activation(y);
}

// One filter group for each channel: kernel (window…, channels, multiplier) as (window…, 1, channels * multiplier).
Tensor depthwise(const Tensor& x, const Tensor& kernel, const Sizes& strides, const Padding& padding,
                 const Sizes& dilations) {
  Extents dims = kernel.shape().to_vector();
  const int64_t multiplier = dims.back(), channels = dims[dims.size() - 2];
  dims[dims.size() - 2] = 1;
  dims.back() = channels * multiplier;
  return conv(x, reshape(kernel, dims),
              {.strides = strides.values(), .padding = padding, .dilations = dilations.values(), .groups = channels});
}

}  // namespace

Conv::Conv(std::string class_name, size_t axes, int64_t filters, const Sizes& kernel_size, ConvLayerOptions options)
    : SpatialLayer(std::move(class_name), axes, options.data_format, options.name),
      filters_(filters),
      options_(std::move(options)),
      kernel_size_(sizes("kernel_size", kernel_size)) {
  need_filters(this->class_name(), filters);
  sizes("strides", options_.strides);
  sizes("dilation_rate", options_.dilation_rate);
  take_common(options_);
  if (axes != 1 && options_.padding.mode() == "causal")
    fail<ValueError>(this->class_name(), "causal padding is for one spatial axis, Conv1D; give \"valid\" or \"same\"");
  if (options_.groups < 1 || filters % options_.groups != 0)
    fail<ValueError>(this->class_name(), "groups must divide the filters, got {} groups and {} filters",
                     options_.groups, filters);
}

void Conv::build(const Shape& input) {
  const int64_t channels = channels_of(input);
  if (channels % options_.groups != 0)
    fail<ShapeError>(class_name(), "groups must divide the channels, got {} groups and {} channels", options_.groups,
                     channels);
  kernel_ = add_weight(
      "kernel", kernel_shape(kernel_size_, channels / options_.groups, filters_), options_.kernel_initializer,
      {.regularizer = options_.kernel_regularizer, .constraint = options_.kernel_constraint, .dtype = options_.dtype});
  bias_ = bias_of(options_, filters_, [this](auto&&... arguments) { return add_weight(arguments...); });
}

Tensor Conv::call_channels_last(const Tensor& x) {
  need_channels(class_name(), name(), x, kernel_.shape()[-2] * options_.groups);
  const Tensor y = conv(computed(x, options_.dtype), computed(kernel_, options_.dtype),
                        {.strides = options_.strides.values(),
                         .padding = options_.padding,
                         .dilations = options_.dilation_rate.values(),
                         .groups = options_.groups});
  return finished(y, bias_, options_.activation);
}

ConvTranspose::ConvTranspose(std::string class_name, size_t axes, int64_t filters, const Sizes& kernel_size,
                             ConvTransposeLayerOptions options)
    : SpatialLayer(std::move(class_name), axes, options.data_format, options.name),
      filters_(filters),
      options_(std::move(options)),
      kernel_size_(sizes("kernel_size", kernel_size)) {
  need_filters(this->class_name(), filters);
  sizes("strides", options_.strides);
  sizes("dilation_rate", options_.dilation_rate);
  take_common(options_);
}

void ConvTranspose::build(const Shape& input) {
  kernel_ = add_weight(
      "kernel", kernel_shape(kernel_size_, filters_, channels_of(input)), options_.kernel_initializer,
      {.regularizer = options_.kernel_regularizer, .constraint = options_.kernel_constraint, .dtype = options_.dtype});
  bias_ = bias_of(options_, filters_, [this](auto&&... arguments) { return add_weight(arguments...); });
}

Tensor ConvTranspose::call_channels_last(const Tensor& x) {
  need_channels(class_name(), name(), x, kernel_.shape()[-1]);
  const Tensor y = conv_transpose(computed(x, options_.dtype), computed(kernel_, options_.dtype),
                                  {.strides = options_.strides.values(),
                                   .padding = options_.padding,
                                   .output_padding = options_.output_padding.values(),
                                   .dilations = options_.dilation_rate.values()});
  return finished(y, bias_, options_.activation);
}

DepthwiseConv::DepthwiseConv(std::string class_name, size_t axes, const Sizes& kernel_size,
                             DepthwiseConvOptions options)
    : SpatialLayer(std::move(class_name), axes, options.data_format, options.name),
      options_(std::move(options)),
      kernel_size_(sizes("kernel_size", kernel_size)) {
  sizes("strides", options_.strides);
  sizes("dilation_rate", options_.dilation_rate);
  take_common(options_);
  if (options_.depth_multiplier < 1)
    fail<ValueError>(this->class_name(), "depth_multiplier must be at least 1, got {}", options_.depth_multiplier);
}

void DepthwiseConv::build(const Shape& input) {
  const int64_t channels = channels_of(input);
  kernel_ = add_weight("kernel", kernel_shape(kernel_size_, channels, options_.depth_multiplier),
                       options_.depthwise_initializer,
                       {.regularizer = options_.depthwise_regularizer,
                        .constraint = options_.depthwise_constraint,
                        .dtype = options_.dtype});
  bias_ = bias_of(options_, channels * options_.depth_multiplier,
                  [this](auto&&... arguments) { return add_weight(arguments...); });
}

Tensor DepthwiseConv::call_channels_last(const Tensor& x) {
  need_channels(class_name(), name(), x, kernel_.shape()[-2]);
  const Tensor y = depthwise(computed(x, options_.dtype), computed(kernel_, options_.dtype), options_.strides,
                             options_.padding, options_.dilation_rate);
  return finished(y, bias_, options_.activation);
}

SeparableConv::SeparableConv(std::string class_name, size_t axes, int64_t filters, const Sizes& kernel_size,
                             SeparableConvOptions options)
    : SpatialLayer(std::move(class_name), axes, options.data_format, options.name),
      filters_(filters),
      options_(std::move(options)),
      kernel_size_(sizes("kernel_size", kernel_size)) {
  need_filters(this->class_name(), filters);
  sizes("strides", options_.strides);
  sizes("dilation_rate", options_.dilation_rate);
  take_common(options_);
  if (options_.depth_multiplier < 1)
    fail<ValueError>(this->class_name(), "depth_multiplier must be at least 1, got {}", options_.depth_multiplier);
}

void SeparableConv::build(const Shape& input) {
  const int64_t channels = channels_of(input);
  depthwise_ = add_weight("depthwise_kernel", kernel_shape(kernel_size_, channels, options_.depth_multiplier),
                          options_.depthwise_initializer,
                          {.regularizer = options_.depthwise_regularizer,
                           .constraint = options_.depthwise_constraint,
                           .dtype = options_.dtype});
  pointwise_ =
      add_weight("pointwise_kernel", kernel_shape(Extents(axes(), 1), channels * options_.depth_multiplier, filters_),
                 options_.pointwise_initializer,
                 {.regularizer = options_.pointwise_regularizer,
                  .constraint = options_.pointwise_constraint,
                  .dtype = options_.dtype});
  bias_ = bias_of(options_, filters_, [this](auto&&... arguments) { return add_weight(arguments...); });
}

Tensor SeparableConv::call_channels_last(const Tensor& x) {
  need_channels(class_name(), name(), x, depthwise_.shape()[-2]);
  const Tensor each = depthwise(computed(x, options_.dtype), computed(depthwise_, options_.dtype), options_.strides,
                                options_.padding, options_.dilation_rate);
  return finished(conv(each, computed(pointwise_, options_.dtype)), bias_, options_.activation);
}

}  // namespace isochron
