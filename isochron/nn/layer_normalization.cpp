#include "isochron/nn/layer_normalization.h"

#include <algorithm>

#include "isochron/nn/batch_normalization.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/normalize.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {
namespace {

void need_positive(const char* layer, double epsilon) {
  if (!(epsilon > 0)) fail<ValueError>(layer, "epsilon must be positive, got {}", epsilon);
}

Tensor flat(const Variable& v) { return v.defined() ? reshape(v, {-1}) : Tensor(); }

}  // namespace

LayerNormalization::LayerNormalization(LayerNormalizationOptions options) : options_(std::move(options)) {
  need_positive("LayerNormalization", options_.epsilon);
  if (options_.axis.empty()) fail<ValueError>("LayerNormalization", "needs at least one axis");
  take_common(options_);
}

void LayerNormalization::build(const Shape& input) {
  const int rank = input.rank() + 1;
  std::vector<int64_t> normalised;
  for (const int64_t axis : options_.axis) {
    const int a = normalize_axis("LayerNormalization", axis, rank);
    if (a == 0) fail<ValueError>("LayerNormalization", "axis {} of {} is the batch", axis, input);
    normalised.push_back(a);
  }
  std::sort(normalised.begin(), normalised.end());
  if (std::adjacent_find(normalised.begin(), normalised.end()) != normalised.end())
    fail<ValueError>("LayerNormalization", "an axis is given twice");
  order_.clear();
  for (int64_t a = 0; a < rank; ++a)
    if (!std::binary_search(normalised.begin(), normalised.end(), a)) order_.push_back(a);
  std::vector<int64_t> extents;
  for (const int64_t a : normalised) {
    order_.push_back(a);
    extents.push_back(input[static_cast<int>(a) - 1]);
  }
  features_ = Shape(extents);
  add_scale_and_shift(features_, options_, gamma_, beta_);
}

Tensor LayerNormalization::call(const Tensor& x, const CallContext&) {
  const Tensor moved = transpose(wide(x, options_.dtype), order_);
  const int kept = moved.rank() - features_.rank();
  if (kept < 1 || Shape(moved.shape().dims().subspan(static_cast<size_t>(kept))) != features_)
    fail<ShapeError>("LayerNormalization", "input {} does not fit layer \"{}\", built for features {}", x.shape(),
                     name(), features_);
  std::vector<int64_t> rows(moved.shape().begin(), moved.shape().begin() + kept);
  rows.push_back(-1);
  const Tensor y = layer_norm(reshape(moved, rows), flat(gamma_), flat(beta_), options_.epsilon);
  return given_on(transpose(reshape(y, moved.shape().to_vector()), inverse_permutation(order_)));
}

GroupNormalization::GroupNormalization(GroupNormalizationOptions options) : options_(std::move(options)) {
  need_positive("GroupNormalization", options_.epsilon);
  if (options_.groups < 1 && options_.groups != -1)
    fail<ValueError>("GroupNormalization", "groups must be positive, or -1 for one a channel, got {}", options_.groups);
  take_common(options_);
}

void GroupNormalization::build(const Shape& input) {
  const int axis = normalize_axis("GroupNormalization", options_.axis, input.rank() + 1);
  if (axis == 0) fail<ValueError>("GroupNormalization", "axis {} of {} is the batch", options_.axis, input);
  const int64_t channels = input[axis - 1];
  groups_ = options_.groups == -1 ? channels : options_.groups;
  if (channels % groups_ != 0)
    fail<ValueError>("GroupNormalization", "{} channels can't be divided into {} groups", channels, groups_);
  add_scale_and_shift({channels}, options_, gamma_, beta_);
}

Tensor GroupNormalization::call(const Tensor& x, const CallContext&) {
  const int axis = normalize_axis("GroupNormalization", options_.axis, x.rank());
  const Tensor input = to_last(wide(x, options_.dtype), axis);
  const int64_t channels = input.shape()[-1];
  // (batch, positions, groups, channels of one)
  const Tensor grouped = reshape(input, {input.shape()[0], -1, groups_, channels / groups_});
  const Tensor centred = grouped - mean(grouped, {1, 3}, true);
  const Tensor variance = mean(square(centred), {1, 3}, true);
  Tensor y = reshape(centred * rsqrt(variance + options_.epsilon), input.shape().to_vector());
  if (gamma_.defined()) y = y * cast(gamma_, y.dtype());
  if (beta_.defined()) y = y + cast(beta_, y.dtype());
  return given_on(from_last(y, axis));
}

RMSNormalization::RMSNormalization(RMSNormalizationOptions options) : options_(std::move(options)) {
  need_positive("RMSNormalization", options_.epsilon);
  take_common(options_);
}

void RMSNormalization::build(const Shape& input) {
  if (input.rank() < 1) fail<ShapeError>("RMSNormalization", "needs (batch, …, features)");
  scale_ = add_weight("scale", {input[-1]}, "ones", {.dtype = options_.dtype});
}

Tensor RMSNormalization::call(const Tensor& x, const CallContext&) {
  return given_on(rms_norm(wide(x, options_.dtype), scale_, options_.epsilon));
}

UnitNormalization::UnitNormalization(UnitNormalizationOptions options) : options_(std::move(options)) {
  if (options_.axis.empty()) fail<ValueError>("UnitNormalization", "needs at least one axis");
  set_name(options_.name);
}

Tensor UnitNormalization::call(const Tensor& x, const CallContext&) {
  Axes axes;
  for (const int64_t axis : options_.axis) axes.push_back(normalize_axis("UnitNormalization", axis, x.rank()));
  constexpr double kLeast = 1e-12;  // length that is divided by
  const Tensor input = wide(x, DType::float32);
  return given_on(input * rsqrt(maximum(sum(square(input), axes, true), kLeast * kLeast)));
}

}  // namespace isochron
