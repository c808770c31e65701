#include "isochron/nn/reshape_layers.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "isochron/base/joined.h"
#include "isochron/base/names.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {
namespace {

// The batch in front of one example's shape.
Tensor with_example_shape(const Tensor& x, const Shape& example) {
  return reshape(x, example.insert(0, x.shape()[0]).to_vector());
}

}  // namespace

Flatten::Flatten(FlattenOptions options) : options_(std::move(options)) {
  if (options_.data_format != "channels_first" && options_.data_format != "channels_last")
    fail<ValueError>("Flatten", "unknown data_format \"{}\"{}", options_.data_format,
                     did_you_mean(options_.data_format, {"channels_last", "channels_first"}));
  set_name(options_.name);
}

Tensor Flatten::call(const Tensor& x, const CallContext&) {
  const Shape features{x.shape().elements(1, x.rank())};
  if (options_.data_format == "channels_last" || x.rank() <= 2) return with_example_shape(x, features);
  std::vector<int64_t> order(static_cast<size_t>(x.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return with_example_shape(transpose(x, order), features);
}

Reshape::Reshape(std::vector<int64_t> target_shape, LayerOptions options) : target_shape_(std::move(target_shape)) {
  if (std::count(target_shape_.begin(), target_shape_.end(), -1) > 1 ||
      std::any_of(target_shape_.begin(), target_shape_.end(), [](int64_t extent) { return extent < -1; }))
    fail<ValueError>("Reshape", "extents must not be negative, and at most one may be -1, got ({})",
                     joined(target_shape_));
  set_name(std::move(options.name));
}

Tensor Reshape::call(const Tensor& x, const CallContext&) {
  return with_example_shape(x, output_shape(Shape(x.shape().dims().subspan(1))));
}

Shape Reshape::output_shape(const Shape& input) const {
  std::vector<int64_t> shape = target_shape_;
  const auto open = std::find(shape.begin(), shape.end(), -1);
  if (open != shape.end()) {
    *open = 1;
    const int64_t others = Shape(shape).elements();
    *open = others > 0 ? input.elements() / others : 0;
  }
  const Shape result(shape);
  if (result.elements() != input.elements())
    fail<ShapeError>("Reshape", "an example of shape {} has {} elements, which do not fit ({})", input,
                     input.elements(), joined(target_shape_));
  return result;
}

}  // namespace isochron
