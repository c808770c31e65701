#include "isochron/nn/normalization.h"

#include <algorithm>

#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {
namespace {

constexpr double kEpsilon = 1e-7;  // Keras' smallest deviation

Tensor real(const Tensor& x) { return is_floating(x.dtype()) ? x : cast(x, DType::float32); }

Tensor given_statistic(const char* which, const Tensor& value, const Shape& shape) {
  if (!broadcasts_to(value.shape(), shape))
    fail<ShapeError>("Normalization", "{} must fit the statistics' shape {}, got {}", which, shape, value.shape());
  return broadcast_to(real(value), shape).eval();
}

}  // namespace

Normalization::Normalization(NormalizationOptions options) : options_(std::move(options)) {
  if (options_.mean.defined() != options_.variance.defined())
    fail<ValueError>("Normalization", "mean and variance are given together, or learned together by adapt()");
  if (options_.variance.defined() && any(options_.variance < 0).item<bool>())
    fail<ValueError>("Normalization", "a variance must not be negative, got {}", options_.variance);
  set_name(options_.name);
}

void Normalization::build(const Shape& input) {
  const int rank = input.rank() + 1;
  std::vector<bool> kept(static_cast<size_t>(rank));
  for (const int64_t axis : options_.axis) {
    const int a = normalize_axis("Normalization", axis, rank);
    if (a == 0)
      fail<ValueError>("Normalization",
                       "axis {} of examples of shape {} is the batch, which has no statistics of its own; use .axis = "
                       "{{}} for one mean of everything",
                       axis, input);
    kept[static_cast<size_t>(a)] = true;
  }
  kept_axes_.clear();
  reduced_axes_.clear();
  std::vector<int64_t> statistics, broadcasted;
  for (int a = 0; a < rank; ++a) {
    const bool own = kept[static_cast<size_t>(a)];
    (own ? kept_axes_ : reduced_axes_).push_back(a);
    broadcasted.push_back(own ? input[a - 1] : 1);
    if (own) statistics.push_back(input[a - 1]);
  }
  statistics_shape_ = Shape(statistics);
  broadcast_shape_ = Shape(broadcasted);
  if (options_.mean.defined()) {
    mean_ = given_statistic("mean", options_.mean, statistics_shape_);
    variance_ = given_statistic("variance", options_.variance, statistics_shape_);
  } else {
    mean_ = add_weight("mean", statistics_shape_, "zeros", {.trainable = false});
    variance_ = add_weight("variance", statistics_shape_, "ones", {.trainable = false});
    count_ = add_weight("count", {}, "zeros", {.trainable = false, .dtype = DType::int64});
  }
}

void Normalization::check_features(const char* what, const Shape& batch) const {
  bool fits = batch.rank() == broadcast_shape_.rank();
  for (size_t i = 0; fits && i < kept_axes_.size(); ++i) {
    const int axis = static_cast<int>(kept_axes_[i]);
    fits = batch[axis] == broadcast_shape_[axis];
  }
  if (!fits)
    fail<ShapeError>("Normalization", "{} of shape {} does not fit layer \"{}\", built for examples of shape {}", what,
                     batch, name(), input_shape());
}

Tensor Normalization::call(const Tensor& x, const CallContext&) {
  check_features("a batch", x.shape());
  const Tensor input = real(x);
  const auto statistic = [&](const Tensor& s) { return reshape(cast(s, input.dtype()), broadcast_shape_.to_vector()); };
  const Tensor mean = statistic(mean_), deviation = maximum(sqrt(statistic(variance_)), kEpsilon);
  return options_.invert ? mean + input * deviation : (input - mean) / deviation;
}

void Normalization::adapt(const Tensor& data) {
  if (options_.mean.defined())
    fail<StateError>("Normalization", "layer \"{}\" was given its mean and variance: there is nothing to adapt",
                     name());
  if (data.rank() < 1 || data.elements() == 0)
    fail<ValueError>("Normalization", "adapt() needs at least one example, got shape {}", data.shape());
  ensure_built(Shape(data.shape().dims().subspan(1)));
  check_features("data", data.shape());
  // Summed in float64: a million float32 rows would lose the variance of a feature with a large mean.
  const Tensor wide = cast(data, DType::float64);
  Variable::of(mean_).assign(cast(isochron::mean(wide, reduced_axes_), mean_.dtype()));
  Variable::of(variance_).assign(cast(var(wide, reduced_axes_), variance_.dtype()));
  count_.assign(
      scalar(static_cast<double>(data.elements() / std::max<int64_t>(statistics_shape_.elements(), 1)), DType::int64));
  mean_.eval();
  variance_.eval();
  count_.eval();
}

}  // namespace isochron
