#include "isochron/nn/activation_modules.h"

#include <fmt/core.h>

#include "isochron/nn/activations.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/shape_ops.h"
#include "isochron/ops/softmax.h"

namespace isochron::nn {

FunctionModule::FunctionModule(Function function, std::string arguments) : function_(std::move(function)) {
  if (!arguments.empty()) describe(std::move(arguments));
}

ReLU::ReLU() : FunctionModule([](const Tensor& x) { return relu(x); }) {}
ReLU6::ReLU6() : FunctionModule(relu6) {}
Tanh::Tanh() : FunctionModule([](const Tensor& x) { return tanh(x); }) {}
Sigmoid::Sigmoid() : FunctionModule([](const Tensor& x) { return sigmoid(x); }) {}
SELU::SELU() : FunctionModule([](const Tensor& x) { return selu(x); }) {}
SiLU::SiLU() : FunctionModule([](const Tensor& x) { return silu(x); }) {}
Mish::Mish() : FunctionModule(mish) {}
Softsign::Softsign() : FunctionModule(softsign) {}
LogSigmoid::LogSigmoid() : FunctionModule(log_sigmoid) {}
Hardsigmoid::Hardsigmoid() : FunctionModule(hard_sigmoid) {}
Hardswish::Hardswish() : FunctionModule(hard_silu) {}
Tanhshrink::Tanhshrink() : FunctionModule(tanh_shrink) {}

LeakyReLU::LeakyReLU(double slope)
    : FunctionModule([slope](const Tensor& x) { return leaky_relu(x, slope); },
                     fmt::format("negative_slope={}", slope)) {}
ELU::ELU(double alpha)
    : FunctionModule([alpha](const Tensor& x) { return elu(x, alpha); }, fmt::format("alpha={}", alpha)) {}
CELU::CELU(double alpha)
    : FunctionModule([alpha](const Tensor& x) { return celu(x, alpha); }, fmt::format("alpha={}", alpha)) {}
GELU::GELU(const std::string& approximate)
    : FunctionModule([by_tanh = approximate == "tanh"](const Tensor& x) { return gelu(x, by_tanh); },
                     fmt::format("approximate='{}'", approximate)) {
  if (approximate != "none" && approximate != "tanh")
    fail<ValueError>("GELU", "approximate must be \"none\" or \"tanh\", got \"{}\"", approximate);
}
Softplus::Softplus(double beta)
    : FunctionModule([beta](const Tensor& x) { return softplus(x * beta) / beta; }, fmt::format("beta={}", beta)) {}
Hardtanh::Hardtanh(double low, double high)
    : FunctionModule([low, high](const Tensor& x) { return hard_tanh(x, low, high); },
                     fmt::format("min_val={}, max_val={}", low, high)) {}
Hardshrink::Hardshrink(double lambd)
    : FunctionModule([lambd](const Tensor& x) { return hard_shrink(x, lambd); }, fmt::format("{}", lambd)) {}
Softshrink::Softshrink(double lambd)
    : FunctionModule([lambd](const Tensor& x) { return soft_shrink(x, lambd); }, fmt::format("{}", lambd)) {}
Threshold::Threshold(double limit, double value)
    : FunctionModule([limit, value](const Tensor& x) { return threshold(x, limit, value); },
                     fmt::format("threshold={}, value={}", limit, value)) {}
GLU::GLU(int64_t dim) : FunctionModule([dim](const Tensor& x) { return glu(x, dim); }, fmt::format("dim={}", dim)) {}
Softmax::Softmax(int64_t dim)
    : FunctionModule([dim](const Tensor& x) { return softmax(x, dim); }, fmt::format("dim={}", dim)) {}
LogSoftmax::LogSoftmax(int64_t dim)
    : FunctionModule([dim](const Tensor& x) { return log_softmax(x, dim); }, fmt::format("dim={}", dim)) {}

PReLU::PReLU(int64_t num_parameters, double init, DType dtype) {
  if (num_parameters < 1) fail<ValueError>("PReLU", "num_parameters must be at least 1, got {}", num_parameters);
  weight = register_parameter("weight", full({num_parameters}, init, dtype));
  describe(fmt::format("num_parameters={}", num_parameters));
}
Tensor PReLU::forward(Tensor x) {
  const int64_t slopes = weight.elements();
  if (slopes == 1) return relu(x) - weight * relu(-x);
  if (x.rank() < 2 || x.shape()[1] != slopes)
    fail<ShapeError>("PReLU", "has slopes for {} channels on axis 1, got {}", slopes, x.shape());
  std::vector<int64_t> shape(static_cast<size_t>(x.rank()), 1);
  shape[1] = slopes;
  return relu(x) - reshape(weight, shape) * relu(-x);
}

}  // namespace isochron::nn
