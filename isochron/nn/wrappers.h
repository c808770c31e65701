// Layers around other layers: Bidirectional reads a sequence both ways, TimeDistributed applies a layer to every step.
//
//   Bidirectional(LSTM(32, {.return_sequences = true}));                     // (batch, time, 64)
//   Bidirectional(GRU(16), {.merge_mode = "sum"});
//   Bidirectional(LSTM(32, {.return_state = true}))(SymbolicTensors{x});     // output, h and c forward, h and c back
//   TimeDistributed(Dense(8));                                               // (batch, time, …) -> (batch, time, 8)
#pragma once

#include "isochron/nn/recurrent.h"

namespace isochron {

struct BidirectionalOptions {
  std::string merge_mode = "concat";  // concat, sum, mul, ave; none: both as a list, forward first
  std::string name = {};
};
ISO_OPTIONS(BidirectionalOptions, merge_mode, name)

class Bidirectional : public Layer {
 public:
  // The layer must not be built yet: a second one is made for the way back.
  template <class L>
  requires std::is_base_of_v<RecurrentLayer, L>
  explicit Bidirectional(const L& layer, BidirectionalOptions options = {})
      : Bidirectional(layer.another(), std::move(options)) {}
  ISO_LAYER(Bidirectional)
  ISO_ARGUMENTS(layer_, options_)
  static Bidirectional from_arguments(const std::shared_ptr<Layer>& layer, BidirectionalOptions options);
  void build(const Shape& input) override;
  Tensor call(const Tensor& x, const CallContext& context) override;
  Tensor compute_mask(const Tensor& x, const Tensor& mask) override { return forward_->compute_mask(x, mask); }
  // (x, initial states…) -> (output or outputs, states…): states of the way forward, then of the way back.
  bool many() const override { return options_.merge_mode == "none" || forward_->settings().return_state; }
  bool takes_lists() const override { return true; }
  std::vector<Tensor> call_many(const std::vector<Tensor>& inputs, const CallContext& context) override;
  Shape output_shape(const Shape& input) const override;

 private:
  // Results of both, the second in the order of the input.
  std::pair<RecurrentResult, RecurrentResult> both_ways(const std::vector<Tensor>& inputs, const CallContext& context);
  Tensor merged(const Tensor& forward, const Tensor& back) const;
  Bidirectional(std::shared_ptr<RecurrentLayer> layer, BidirectionalOptions options);
  std::shared_ptr<Layer> layer_;  // as it was given; never built
  std::shared_ptr<RecurrentLayer> forward_, backward_;
  BidirectionalOptions options_;
};

class TimeDistributed : public Layer {
 public:
  explicit TimeDistributed(const AnyLayer& layer, LayerOptions options = {});
  ISO_LAYER(TimeDistributed)
  ISO_ARGUMENTS(layer_)
  bool supports_masking() const override { return true; }
  void build(const Shape& input) override;
  Tensor call(const Tensor& x, const CallContext& context) override;
  Shape output_shape(const Shape& input) const override;

 private:
  std::shared_ptr<Layer> layer_;
};

}  // namespace isochron
