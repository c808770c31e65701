// Functions of each element (or, for softmax, of each row) as layers of their own.
//
//   Sequential{Dense(64), Activation("relu"), Dense(10), Activation("softmax")};
//   Activation([](const Tensor& x) { return x * sigmoid(1.7 * x); });
//   Sequential{Conv2D(8, 3), LeakyReLU({.negative_slope = 0.1}), Conv2D(8, 3), PReLU({.shared_axes = {1, 2}})};
//
// ValueError, with a suggestion, for an unknown name.
#pragma once

#include <optional>

#include "isochron/nn/activations.h"
#include "isochron/nn/layer.h"

namespace isochron {

class Activation : public Layer {
 public:
  explicit Activation(ActivationFunction activation, LayerOptions options = {}) : activation_(std::move(activation)) {
    set_name(std::move(options.name));
  }
  ISO_LAYER(Activation)
  ISO_ARGUMENTS(activation_)
  bool supports_masking() const override { return true; }
  Tensor call(const Tensor& x, const CallContext&) override { return activation_(x); }

 private:
  ActivationFunction activation_;
};

struct ReLUOptions {
  std::optional<double> max_value = {};
  double negative_slope = 0;  // below the threshold
  double threshold = 0;       // below which there is nothing, or the slope
  std::string name = {};
};
ISO_OPTIONS(ReLUOptions, max_value, negative_slope, threshold, name)
// ValueError for a negative option.
class ReLU : public Layer {
 public:
  explicit ReLU(ReLUOptions options = {});
  ISO_LAYER(ReLU)
  ISO_ARGUMENTS(options_)
  bool supports_masking() const override { return true; }
  Tensor call(const Tensor& x, const CallContext&) override;

 private:
  ReLUOptions options_;
};

struct LeakyReLUOptions {
  double negative_slope = 0.3;
  std::string name = {};
};
ISO_OPTIONS(LeakyReLUOptions, negative_slope, name)
class LeakyReLU : public Layer {
 public:
  explicit LeakyReLU(LeakyReLUOptions options = {}) : options_(std::move(options)) { set_name(options_.name); }
  ISO_LAYER(LeakyReLU)
  ISO_ARGUMENTS(options_)
  bool supports_masking() const override { return true; }
  Tensor call(const Tensor& x, const CallContext&) override;

 private:
  LeakyReLUOptions options_;
};

struct ELUOptions {
  double alpha = 1;
  std::string name = {};
};
ISO_OPTIONS(ELUOptions, alpha, name)
class ELU : public Layer {
 public:
  explicit ELU(ELUOptions options = {}) : options_(std::move(options)) { set_name(options_.name); }
  ISO_LAYER(ELU)
  ISO_ARGUMENTS(options_)
  bool supports_masking() const override { return true; }
  Tensor call(const Tensor& x, const CallContext&) override;

 private:
  ELUOptions options_;
};

struct PReLUOptions {
  Initializer alpha_initializer = "zeros";
  Regularizer alpha_regularizer = {};
  Constraint alpha_constraint = {};
  std::vector<int64_t> shared_axes = {};  // along which one slope serves all, counted with the batch as axis 0
  std::string name = {};
};
ISO_OPTIONS(PReLUOptions, alpha_initializer, alpha_regularizer, alpha_constraint, shared_axes, name)
// A leaky rectifier that learns its slopes.
class PReLU : public Layer {
 public:
  explicit PReLU(PReLUOptions options = {}) : options_(std::move(options)) { set_name(options_.name); }
  ISO_LAYER(PReLU)
  ISO_ARGUMENTS(options_)
  bool supports_masking() const override { return true; }
  void build(const Shape& input) override;
  Tensor call(const Tensor& x, const CallContext&) override;
  Variable alpha() const { return alpha_; }

 private:
  PReLUOptions options_;
  Variable alpha_;
};

struct SoftmaxOptions {
  int64_t axis = -1;  // with the batch as axis 0
  std::string name = {};
};
ISO_OPTIONS(SoftmaxOptions, axis, name)
// Elements that a mask of the input's rank hides get no share: Softmax()(scores, {.mask = …}).
class Softmax : public Layer {
 public:
  explicit Softmax(SoftmaxOptions options = {}) : options_(std::move(options)) { set_name(options_.name); }
  ISO_LAYER(Softmax)
  ISO_ARGUMENTS(options_)
  bool supports_masking() const override { return true; }
  Tensor call(const Tensor& x, const CallContext& context) override;

 private:
  SoftmaxOptions options_;
};

}  // namespace isochron
