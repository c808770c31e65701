// Normalisation of each example by itself: LayerNormalization, GroupNormalization, RMSNormalization, UnitNormalization.
//
//   LayerNormalization({.epsilon = 1e-5});
//   GroupNormalization({.groups = 8});               // -1: one group a channel
//   RMSNorm();
//
// Arguments and defaults are those of Keras; axes are counted with the batch axis.
#pragma once

#include "isochron/nn/layer.h"

namespace isochron {

struct LayerNormalizationOptions {
  std::vector<int64_t> axis = {-1};  // normalised together; gamma and beta have their shape
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer = "zeros";
  Initializer gamma_initializer = "ones";
  Regularizer beta_regularizer = {};
  Regularizer gamma_regularizer = {};
  Constraint beta_constraint = {};
  Constraint gamma_constraint = {};
  DType dtype = DType::float32;
  std::string dtype_policy = {};  // see Layer::set_dtype_policy(); empty: as the model says
  std::string name = {};
};
ISO_OPTIONS(LayerNormalizationOptions, axis, epsilon, center, scale, beta_initializer, gamma_initializer,
            beta_regularizer, gamma_regularizer, beta_constraint, gamma_constraint, dtype, dtype_policy, name)

class LayerNormalization : public Layer {
 public:
  explicit LayerNormalization(LayerNormalizationOptions options = {});
  ISO_LAYER(LayerNormalization)
  ISO_ARGUMENTS(options_)
  bool supports_masking() const override { return true; }
  void build(const Shape& input) override;
  Tensor call(const Tensor& x, const CallContext& context) override;
  Shape output_shape(const Shape& input) const override { return input; }

 private:
  LayerNormalizationOptions options_;
  std::vector<int64_t> order_;  // axes, the normalised ones last
  Shape features_;
  Variable gamma_, beta_;
};

struct GroupNormalizationOptions {
  int64_t groups = 32;
  int64_t axis = -1;
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer = "zeros";
  Initializer gamma_initializer = "ones";
  Regularizer beta_regularizer = {};
  Regularizer gamma_regularizer = {};
  Constraint beta_constraint = {};
  Constraint gamma_constraint = {};
  DType dtype = DType::float32;
  std::string dtype_policy = {};  // see Layer::set_dtype_policy(); empty: as the model says
  std::string name = {};
};
ISO_OPTIONS(GroupNormalizationOptions, groups, axis, epsilon, center, scale, beta_initializer, gamma_initializer,
            beta_regularizer, gamma_regularizer, beta_constraint, gamma_constraint, dtype, dtype_policy, name)

class GroupNormalization : public Layer {
 public:
  explicit GroupNormalization(GroupNormalizationOptions options = {});
  ISO_LAYER(GroupNormalization)
  ISO_ARGUMENTS(options_)
  bool supports_masking() const override { return true; }
  void build(const Shape& input) override;
  Tensor call(const Tensor& x, const CallContext& context) override;
  Shape output_shape(const Shape& input) const override { return input; }

 private:
  GroupNormalizationOptions options_;
  int64_t groups_ = 0;
  Variable gamma_, beta_;
};

struct RMSNormalizationOptions {
  double epsilon = 1e-6;
  DType dtype = DType::float32;
  std::string dtype_policy = {};  // see Layer::set_dtype_policy(); empty: as the model says
  std::string name = {};
};
ISO_OPTIONS(RMSNormalizationOptions, epsilon, dtype, dtype_policy, name)

// x / sqrt(mean(x^2) + epsilon) * scale over the last axis.
class RMSNormalization : public Layer {
 public:
  explicit RMSNormalization(RMSNormalizationOptions options = {});
  ISO_LAYER(RMSNormalization)
  ISO_ARGUMENTS(options_)
  bool supports_masking() const override { return true; }
  void build(const Shape& input) override;
  Tensor call(const Tensor& x, const CallContext& context) override;
  Shape output_shape(const Shape& input) const override { return input; }

 private:
  RMSNormalizationOptions options_;
  Variable scale_;
};
using RMSNorm = RMSNormalization;

struct UnitNormalizationOptions {
  std::vector<int64_t> axis = {-1};  // along which squares sum to 1
  std::string name = {};
};
ISO_OPTIONS(UnitNormalizationOptions, axis, name)

// Vectors of length 1; those of length 0 stay.
class UnitNormalization : public Layer {
 public:
  explicit UnitNormalization(UnitNormalizationOptions options = {});
  ISO_LAYER(UnitNormalization)
  ISO_ARGUMENTS(options_)
  bool supports_masking() const override { return true; }
  Tensor call(const Tensor& x, const CallContext& context) override;
  Shape output_shape(const Shape& input) const override { return input; }

 private:
  UnitNormalizationOptions options_;
};

}  // namespace isochron
