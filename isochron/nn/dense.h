// Dense: activation(x W + b), W (features, units).
//
//   Dense(128, {.activation = "relu", .kernel_initializer = "he_normal"});
#pragma once

#include "isochron/nn/activations.h"
#include "isochron/nn/layer.h"

namespace isochron {

struct DenseOptions {
  ActivationFunction activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};  // of what the layer gives
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  DType dtype = DType::float32;
  std::string dtype_policy = {};  // see Layer::set_dtype_policy(); empty: as the model says
  std::string name = {};
};
ISO_OPTIONS(DenseOptions, activation, use_bias, kernel_initializer, bias_initializer, kernel_regularizer,
            bias_regularizer, activity_regularizer, kernel_constraint, bias_constraint, dtype, dtype_policy, name)

class Dense : public Layer {
 public:
  // ValueError unless units is positive.
  explicit Dense(int64_t units, DenseOptions options = {});
  Dense(int64_t units, const char* activation) : Dense(units, DenseOptions{.activation = activation}) {}
  ISO_LAYER(Dense)
  ISO_ARGUMENTS(units_, options_)
  bool supports_masking() const override { return true; }
  void build(const Shape& input) override;
  Tensor call(const Tensor& x, const CallContext& context) override;
  Shape output_shape(const Shape& input) const override;
  Variable kernel() const { return kernel_; }
  Variable bias() const { return bias_; }

 private:
  int64_t units_;
  DenseOptions options_;
  Variable kernel_, bias_;
};

}  // namespace isochron
