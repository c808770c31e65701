// Masks: which steps of a sequence count, carried from layer to layer with the tensors.
//
//   Sequential model{Embedding(1000, 16, {.mask_zero = true}), LSTM(32), Dense(1)};   // the LSTM skips padding
//   Masking(0.0);                                                  // steps whose features are all 0.0 do not count
//   set_mask(x, not_equal(tokens, 0));                             // or by hand
//
// A mask is a bool tensor (batch, time) attached to the handle of a value; it does not change the value. Layers that
// treat all steps alike pass it on, recurrent and attention layers use it, others let it end. The loss of fit() counts
// the steps of a masked prediction that are true, as Keras does.
#pragma once

#include "isochron/nn/layer.h"

namespace isochron {

// The mask attached to a tensor; undefined when there is none.
Tensor mask_of(const Tensor& x);
// Attaches a mask, or takes it away when undefined. DTypeError unless bool.
void set_mask(const Tensor& x, const Tensor& mask);
// What both let through; either may be undefined, as the result is when both are.
Tensor both_masks(const Tensor& a, const Tensor& b);
// With axes of extent 1 behind its own, `rank` in all: what values of that rank are picked by.
Tensor mask_of_rank(const Tensor& mask, int rank);

// Steps in which all features equal mask_value are masked and their features set to zero.
class Masking : public Layer {
 public:
  explicit Masking(double mask_value = 0, LayerOptions options = {});
  ISO_LAYER(Masking)
  ISO_ARGUMENTS(mask_value_)
  Tensor call(const Tensor& x, const CallContext&) override;
  Tensor compute_mask(const Tensor& x, const Tensor& mask) override;
  Shape output_shape(const Shape& input) const override { return input; }

 private:
  double mask_value_;
};

}  // namespace isochron
