// EinsumDense: activation(einsum(equation, x, W) + b), a Dense layer over any axes, with Keras' arguments and weights.
//
//   EinsumDense("abc,cd->abd", {-1, 64}, {.bias_axes = "d"});        // Dense(64) of every step: (batch, time, 64)
//   EinsumDense("...x,xy->...y", 64, {.activation = "relu"});        // of whatever stands before the last axis
//   EinsumDense("abc,cde->abde", {-1, 8, 16}, {.bias_axes = "de"});  // what a projection to 8 heads does
#pragma once

#include "isochron/nn/activations.h"
#include "isochron/nn/spatial_layer.h"

namespace isochron {

struct EinsumDenseOptions {
  ActivationFunction activation = {};
  std::string bias_axes = {};  // letters of the output that have a bias of their own; none: no bias
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
ISO_OPTIONS(EinsumDenseOptions, activation, bias_axes, kernel_initializer, bias_initializer, kernel_regularizer,
            bias_regularizer, activity_regularizer, kernel_constraint, bias_constraint, dtype, dtype_policy, name)

// Weights: kernel, with an axis for each of its letters; bias, from the first of its letters in the output on, 1 where
// it has no letter.
class EinsumDense : public Layer {
 public:
  // The equation is "input,kernel->output", with an ellipsis at the same end of input and output if at all; the batch
  // comes first. output_shape has an extent for each letter of the output but the batch (with an ellipsis in front: for
  // each letter), -1 where the input tells it. ValueError for an equation of another form, and, when it is built, for
  // letters without a place; ShapeError for inputs that do not fit.
  EinsumDense(std::string equation, Sizes output_shape, EinsumDenseOptions options = {});
  ISO_LAYER(EinsumDense)
  ISO_ARGUMENTS(equation_, output_shape_, options_)
  void build(const Shape& input) override;
  Tensor call(const Tensor& x, const CallContext& context) override;
  Shape output_shape(const Shape& input) const override;
  Variable kernel() const { return kernel_; }
  Variable bias() const { return bias_; }

 private:
  struct Shapes;
  Shapes shapes_for(const Shape& input) const;

  std::string equation_;
  Sizes output_shape_;
  EinsumDenseOptions options_;
  std::string input_, weight_, output_;  // letters
  bool dots_first_ = false, dots_last_ = false;
  Variable kernel_, bias_;
};

}  // namespace isochron
