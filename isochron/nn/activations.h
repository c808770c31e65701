// Activations by name ("relu", "softmax", …) or as any function of a tensor.
#pragma once

#include <functional>
#include <string>

#include "isochron/tensor/tensor.h"

namespace isochron {

class ActivationFunction {
 public:
  ActivationFunction() = default;  // linear
  ActivationFunction(const char* name);
  ActivationFunction(const std::string& name) : ActivationFunction(name.c_str()) {}
  template <class F>
  requires std::is_invocable_r_v<Tensor, F, const Tensor&> ActivationFunction(F f)
      : name_("custom"), function_(std::move(f)) {}

  Tensor operator()(const Tensor& x) const { return function_ ? function_(x) : x; }
  const std::string& name() const { return name_; }

 private:
  std::string name_ = "linear";
  std::function<Tensor(const Tensor&)> function_;
};

}  // namespace isochron
