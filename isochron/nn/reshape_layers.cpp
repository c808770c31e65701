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

Permute::Permute(std::vector<int64_t> dims, LayerOptions options) : dims_(std::move(dims)) {
  std::vector<int64_t> sorted = dims_;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<int64_t>(i) + 1)
      fail<ValueError>("Permute", "needs each of the axes 1 to {} once, got ({})", dims_.size(), joined(dims_));
  set_name(std::move(options.name));
}

Tensor Permute::call(const Tensor& x, const CallContext&) {
  if (x.rank() != static_cast<int>(dims_.size()) + 1)
    fail<ShapeError>("Permute", "({}) orders examples of {} axes, got a batch of shape {}", joined(dims_), dims_.size(),
                     x.shape());
  std::vector<int64_t> order{0};
  order.insert(order.end(), dims_.begin(), dims_.end());
  return transpose(x, order);
}

RepeatVector::RepeatVector(int64_t n, LayerOptions options) : n_(n) {
  if (n < 1) fail<ValueError>("RepeatVector", "n must be at least 1, got {}", n);
  set_name(std::move(options.name));
}

Tensor RepeatVector::call(const Tensor& x, const CallContext&) {
  if (x.rank() != 2) fail<ShapeError>("RepeatVector", "takes (batch, features), got {}", x.shape());
  return broadcast_to(expand_dims(x, 1), {x.shape()[0], n_, x.shape()[1]});
}

}  // namespace isochron
