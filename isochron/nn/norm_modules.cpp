#include "isochron/nn/norm_modules.h"

#include "isochron/nn/batch_normalization.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/normalize.h"
#include "isochron/ops/shape_ops.h"

namespace isochron::nn {
namespace {

// A vector of channels as it broadcasts over (N, C, …).
Tensor over_channels(const Tensor& vector, int rank) {
  std::vector<int64_t> shape(static_cast<size_t>(rank), 1);
  shape[1] = -1;
  return reshape(vector, shape);
}

}  // namespace

BatchNorm::BatchNorm(int64_t num_features, BatchNormOptions options) : features_(num_features), options_(options) {
  if (num_features < 1) fail<ValueError>("BatchNorm", "needs at least one feature, got {}", num_features);
  const Shape shape{num_features};
  if (options.affine) {
    weight = register_parameter("weight", ones(shape, options.dtype));
    bias = register_parameter("bias", zeros(shape, options.dtype));
  }
  if (options.track_running_stats) {
    running_mean = register_buffer("running_mean", zeros(shape, options.dtype));
    running_var = register_buffer("running_var", ones(shape, options.dtype));
    num_batches_tracked = register_buffer("num_batches_tracked", scalar(0, DType::int64));
  }
  describe(fmt::format("{}, eps={}, momentum={}", num_features, options.eps, options.momentum));
}

Tensor BatchNorm::forward(Tensor x) {
  if (x.rank() < 2 || x.shape()[1] != features_)
    fail<ShapeError>("BatchNorm", "takes (N, {}, …), got {}", features_, x.shape());
  const Tensor input = to_last(x, 1);
  if (!is_training() && options_.track_running_stats)
    return from_last(normalize_by(input, running_mean, running_var, weight, bias, options_.eps), 1);
  const int64_t count = input.elements() / features_;
  if (is_training() && count < 2)
    fail<ValueError>("BatchNorm", "needs more than one value a channel while training, got {}", x.shape());
  const BatchNormed batch = batch_norm(input, weight, bias, options_.eps);
  if (is_training() && options_.track_running_stats) {
    const double m = options_.momentum, unbiased = static_cast<double>(count) / static_cast<double>(count - 1);
    running_mean.assign(running_mean * (1 - m) + batch.mean * m);
    running_var.assign(running_var * (1 - m) + batch.variance * (m * unbiased));
    num_batches_tracked.assign_add(scalar(1, DType::int64));
  }
  return from_last(batch.y, 1);
}

Tensor BatchNorm1d::forward(Tensor x) {
  if (x.rank() != 2 && x.rank() != 3) fail<ShapeError>("BatchNorm1d", "takes (N, C) or (N, C, L), got {}", x.shape());
  return BatchNorm::forward(std::move(x));
}
Tensor BatchNorm2d::forward(Tensor x) {
  if (x.rank() != 4) fail<ShapeError>("BatchNorm2d", "takes (N, C, H, W), got {}", x.shape());
  return BatchNorm::forward(std::move(x));
}

Tensor BatchNorm3d::forward(Tensor x) {
  if (x.rank() != 5) fail<ShapeError>("BatchNorm3d", "takes (N, C, D, H, W), got {}", x.shape());
  return BatchNorm::forward(std::move(x));
}

LayerNorm::LayerNorm(Shape normalized_shape, LayerNormOptions options) : shape_(normalized_shape), eps_(options.eps) {
  if (shape_.rank() < 1 || shape_.elements() == 0)
    fail<ValueError>("LayerNorm", "needs a shape with elements, got {}", shape_);
  if (options.elementwise_affine) {
    weight = register_parameter("weight", ones(shape_, options.dtype));
    if (options.bias) bias = register_parameter("bias", zeros(shape_, options.dtype));
  }
  describe(fmt::format("{}, eps={}", shape_, options.eps));
}

Tensor LayerNorm::forward(Tensor x) {
  const int kept = x.rank() - shape_.rank();
  if (kept < 0 || Shape(x.shape().dims().subspan(static_cast<size_t>(kept))) != shape_)
    fail<ShapeError>("LayerNorm", "takes (…, {}), got {}", shape_, x.shape());
  std::vector<int64_t> rows(x.shape().begin(), x.shape().begin() + kept);
  rows.push_back(shape_.elements());
  const auto flat = [](const Variable& v) { return v.defined() ? reshape(v, {-1}) : Tensor(); };
  return reshape(layer_norm(reshape(x, rows), flat(weight), flat(bias), eps_), x.shape().to_vector());
}

RMSNorm::RMSNorm(int64_t features, RMSNormOptions options) : features_(features), eps_(options.eps) {
  if (features < 1) fail<ValueError>("RMSNorm", "needs at least one feature, got {}", features);
  if (options.elementwise_affine) weight = register_parameter("weight", ones({features}, options.dtype));
  describe(fmt::format("{}, eps={}", features, options.eps));
}

Tensor RMSNorm::forward(Tensor x) {
  if (x.rank() < 1 || x.shape()[-1] != features_)
    fail<ShapeError>("RMSNorm", "takes (…, {}), got {}", features_, x.shape());
  return rms_norm(x, weight, eps_);
}

GroupNorm::GroupNorm(int64_t num_groups, int64_t num_channels, GroupNormOptions options)
    : groups_(num_groups), channels_(num_channels), eps_(options.eps) {
  if (num_groups < 1 || num_channels < 1 || num_channels % num_groups != 0)
    fail<ValueError>("GroupNorm", "{} channels can't be divided into {} groups", num_channels, num_groups);
  if (options.affine) {
    weight = register_parameter("weight", ones({num_channels}, options.dtype));
    bias = register_parameter("bias", zeros({num_channels}, options.dtype));
  }
  describe(fmt::format("{}, {}, eps={}", num_groups, num_channels, options.eps));
}

Tensor GroupNorm::forward(Tensor x) {
  if (x.rank() < 2 || x.shape()[1] != channels_)
    fail<ShapeError>("GroupNorm", "takes (N, {}, …), got {}", channels_, x.shape());
  // The channels of a group lie together, so a group is a row.
  const Tensor rows = reshape(x, {x.shape()[0], groups_, -1});
  const Tensor y = reshape(layer_norm(rows, {}, {}, eps_), x.shape().to_vector());
  return weight.defined() ? y * over_channels(weight, x.rank()) + over_channels(bias, x.rank()) : y;
}

Tensor InstanceNorm::forward(Tensor x) {
  if (x.rank() != axes_ + 2)
    fail<ShapeError>(kind_, "takes (N, C, …) with {} spatial {}, got {}", axes_, axes_ == 1 ? "axis" : "axes",
                     x.shape());
  if (is_training() && x.elements() == x.shape()[0] * x.shape()[1])
    fail<ValueError>(kind_, "needs more than one element a channel while training, got {}", x.shape());
  return GroupNorm::forward(std::move(x));
}

}  // namespace isochron::nn
