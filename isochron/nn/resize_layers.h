// Layers that make images, sequences and volumes larger or smaller without weights, with Keras' names, arguments and
// defaults.
//
//   UpSampling2D(2, {.interpolation = "bilinear"});
//   ZeroPadding2D({{1, 0}, {2, 2}});                             // (top, bottom), (left, right)
//   Cropping1D({1, 2});                                          // first 1 and last 2 steps go
#pragma once

#include "isochron/nn/spatial_layer.h"

namespace isochron {

// (batch, spatial…, channels), each spatial axis so many times as large: elements repeated, or between their
// neighbours.
Tensor enlarged(const Tensor& x, const Extents& factors, bool linear);

struct UpSamplingOptions {
  std::string interpolation = "nearest";  // or "bilinear": linear along every spatial axis; of images more: Resizing's
  std::string data_format = "channels_last";
  std::string name = {};
};
ISO_OPTIONS(UpSamplingOptions, interpolation, data_format, name)

class UpSampling : public SpatialLayer {
 protected:
  // ValueError unless sizes are positive and the interpolation is known.
  UpSampling(std::string class_name, size_t axes, const Sizes& size, const UpSamplingOptions& options);
  Tensor call_channels_last(const Tensor& x) override;

  Extents size_;
  UpSamplingOptions options_;
};

struct UpSampling1D : UpSampling {
  ISO_LAYER(UpSampling1D)
  ISO_ARGUMENTS(size_)
  explicit UpSampling1D(Sizes size = 2, LayerOptions options = {})
      : UpSampling("UpSampling1D", 1, size, {.name = options.name}) {}
  ISO_LIST_CONSTRUCTOR(UpSampling1D, Sizes, LayerOptions)
};
struct UpSampling2D : UpSampling {
  ISO_LAYER(UpSampling2D)
  ISO_ARGUMENTS(size_, options_)
  explicit UpSampling2D(Sizes size = 2, const UpSamplingOptions& options = {})
      : UpSampling("UpSampling2D", 2, size, options) {}
  ISO_LIST_CONSTRUCTOR(UpSampling2D, Sizes, UpSamplingOptions)
};

struct UpSampling3D : UpSampling {
  ISO_LAYER(UpSampling3D)
  ISO_ARGUMENTS(size_, options_)
  explicit UpSampling3D(Sizes size = 2, const UpSamplingOptions& options = {})
      : UpSampling("UpSampling3D", 3, size, options) {}
  ISO_LIST_CONSTRUCTOR(UpSampling3D, Sizes, UpSamplingOptions)
};

// Elements before and after each spatial axis: `1` on all sides, `{1, 2}` one number an axis (with a single axis:
// before and after), `{{1, 2}, {3, 4}}` all of them.
class Borders {
 public:
  template <class T>
  requires std::is_integral_v<T> Borders(T width) : sizes_{static_cast<int64_t>(width)} {}
  Borders(std::initializer_list<int64_t> sizes) : sizes_(sizes) {}
  template <std::integral T>
  Borders(std::initializer_list<T> sizes) : sizes_(sizes.begin(), sizes.end()) {}
  Borders(std::initializer_list<std::pair<int64_t, int64_t>> pairs) : pairs_(pairs) {}
  Borders(Padding::Widths pairs) : pairs_(std::move(pairs)) {}
  // ValueError, naming the layer, when there are not as many as axes, or one is negative.
  Padding::Widths of(const std::string& layer, size_t axes) const;

 private:
  Extents sizes_;
  Padding::Widths pairs_;
};

struct BorderOptions {
  std::string data_format = "channels_last";
  std::string name = {};
};
ISO_OPTIONS(BorderOptions, data_format, name)

class ZeroPadding : public SpatialLayer {
 public:
  ISO_ARGUMENTS(padding_, options_)

 protected:
  ZeroPadding(std::string class_name, size_t axes, const Borders& padding, const BorderOptions& options);
  Tensor call_channels_last(const Tensor& x) override;

 private:
  Padding::Widths padding_;
  BorderOptions options_;
};

struct ZeroPadding1D : ZeroPadding {
  ISO_LAYER(ZeroPadding1D)
  explicit ZeroPadding1D(const Borders& padding = 1, const BorderOptions& options = {})
      : ZeroPadding("ZeroPadding1D", 1, padding, options) {}
  ISO_LIST_CONSTRUCTOR(ZeroPadding1D, Borders, BorderOptions)
};
struct ZeroPadding2D : ZeroPadding {
  ISO_LAYER(ZeroPadding2D)
  explicit ZeroPadding2D(const Borders& padding = 1, const BorderOptions& options = {})
      : ZeroPadding("ZeroPadding2D", 2, padding, options) {}
  ISO_LIST_CONSTRUCTOR(ZeroPadding2D, Borders, BorderOptions)
  // Said apart, so that {{1, 1}, {0, 0}} is no list of borders and options.
  explicit ZeroPadding2D(std::initializer_list<std::pair<int64_t, int64_t>> padding, const BorderOptions& options = {})
      : ZeroPadding2D(Borders(padding), options) {}
};
struct ZeroPadding3D : ZeroPadding {
  ISO_LAYER(ZeroPadding3D)
  explicit ZeroPadding3D(const Borders& padding = 1, const BorderOptions& options = {})
      : ZeroPadding("ZeroPadding3D", 3, padding, options) {}
  ISO_LIST_CONSTRUCTOR(ZeroPadding3D, Borders, BorderOptions)
  explicit ZeroPadding3D(std::initializer_list<std::pair<int64_t, int64_t>> padding, const BorderOptions& options = {})
      : ZeroPadding3D(Borders(padding), options) {}
};

class Cropping : public SpatialLayer {
 public:
  ISO_ARGUMENTS(cropping_, options_)

 protected:
  Cropping(std::string class_name, size_t axes, const Borders& cropping, const BorderOptions& options);
  // ShapeError when nothing would be left.
  Tensor call_channels_last(const Tensor& x) override;

 private:
  Padding::Widths cropping_;
  BorderOptions options_;
};

struct Cropping1D : Cropping {
  ISO_LAYER(Cropping1D)
  explicit Cropping1D(const Borders& cropping = 1, const BorderOptions& options = {})
      : Cropping("Cropping1D", 1, cropping, options) {}
  ISO_LIST_CONSTRUCTOR(Cropping1D, Borders, BorderOptions)
};
struct Cropping2D : Cropping {
  ISO_LAYER(Cropping2D)
  explicit Cropping2D(const Borders& cropping = 0, const BorderOptions& options = {})
      : Cropping("Cropping2D", 2, cropping, options) {}
  ISO_LIST_CONSTRUCTOR(Cropping2D, Borders, BorderOptions)
  explicit Cropping2D(std::initializer_list<std::pair<int64_t, int64_t>> cropping, const BorderOptions& options = {})
      : Cropping2D(Borders(cropping), options) {}
};
struct Cropping3D : Cropping {
  ISO_LAYER(Cropping3D)
  explicit Cropping3D(const Borders& cropping = 1, const BorderOptions& options = {})
      : Cropping("Cropping3D", 3, cropping, options) {}
  ISO_LIST_CONSTRUCTOR(Cropping3D, Borders, BorderOptions)
  explicit Cropping3D(std::initializer_list<std::pair<int64_t, int64_t>> cropping, const BorderOptions& options = {})
      : Cropping3D(Borders(cropping), options) {}
};

}  // namespace isochron
