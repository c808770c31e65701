#include "isochron/nn/activation_layer.h"

#include "isochron/nn/attention_scores.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/softmax.h"

namespace isochron {

ReLU::ReLU(ReLUOptions options) : options_(std::move(options)) {
  for (const auto& [name, value] :
       {std::pair("max_value", options_.max_value.value_or(0)), std::pair("negative_slope", options_.negative_slope),
        std::pair("threshold", options_.threshold)})
    if (!(value >= 0)) fail<ValueError>("ReLU", "{} must not be negative, got {}", name, value);
  set_name(options_.name);
}

Tensor ReLU::call(const Tensor& x, const CallContext&) {
  const ReLUOptions& o = options_;
  Tensor y = o.threshold == 0 && o.negative_slope == 0 ? relu(x)
             : o.threshold == 0                        ? leaky_relu(x, o.negative_slope)
                                : where(x >= o.threshold, x, o.negative_slope * (x - o.threshold));
  return o.max_value ? minimum(y, *o.max_value) : y;
}

Tensor LeakyReLU::call(const Tensor& x, const CallContext&) { return leaky_relu(x, options_.negative_slope); }
Tensor ELU::call(const Tensor& x, const CallContext&) { return elu(x, options_.alpha); }
Tensor Softmax::call(const Tensor& x, const CallContext& context) {
  // A mask of fewer axes says which steps count, not which elements: it goes on as it is.
  if (!context.mask.defined() || context.mask.rank() != x.rank()) return softmax(x, options_.axis);
  if (!broadcasts_to(context.mask.shape(), x.shape()))
    fail<ShapeError>("Softmax", "the mask must fit the input {}, got {}", x.shape(), context.mask.shape());
  return softmax_of_seen(x, context.mask, options_.axis);
}

void PReLU::build(const Shape& input) {
  Shape slopes = input;
  for (const int64_t axis : options_.shared_axes) {
    if (axis < 1 || axis > input.rank())
      fail<ValueError>("PReLU", "shared_axes must be in [1, {}] for examples of shape {}, got {}", input.rank(), input,
                       axis);
    slopes = slopes.with(static_cast<int>(axis) - 1, 1);
  }
  alpha_ = add_weight("alpha", slopes, options_.alpha_initializer,
                      {.regularizer = options_.alpha_regularizer, .constraint = options_.alpha_constraint});
}
Tensor PReLU::call(const Tensor& x, const CallContext&) { return relu(x) - cast(alpha_, x.dtype()) * relu(-x); }

}  // namespace isochron
