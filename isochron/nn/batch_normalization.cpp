#include "isochron/nn/batch_normalization.h"

#include <numeric>

#include "isochron/ops/elementwise.h"
#include "isochron/ops/normalize.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {

Tensor normalize_by(const Tensor& x, const Tensor& mean, const Tensor& variance, const Tensor& gamma,
                    const Tensor& beta, double epsilon) {
  // One multiplication and one addition an element: the rest is worked out once a feature.
  Tensor scale = rsqrt(variance + epsilon);
  if (gamma.defined()) scale = scale * gamma;
  const Tensor shift = beta.defined() ? beta - mean * scale : -mean * scale;
  return x * cast(scale, x.dtype()) + cast(shift, x.dtype());
}

Tensor to_last(const Tensor& x, int axis) { return axis == x.rank() - 1 ? x : transpose(x, axis_last(x.rank(), axis)); }
Tensor from_last(const Tensor& x, int axis) {
  return axis == x.rank() - 1 ? x : transpose(x, inverse_permutation(axis_last(x.rank(), axis)));
}

namespace {

// A mask of steps, of the axes it has, as zeros and ones beside x with the features last.
Tensor from_mask(const Tensor& mask, const Tensor& x, int axis) {
  if (mask.rank() >= x.rank() || Shape(x.shape().dims().first(static_cast<size_t>(mask.rank()))) != mask.shape())
    fail<ShapeError>("BatchNormalization", "a mask must have the first axes of the input {}, got {}", x.shape(),
                     mask.shape());
  Tensor counts = cast(mask, x.dtype());
  while (counts.rank() < x.rank()) counts = expand_dims(counts, -1);
  return to_last(broadcast_to(counts, x.shape()), axis);
}

// Steps that a mask hides are normalised like the others, but do not count in the statistics.
BatchNormed masked_batch_norm(const Tensor& x, const Tensor& counts, const Tensor& gamma, const Tensor& beta,
                              double epsilon) {
  constexpr double kNothing = 1e-7;  // Keras'; a batch that is all padding divides by it
  Axes rows(static_cast<size_t>(x.rank() - 1));
  std::iota(rows.begin(), rows.end(), 0);
  const Tensor weights = cast(counts, x.dtype()), total = sum(weights, rows) + kNothing;
  const Tensor mean = sum(x * weights, rows) / total;
  const Tensor variance = sum(square(x - mean) * weights, rows) / total;
  return {normalize_by(x, mean, variance, gamma, beta, epsilon), mean, variance};
}

}  // namespace

BatchNormalization::BatchNormalization(BatchNormalizationOptions options) : options_(std::move(options)) {
  if (!(options_.momentum >= 0 && options_.momentum <= 1))
    fail<ValueError>("BatchNormalization", "momentum must be in [0, 1], got {}", options_.momentum);
  if (!(options_.epsilon > 0))
    fail<ValueError>("BatchNormalization", "epsilon must be positive, got {}", options_.epsilon);
  take_common(options_);
}

void BatchNormalization::build(const Shape& input) {
  const int axis = normalize_axis("BatchNormalization", options_.axis, input.rank() + 1);
  if (axis == 0)
    fail<ValueError>("BatchNormalization", "axis {} of examples of shape {} is the batch; features need another",
                     options_.axis, input);
  const Shape features{input[axis - 1]};
  add_scale_and_shift(features, options_, gamma_, beta_);
  const WeightOptions kept{.trainable = false, .dtype = options_.dtype};
  moving_mean_ = add_weight("moving_mean", features, options_.moving_mean_initializer, kept);
  moving_variance_ = add_weight("moving_variance", features, options_.moving_variance_initializer, kept);
}

Tensor BatchNormalization::call(const Tensor& x, const CallContext& context) {
  const int axis = normalize_axis("BatchNormalization", options_.axis, x.rank());
  if (x.shape()[axis] != moving_mean_.shape()[0])
    fail<ShapeError>("BatchNormalization", "input {} has {} features, layer \"{}\" was built for {}", x.shape(),
                     x.shape()[axis], name(), moving_mean_.shape()[0]);
  const Tensor input = to_last(wide(x, options_.dtype), axis);
  if (!context.training || !trainable())
    return given_on(
        from_last(normalize_by(input, moving_mean_, moving_variance_, gamma_, beta_, options_.epsilon), axis));
  const BatchNormed batch = context.mask.defined() ? masked_batch_norm(input, from_mask(context.mask, x, axis), gamma_,
                                                                       beta_, options_.epsilon)
                                                   : batch_norm(input, gamma_, beta_, options_.epsilon);
  const auto move = [&](const Variable& average, const Tensor& now) {
    average.assign(average * options_.momentum + cast(now, average.dtype()) * (1 - options_.momentum));
  };
  move(moving_mean_, batch.mean);
  move(moving_variance_, batch.variance);
  return given_on(from_last(batch.y, axis));
}

}  // namespace isochron
