#include "isochron/nn/resize_layers.h"

#include <cmath>

#include "isochron/nn/resize_images.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {
namespace {

// x moved by one place along an axis; what comes in at the edge repeats it.
Tensor shifted(const Tensor& x, int axis, int by) {
  const int64_t extent = x.shape()[axis];
  if (by == 0 || extent < 2) return x;
  const auto part = [&](int64_t begin, int64_t end) {
    std::vector<int64_t> from(static_cast<size_t>(x.rank()), 0), to = x.shape().to_vector();
    from[static_cast<size_t>(axis)] = begin;
    to[static_cast<size_t>(axis)] = end;
    return slice(x, from, to);
  };
  return by > 0 ? concat({part(1, extent), part(extent - 1, extent)}, axis)
                : concat({part(0, 1), part(0, extent - 1)}, axis);
}

// Output element j of factor f lies at (j + 0.5) / f - 0.5 of the input, so each of the f phases is one mixture of two
// neighbours.
Tensor enlarge_linearly(const Tensor& x, int axis, int64_t factor) {
  std::vector<Tensor> phases;
  for (int64_t phase = 0; phase < factor; ++phase) {
    const double place = (static_cast<double>(phase) + 0.5) / static_cast<double>(factor) - 0.5;
    const int below = static_cast<int>(std::floor(place));
    const double share = place - below;
    const Tensor low = shifted(x, axis, below), high = shifted(x, axis, below + 1);
    phases.push_back(share == 0 ? low : low * (1 - share) + high * share);
  }
  std::vector<int64_t> dims = x.shape().to_vector();
  dims[static_cast<size_t>(axis)] *= factor;
  return reshape(stack(phases, axis + 1), dims);
}

// What needs no matrix, along any number of axes.
bool simple(const std::string& interpolation) { return interpolation == "nearest" || interpolation == "bilinear"; }

}  // namespace

UpSampling::UpSampling(std::string class_name, size_t axes, const Sizes& size, const UpSamplingOptions& options)
    : SpatialLayer(std::move(class_name), axes, options.data_format, options.name),
      size_(sizes("size", size)),
      options_(options) {
  check_interpolation(this->class_name(), options.interpolation);
  if (axes != 2 && !simple(options.interpolation))
    fail<ValueError>(this->class_name(), "interpolation must be \"nearest\" or \"bilinear\", got \"{}\"",
                     options.interpolation);
}

Tensor enlarged(const Tensor& x, const Extents& factors, bool linear) {
  Tensor y = x;
  for (size_t i = 0; i < factors.size(); ++i) {
    const int axis = static_cast<int>(i) + 1;
    if (factors[i] > 1) y = linear ? enlarge_linearly(y, axis, factors[i]) : repeat(y, factors[i], axis);
  }
  return y;
}

Tensor UpSampling::call_channels_last(const Tensor& x) {
  if (simple(options_.interpolation)) return enlarged(x, size_, options_.interpolation == "bilinear");
  return resize_images(x, x.shape()[1] * size_[0], x.shape()[2] * size_[1], options_.interpolation);
}

Padding::Widths Borders::of(const std::string& layer, size_t axes) const {
  Padding::Widths widths = pairs_;
  if (sizes_.size() == 1)
    widths.assign(axes, {sizes_[0], sizes_[0]});
  else if (sizes_.size() == 2 && axes == 1)
    widths = {{sizes_[0], sizes_[1]}};
  else
    for (const int64_t size : sizes_) widths.emplace_back(size, size);
  if (widths.size() != axes)
    fail<ValueError>(layer, "needs one number, or one for each of {} spatial axes, or as many pairs, got {}", axes,
                     widths.size());
  for (const auto& [before, after] : widths)
    if (before < 0 || after < 0) fail<ValueError>(layer, "borders must not be negative, got ({}, {})", before, after);
  return widths;
}

ZeroPadding::ZeroPadding(std::string class_name, size_t axes, const Borders& padding, const BorderOptions& options)
    : SpatialLayer(std::move(class_name), axes, options.data_format, options.name),
      padding_(padding.of(this->class_name(), axes)),
      options_(options) {}

Tensor ZeroPadding::call_channels_last(const Tensor& x) {
  Padding::Widths all{{0, 0}};
  all.insert(all.end(), padding_.begin(), padding_.end());
  all.emplace_back(0, 0);
  return pad(x, all);
}

Cropping::Cropping(std::string class_name, size_t axes, const Borders& cropping, const BorderOptions& options)
    : SpatialLayer(std::move(class_name), axes, options.data_format, options.name),
      cropping_(cropping.of(this->class_name(), axes)),
      options_(options) {}

Tensor Cropping::call_channels_last(const Tensor& x) {
  std::vector<int64_t> begin(static_cast<size_t>(x.rank()), 0), end = x.shape().to_vector();
  for (size_t i = 0; i < cropping_.size(); ++i) {
    const auto [before, after] = cropping_[i];
    if (before + after >= end[i + 1])
      fail<ShapeError>(class_name(), "cropping ({}, {}) leaves nothing of {} elements (spatial axis {})", before, after,
                       end[i + 1], i);
    begin[i + 1] = before;
    end[i + 1] -= after;
  }
  return slice(x, begin, end);
}

}  // namespace isochron
