// Layers around other layers: Bidirectional reads a sequence both ways, TimeDistributed applies a layer to every step,
// SpectralNormalization keeps a kernel's largest singular value near 1.
//
//   Bidirectional(LSTM(32, {.return_sequences = true}));                     // (batch, time, 64)
//   Bidirectional(GRU(16), {.merge_mode = "sum"});
//   Bidirectional(LSTM(32, {.return_state = true}))(SymbolicTensors{x});     // output, h and c forward, h and c back
//   TimeDistributed(Dense(8));                                               // (batch, time, …) -> (batch, time, 8)
//   SpectralNormalization(Conv2D(32, 3), {.power_iterations = 2});
#pragma once

#include "isochron/nn/recurrent.h"

namespace isochron {

// concat, sum, mul, ave; none, or nullptr: both as a list, forward first.
struct MergeMode : std::string {
  MergeMode(const char* mode) : std::string(mode ? mode : "none") {}
  MergeMode(std::string mode) : std::string(std::move(mode)) {}
};

struct BidirectionalOptions {
  MergeMode merge_mode = "concat";
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

struct SpectralNormalizationOptions {
  int64_t power_iterations = 1;
  std::string name = {};
};
ISO_OPTIONS(SpectralNormalizationOptions, power_iterations, name)

// While training, every call first divides the layer's kernel (or embeddings) by its largest singular value, as found
// by power iterations that go on from call to call, and writes it back. ValueError when the layer has no kernel.
class SpectralNormalization : public Layer {
 public:
  explicit SpectralNormalization(const AnyLayer& layer, SpectralNormalizationOptions options = {});
  ISO_LAYER(SpectralNormalization)
  ISO_ARGUMENTS(layer_, options_)
  bool supports_masking() const override { return layer_->supports_masking(); }
  Tensor compute_mask(const Tensor& x, const Tensor& mask) override { return layer_->compute_mask(x, mask); }
  void build(const Shape& input) override;
  Tensor call(const Tensor& x, const CallContext& context) override;
  Shape output_shape(const Shape& input) const override { return layer_->output_shape(input); }
  Variable kernel() const { return kernel_; }  // the layer's

 private:
  std::shared_ptr<Layer> layer_;
  SpectralNormalizationOptions options_;
  Variable kernel_, vector_u_;
};

}  // namespace isochron
