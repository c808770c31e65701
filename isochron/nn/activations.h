// Activations by name ("relu", "softmax", …) or as any function of a tensor, and the functions behind names that are no
// ops (relu, tanh and the like are in ops/elementwise.h).
//
//   Dense(64, {.activation = "celu"});
//   Activation([](const Tensor& x) { return threshold(x, 0.1, -1); });
//
// Names, formulas and defaults are those of Keras and PyTorch.
#pragma once

#include <functional>
#include <string>

#include "isochron/tensor/tensor.h"

namespace isochron {

class ActivationFunction {
 public:
  ActivationFunction() = default;        // linear
  ActivationFunction(const char* name);  // nullptr: linear
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

Tensor relu6(const Tensor& x);
Tensor softsign(const Tensor& x);  // x / (1 + |x|)
Tensor mish(const Tensor& x);      // x tanh(softplus(x))
Tensor log_sigmoid(const Tensor& x);
Tensor hard_sigmoid(const Tensor& x);                                 // x / 6 + 0.5 between 0 and 1
Tensor hard_silu(const Tensor& x);                                    // x hard_sigmoid(x)
Tensor hard_tanh(const Tensor& x, double low = -1, double high = 1);  // x between the two
// x where x > 0, alpha (exp(x / alpha) - 1) elsewhere. ValueError unless alpha is positive.
Tensor celu(const Tensor& x, double alpha = 1);
// The first half along the axis times the sigmoid of the second. ShapeError unless there are two halves.
Tensor glu(const Tensor& x, int64_t axis = -1);
Tensor hard_shrink(const Tensor& x, double threshold = 0.5);  // 0 where |x| <= threshold
Tensor soft_shrink(const Tensor& x, double threshold = 0.5);  // nearer to 0 by the threshold, and not beyond
Tensor tanh_shrink(const Tensor& x);                          // x - tanh(x)
// (x + sqrt(x^2 + b)) / 2. ValueError unless b is positive.
Tensor squareplus(const Tensor& x, double b = 4);
Tensor sparse_plus(const Tensor& x);                            // 0 below -1, x above 1, (x + 1)^2 / 4 between
Tensor sparse_sigmoid(const Tensor& x);                         // (x + 1) / 2 between 0 and 1
Tensor threshold(const Tensor& x, double limit, double value);  // x where x > limit, value elsewhere
// The nearest distribution to x along the axis: non-negative numbers that sum to 1, many of them 0.
Tensor sparsemax(const Tensor& x, int64_t axis = -1);

}  // namespace isochron
