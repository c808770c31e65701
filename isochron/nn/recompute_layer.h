// Recompute: a block whose activations are not kept for the backward pass but computed again (gradient checkpointing).
//
//   Sequential model{Recompute(Sequential{Dense(512, {.activation = "gelu"}), Dense(128)}), Dense(10)};
//
// Results and gradients are the same; the plan takes less memory and the step one more forward pass of the block.
#pragma once

#include "isochron/graph/recompute.h"
#include "isochron/nn/layer.h"

namespace isochron {

class Recompute : public Layer {
 public:
  explicit Recompute(const AnyLayer& block, LayerOptions options = {}) {
    set_name(std::move(options.name));
    add_sublayer(block.get());
  }
  ISO_LAYER(Recompute)
  ISO_ARGUMENTS(block())
  const std::shared_ptr<Layer>& block() const { return parts()[0]; }
  void build(const Shape& input) override { parts()[0]->ensure_built(input); }
  Tensor call(const Tensor& x, const CallContext& context) override {
    const Tensor y = (*parts()[0])(x, context);
    return recompute(y, {x}, parts()[0]->trainable_variables());
  }
  Shape output_shape(const Shape& input) const override { return parts()[0]->output_shape(input); }
};

}  // namespace isochron
