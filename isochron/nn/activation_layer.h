// Activation: a function of each element (or, for softmax, of each row) as a layer of its own.
//
//   Sequential{Dense(64), Activation("relu"), Dense(10), Activation("softmax")};
//   Activation([](const Tensor& x) { return x * sigmoid(1.7 * x); });
//
// ValueError, with a suggestion, for an unknown name.
#pragma once

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

}  // namespace isochron
