// Pooling layers, with Keras' names, arguments and defaults.
//
//   MaxPooling2D();                                              // 2x2, halves rows and columns
//   AveragePooling2D(3, {.strides = 2, .padding = "same"});      // padding does not count in the mean
//   GlobalAveragePooling2D();                                    // (batch, rows, columns, channels) -> (batch,
//   channels)
#pragma once

#include "isochron/nn/spatial_layer.h"

namespace isochron {

struct PoolingOptions {
  Sizes strides = {};  // none: the pool's size
  Padding padding = "valid";
  std::string data_format = "channels_last";
  std::string name = {};
};
ISO_OPTIONS(PoolingOptions, strides, padding, data_format, name)

class Pooling : public SpatialLayer {
 public:
  ISO_ARGUMENTS(pool_size_, options_)

 protected:
  enum class Kind { max, average };
  // ValueError unless sizes are positive.
  Pooling(Kind kind, std::string class_name, size_t axes, const Sizes& pool_size, PoolingOptions options);
  Tensor call_channels_last(const Tensor& x) override;

 private:
  Kind kind_;
  Extents pool_size_;
  PoolingOptions options_;
};

struct MaxPooling1D : Pooling {
  ISO_LAYER(MaxPooling1D)
  explicit MaxPooling1D(Sizes pool_size = 2, PoolingOptions options = {})
      : Pooling(Kind::max, "MaxPooling1D", 1, pool_size, std::move(options)) {}
  ISO_LIST_CONSTRUCTOR(MaxPooling1D, Sizes, PoolingOptions)
};
struct MaxPooling2D : Pooling {
  ISO_LAYER(MaxPooling2D)
  explicit MaxPooling2D(Sizes pool_size = 2, PoolingOptions options = {})
      : Pooling(Kind::max, "MaxPooling2D", 2, pool_size, std::move(options)) {}
  ISO_LIST_CONSTRUCTOR(MaxPooling2D, Sizes, PoolingOptions)
};
struct MaxPooling3D : Pooling {
  ISO_LAYER(MaxPooling3D)
  explicit MaxPooling3D(Sizes pool_size = 2, PoolingOptions options = {})
      : Pooling(Kind::max, "MaxPooling3D", 3, pool_size, std::move(options)) {}
  ISO_LIST_CONSTRUCTOR(MaxPooling3D, Sizes, PoolingOptions)
};
struct AveragePooling1D : Pooling {
  ISO_LAYER(AveragePooling1D)
  explicit AveragePooling1D(Sizes pool_size = 2, PoolingOptions options = {})
      : Pooling(Kind::average, "AveragePooling1D", 1, pool_size, std::move(options)) {}
  ISO_LIST_CONSTRUCTOR(AveragePooling1D, Sizes, PoolingOptions)
};
struct AveragePooling2D : Pooling {
  ISO_LAYER(AveragePooling2D)
  explicit AveragePooling2D(Sizes pool_size = 2, PoolingOptions options = {})
      : Pooling(Kind::average, "AveragePooling2D", 2, pool_size, std::move(options)) {}
  ISO_LIST_CONSTRUCTOR(AveragePooling2D, Sizes, PoolingOptions)
};
struct AveragePooling3D : Pooling {
  ISO_LAYER(AveragePooling3D)
  explicit AveragePooling3D(Sizes pool_size = 2, PoolingOptions options = {})
      : Pooling(Kind::average, "AveragePooling3D", 3, pool_size, std::move(options)) {}
  ISO_LIST_CONSTRUCTOR(AveragePooling3D, Sizes, PoolingOptions)
};

struct GlobalPoolingOptions {
  std::string data_format = "channels_last";
  bool keepdims = false;
  std::string name = {};
};
ISO_OPTIONS(GlobalPoolingOptions, data_format, keepdims, name)

// One number for each channel.
class GlobalPooling : public SpatialLayer {
 public:
  ISO_ARGUMENTS(options_)

 protected:
  enum class Kind { max, average };
  GlobalPooling(Kind kind, std::string class_name, size_t axes, const GlobalPoolingOptions& options);
  Tensor call_channels_last(const Tensor& x) override;
  // A mean of steps is over those that count, as in Keras.
  Tensor call_masked(const Tensor& x, const Tensor& mask) override;

 private:
  Kind kind_;
  GlobalPoolingOptions options_;
};

struct GlobalMaxPooling1D : GlobalPooling {
  ISO_LAYER(GlobalMaxPooling1D)
  explicit GlobalMaxPooling1D(const GlobalPoolingOptions& options = {})
      : GlobalPooling(Kind::max, "GlobalMaxPooling1D", 1, options) {}
};
struct GlobalMaxPooling2D : GlobalPooling {
  ISO_LAYER(GlobalMaxPooling2D)
  explicit GlobalMaxPooling2D(const GlobalPoolingOptions& options = {})
      : GlobalPooling(Kind::max, "GlobalMaxPooling2D", 2, options) {}
};
struct GlobalMaxPooling3D : GlobalPooling {
  ISO_LAYER(GlobalMaxPooling3D)
  explicit GlobalMaxPooling3D(const GlobalPoolingOptions& options = {})
      : GlobalPooling(Kind::max, "GlobalMaxPooling3D", 3, options) {}
};
struct GlobalAveragePooling1D : GlobalPooling {
  ISO_LAYER(GlobalAveragePooling1D)
  explicit GlobalAveragePooling1D(const GlobalPoolingOptions& options = {})
      : GlobalPooling(Kind::average, "GlobalAveragePooling1D", 1, options) {}
};
struct GlobalAveragePooling2D : GlobalPooling {
  ISO_LAYER(GlobalAveragePooling2D)
  explicit GlobalAveragePooling2D(const GlobalPoolingOptions& options = {})
      : GlobalPooling(Kind::average, "GlobalAveragePooling2D", 2, options) {}
};
struct GlobalAveragePooling3D : GlobalPooling {
  ISO_LAYER(GlobalAveragePooling3D)
  explicit GlobalAveragePooling3D(const GlobalPoolingOptions& options = {})
      : GlobalPooling(Kind::average, "GlobalAveragePooling3D", 3, options) {}
};

// Keras' other names.
using MaxPool1D = MaxPooling1D;
using MaxPool2D = MaxPooling2D;
using MaxPool3D = MaxPooling3D;
using AvgPool1D = AveragePooling1D;
using AvgPool2D = AveragePooling2D;
using AvgPool3D = AveragePooling3D;
using GlobalMaxPool1D = GlobalMaxPooling1D;
using GlobalMaxPool2D = GlobalMaxPooling2D;
using GlobalMaxPool3D = GlobalMaxPooling3D;
using GlobalAvgPool1D = GlobalAveragePooling1D;
using GlobalAvgPool2D = GlobalAveragePooling2D;
using GlobalAvgPool3D = GlobalAveragePooling3D;

}  // namespace isochron
