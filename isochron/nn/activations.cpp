#include "isochron/nn/activations.h"

#include <map>

#include "isochron/base/names.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/reduce.h"

namespace isochron {
namespace {

Tensor stable_softmax(const Tensor& x) {
  const Tensor e = exp(x - stop_gradient(max(x, {-1}, true)));
  return e / sum(e, {-1}, true);
}

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
      {"softmax", stable_softmax},
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
