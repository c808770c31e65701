// What layers over images, sequences and volumes share: sizes per spatial axis, and where the channels stand.
#pragma once

#include <concepts>
#include <initializer_list>

#include "isochron/nn/layer.h"
#include "isochron/ops/window.h"

namespace isochron {

// `3`, `{3, 5}`: a number for all spatial axes, or one for each.
class Sizes {
 public:
  template <class T>
  requires std::is_integral_v<T> Sizes(T size) : values_{static_cast<int64_t>(size)} {}
  Sizes(std::initializer_list<int64_t> sizes) : values_(sizes) {}
  template <std::integral T>
  Sizes(std::initializer_list<T> sizes) : values_(sizes.begin(), sizes.end()) {}
  Sizes(Extents sizes) : values_(std::move(sizes)) {}
  Sizes() = default;  // none given
  const Extents& values() const { return values_; }

 private:
  Extents values_;
};

// A constructor of `Class` from a list in place of its first argument: `MaxPooling1D({2})` would otherwise be a layer
// to copy as well as sizes.
#define ISO_LIST_CONSTRUCTOR(Class, First, Options) \
  template <std::integral T>                        \
  explicit Class(std::initializer_list<T> list, Options options = {}) : Class(First(list), std::move(options)) {}

// ValueError unless it is "channels_first" or "channels_last".
bool is_channels_first(const std::string& layer, const std::string& data_format);

// A layer over `axes` spatial axes. Its work is done channels last; with data_format "channels_first" the axes are
// moved on the way in and out.
class SpatialLayer : public Layer {
 public:
  std::string class_name() const override { return class_name_; }
  Tensor call(const Tensor& x, const CallContext& context) final;

 protected:
  // ValueError for another data_format.
  SpatialLayer(std::string class_name, size_t axes, const std::string& data_format, std::string name);
  // x is (batch, spatial…, channels).
  virtual Tensor call_channels_last(const Tensor& x) = 0;
  // The same where a mask of the input's steps is known, for layers to which hidden steps matter.
  virtual Tensor call_masked(const Tensor& x, const Tensor& /*mask*/) { return call_channels_last(x); }

  // The channels of one example; ShapeError unless it has `axes` spatial axes and at least one channel.
  int64_t channels_of(const Shape& example) const;
  Extents sizes(const char* what, const Sizes& given) const {
    return per_axis(class_name_, what, given.values(), axes_);
  }
  size_t axes() const { return axes_; }

 private:
  std::string class_name_;
  size_t axes_;
  bool channels_first_;
};

}  // namespace isochron
