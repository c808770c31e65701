#include "isochron/nn/activations.h"

#include <map>

#include "isochron/base/names.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/softmax.h"

namespace isochron {
namespace {

using Maker = Tensor (*)(const Tensor&);
const std::map<std::string_view, Maker>& named() {
  static const std::map<std::string_view, Maker> functions = {
      {"linear", [](const Tensor& x) { return x; }},
      {"relu", [](const Tensor& x) { return relu(x); }},
      {"relu6", [](const Tensor& x) { return clip(x, 0, 6); }},
      {"leaky_relu", [](const Tensor& x) { return leaky_relu(x); }},
      {"elu", [](const Tensor& x) { return elu(x); }},
      {"selu", [](const Tensor& x) { return selu(x); }},
      {"gelu", [](const Tensor& x) { return gelu(x); }},
      {"silu", [](const Tensor& x) { return silu(x); }},
      {"swish", [](const Tensor& x) { return silu(x); }},
      {"softplus", [](const Tensor& x) { return softplus(x); }},
      {"softsign", [](const Tensor& x) { return x / (abs(x) + 1); }},
      {"sigmoid", [](const Tensor& x) { return sigmoid(x); }},
      {"hard_sigmoid", [](const Tensor& x) { return clip(x / 6 + 0.5, 0, 1); }},
      {"tanh", [](const Tensor& x) { return tanh(x); }},
      {"exponential", [](const Tensor& x) { return exp(x); }},
      {"mish", [](const Tensor& x) { return x * tanh(softplus(x)); }},
      {"softmax", [](const Tensor& x) { return softmax(x); }},
      {"log_softmax", [](const Tensor& x) { return log_softmax(x); }},
      {"log_sigmoid", [](const Tensor& x) { return -softplus(-x); }},
      {"hard_silu", [](const Tensor& x) { return x * clip(x / 6 + 0.5, 0, 1); }},
      {"hard_swish", [](const Tensor& x) { return x * clip(x / 6 + 0.5, 0, 1); }},
  };
  return functions;
}

}  // namespace

ActivationFunction::ActivationFunction(const char* name) : name_(name) {
  const auto found = named().find(name_);
  if (found == named().end()) {
    std::vector<std::string_view> known;
    for (const auto& [key, f] : named()) known.push_back(key);
    fail<ValueError>("activation", "unknown activation \"{}\"{}", name, did_you_mean(name, known));
  }
  if (name_ != "linear") function_ = found->second;
}

}  // namespace isochron
