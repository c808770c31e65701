#include "isochron/nn/dense.h"

#include "isochron/ops/elementwise.h"
#include "isochron/ops/matmul.h"

namespace isochron {

Dense::Dense(int64_t units, DenseOptions options) : units_(units), options_(std::move(options)) {
  if (units < 1) fail<ValueError>("Dense", "units must be at least 1, got {}", units);
  take_common(options_);
}

void Dense::build(const Shape& input) {
  if (input.rank() < 1)
    fail<ShapeError>(
        "Dense", "needs (batch, …, features), got examples of shape {}; put Flatten() or Reshape() before it", input);
  if (input[-1] == 0) fail<ShapeError>("Dense", "needs at least one feature, got shape {}", input);
  kernel_ = add_weight(
      "kernel", {input[-1], units_}, options_.kernel_initializer,
      {.regularizer = options_.kernel_regularizer, .constraint = options_.kernel_constraint, .dtype = options_.dtype});
  if (options_.use_bias)
    bias_ = add_weight(
        "bias", {units_}, options_.bias_initializer,
        {.regularizer = options_.bias_regularizer, .constraint = options_.bias_constraint, .dtype = options_.dtype});
}

Tensor Dense::call(const Tensor& x, const CallContext&) {
  const int64_t features = kernel_.shape()[0];
  if (x.rank() < 2 || x.shape()[-1] != features)
    fail<ShapeError>(
        "Dense",
        "input {} has {} features, layer \"{}\" was built for {}; feed what it was built for, or make a new layer",
        x.shape(), x.rank() ? x.shape()[-1] : 0, name(), features);
  Tensor y = matmul(computed(x, options_.dtype), computed(kernel_, options_.dtype));
  if (options_.use_bias) y = y + computed(bias_, options_.dtype);
  return options_.activation(y);
}

Shape Dense::output_shape(const Shape& input) const { return input.with(-1, units_); }

}  // namespace isochron
