#include "isochron/nn/clip_grad.h"

#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"

namespace isochron::nn::utils {
namespace {

void not_negative(const char* function, const char* what, double value) {
  if (!(value >= 0)) fail<ValueError>(function, "{} must not be negative, got {}", what, value);
}

template <class F>
void each_gradient(const Parameters& parameters, F&& clipped) {
  for (const Variable& parameter : parameters)
    if (const Tensor gradient = parameter.grad(); gradient.defined())
      parameter.state()->gradient = clipped(gradient).state();
}

}  // namespace

Tensor clip_grad_norm_(const Parameters& parameters, double max_norm, double norm_type) {
  not_negative("clip_grad_norm_", "max_norm", max_norm);
  if (!(norm_type > 0)) fail<ValueError>("clip_grad_norm_", "norm_type must be positive, got {}", norm_type);
  std::vector<Tensor> norms;
  for (const Variable& parameter : parameters)
    if (const Tensor gradient = parameter.grad(); gradient.defined())
      norms.push_back(cast(norm(gradient, norm_type), DType::float64));
  if (norms.empty()) return scalar(0);
  const Tensor total = norm(stack(norms), norm_type);
  // PyTorch's, small number included.
  const Tensor share = minimum(max_norm / (total + 1e-6), 1);
  each_gradient(parameters, [&](const Tensor& gradient) { return gradient * cast(share, gradient.dtype()); });
  return total;
}

void clip_grad_value_(const Parameters& parameters, double clip_value) {
  not_negative("clip_grad_value_", "clip_value", clip_value);
  each_gradient(parameters, [&](const Tensor& gradient) { return clip(gradient, -clip_value, clip_value); });
}

}  // namespace isochron::nn::utils
