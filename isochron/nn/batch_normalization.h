// BatchNormalization: every feature gets mean 0 and variance 1 over the batch, then a learned scale and shift.
//
//   Sequential{Dense(64), BatchNormalization(), Activation("relu"), Dense(10)};
//   BatchNormalization({.momentum = 0.9, .epsilon = 1e-5});
//
// Steps that a mask of the input hides do not count in the statistics.
// While training, the batch's own statistics are used and moving averages of them are kept, updated by the same plan
// that takes the step. Otherwise, and in a layer that is frozen, the moving averages are used. Arguments and defaults
// are those of Keras.
#pragma once

#include "isochron/nn/layer.h"

namespace isochron {

struct BatchNormalizationOptions {
  int64_t axis = -1;  // of the features, counted with the batch axis
  double momentum = 0.99;
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer = "zeros";
  Initializer gamma_initializer = "ones";
  Initializer moving_mean_initializer = "zeros";
  Initializer moving_variance_initializer = "ones";
  Regularizer beta_regularizer = {};
  Regularizer gamma_regularizer = {};
  Constraint beta_constraint = {};
  Constraint gamma_constraint = {};
  DType dtype = DType::float32;
  std::string dtype_policy = {};  // see Layer::set_dtype_policy(); empty: as the model says
  std::string name = {};
};
ISO_OPTIONS(BatchNormalizationOptions, axis, momentum, epsilon, center, scale, beta_initializer, gamma_initializer,
            moving_mean_initializer, moving_variance_initializer, beta_regularizer, gamma_regularizer, beta_constraint,
            gamma_constraint, dtype, dtype_policy, name)

class BatchNormalization : public Layer {
 public:
  // ValueError unless momentum is in [0, 1] and epsilon is positive.
  explicit BatchNormalization(BatchNormalizationOptions options = {});
  ISO_LAYER(BatchNormalization)
  ISO_ARGUMENTS(options_)
  bool supports_masking() const override { return true; }
  void build(const Shape& input) override;
  Tensor call(const Tensor& x, const CallContext& context) override;
  Shape output_shape(const Shape& input) const override { return input; }

 private:
  BatchNormalizationOptions options_;
  Variable gamma_, beta_, moving_mean_, moving_variance_;
};

// What the layer and nn::BatchNorm compute when statistics are given: (x - mean) / sqrt(variance + epsilon) * gamma +
// beta over the last axis. gamma and beta may be undefined.
Tensor normalize_by(const Tensor& x, const Tensor& mean, const Tensor& variance, const Tensor& gamma,
                    const Tensor& beta, double epsilon);
// The axis as the last one, and back.
Tensor to_last(const Tensor& x, int axis);
Tensor from_last(const Tensor& x, int axis);

}  // namespace isochron
