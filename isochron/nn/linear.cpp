#include "isochron/nn/linear.h"

#include <cmath>

#include "isochron/nn/initializers.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/matmul.h"

namespace isochron::nn {

Linear::Linear(int64_t in_features, int64_t out_features, LinearOptions options) {
  if (in_features < 1 || out_features < 1)
    fail<ValueError>("Linear", "needs at least one feature in and out, got {} and {}", in_features, out_features);
  // Kaiming's uniform bound with a = sqrt(5): sqrt(6 / ((1 + a^2) in)).
  const double bound = 1 / std::sqrt(static_cast<double>(in_features));
  const Initializer uniform = initializers::random_uniform({.minval = -bound, .maxval = bound});
  weight = register_parameter("weight", uniform({out_features, in_features}, options.dtype));
  if (options.bias) bias = register_parameter("bias", uniform({out_features}, options.dtype));
  describe(fmt::format("in_features={}, out_features={}, bias={}", in_features, out_features,
                       options.bias ? "True" : "False"));
}

Tensor Linear::forward(Tensor x) {
  if (x.rank() < 1 || x.shape()[-1] != weight.shape()[1])
    fail<ShapeError>("Linear", "takes (…, {}), got {}", weight.shape()[1], x.shape());
  if (x.dtype() != weight.dtype())
    fail<DTypeError>("Linear", "takes {}, got {}; convert with x.to(…)", weight.dtype(), x.dtype());
  const Tensor y = matmul(x, weight, {.transpose_b = true});
  return bias.defined() ? y + bias : y;
}

}  // namespace isochron::nn
