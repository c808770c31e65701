// Transformers in the manner of PyTorch: layers of encoders and decoders, stacks of them, and both together.
//
//   nn::TransformerEncoder encoder{nn::TransformerEncoderLayer(64, 4, {.dim_feedforward = 256}), 6};
//   Tensor memory = encoder(source, {.src_key_padding_mask = is_padding});
//   nn::TransformerDecoder decoder{nn::TransformerDecoderLayer(64, 4), 6};
//   Tensor y = decoder(target, memory, {.tgt_is_causal = true});
//
//   nn::Transformer model({.d_model = 64, .nhead = 4, .num_encoder_layers = 3, .batch_first = true});
//   Tensor y = model(source, target, {.tgt_mask = nn::Transformer::generate_square_subsequent_mask(length)});
//
// Sequences and masks are those of nn::MultiheadAttention (nn/attention_modules.h). {.tgt_is_causal = true} does what
// the mask of generate_square_subsequent_mask() does without storing all scores.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isochron/nn/attention_modules.h"
#include "isochron/nn/module_list.h"
#include "isochron/nn/norm_modules.h"
#include "isochron/nn/shape_modules.h"

namespace isochron::nn {

struct TransformerModuleOptions {
  int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  std::string activation = "relu";  // or "gelu"
  double layer_norm_eps = 1e-5;
  bool batch_first = false;
  bool norm_first = false;
  bool bias = true;
  DType dtype = DType::float32;
};

// What layers of encoders and decoders have in common.
class TransformerModuleLayer : public Module {
 public:
  MultiheadAttention self_attn;
  Linear linear1, linear2;
  LayerNorm norm1, norm2;
  Dropout dropout;

 protected:
  // Registers self_attn; register_rest() the others, in between comes what a layer has of its own.
  TransformerModuleLayer(const char* kind, int64_t d_model, int64_t nhead, TransformerModuleOptions options);
  void register_rest();
  // x + part(x) with a norm before the part or after the sum.
  template <class F>
  Tensor with_residual(const Tensor& x, LayerNorm& norm, F part);
  // The part that looks at no other step.
  Tensor feed_forward(const Tensor& x);
  MultiheadAttention another_attention() const;
  LayerNorm another_norm() const;
  template <class Layer>
  Layer another_of() const {
    Layer copy(features_, heads_, options_);
    copy.load_state_dict(state_dict());
    return copy;
  }

 private:
  int64_t features_, heads_;
  TransformerModuleOptions options_;
};

struct EncoderCall {
  Tensor src_mask = {};              // as attn_mask
  Tensor src_key_padding_mask = {};  // (N, S)
  bool is_causal = false;
};

class TransformerEncoderLayer : public TransformerModuleLayer {
 public:
  TransformerEncoderLayer(int64_t d_model, int64_t nhead, TransformerModuleOptions options = {});
  Tensor forward(Tensor x) override { return run(x); }
  Tensor run(const Tensor& x, const EncoderCall& call = {});
  using Module::operator();
  Tensor operator()(const Tensor& x, const EncoderCall& call) { return run(x, call); }
  // Another layer like this one, with weights of its own that start at the values of this one's.
  TransformerEncoderLayer another() const { return another_of<TransformerEncoderLayer>(); }
};

struct DecoderCall {
  Tensor tgt_mask = {}, memory_mask = {};
  Tensor tgt_key_padding_mask = {}, memory_key_padding_mask = {};
  bool tgt_is_causal = false, memory_is_causal = false;
};

class TransformerDecoderLayer : public TransformerModuleLayer {
 public:
  TransformerDecoderLayer(int64_t d_model, int64_t nhead, TransformerModuleOptions options = {});
  Tensor run(const Tensor& x, const Tensor& memory, const DecoderCall& call = {});
  Tensor operator()(const Tensor& x, const Tensor& memory, const DecoderCall& call = {}) {
    return run(x, memory, call);
  }
  TransformerDecoderLayer another() const { return another_of<TransformerDecoderLayer>(); }

  MultiheadAttention multihead_attn;
  LayerNorm norm3;
};

// Copies of a layer one after the other, which start alike and are trained apart, and a norm behind them if given.
template <class Layer>
class TransformerStack : public Module {
 protected:
  TransformerStack(const char* kind, const Layer& layer, int64_t num_layers, std::optional<LayerNorm> norm)
      : norm_(std::move(norm)) {
    if (num_layers < 1) fail<ValueError>(kind, "num_layers must be positive, got {}", num_layers);
    ModuleList layers;
    for (int64_t i = 0; i < num_layers; ++i) layers.append(layers_.emplace_back(layer.another()));
    register_module("layers", layers);
    if (norm_) register_module("norm", *norm_);
  }
  template <class F>
  Tensor through(Tensor x, F run) {
    for (Layer& layer : layers_) x = run(layer, x);
    return norm_ ? (*norm_)(x) : x;
  }

 private:
  std::vector<Layer> layers_;
  std::optional<LayerNorm> norm_;
};

// What EncoderCall says, by the names that PyTorch has for a stack of layers.
struct EncoderStackCall {
  Tensor mask = {};                  // as attn_mask
  Tensor src_key_padding_mask = {};  // (N, S)
  bool is_causal = false;
};

class TransformerEncoder : public TransformerStack<TransformerEncoderLayer> {
 public:
  TransformerEncoder(const TransformerEncoderLayer& layer, int64_t num_layers, std::optional<LayerNorm> norm = {});
  Tensor forward(Tensor x) override { return run(x); }
  Tensor run(const Tensor& x, const EncoderCall& call = {});
  using Module::operator();
  Tensor operator()(const Tensor& x, const EncoderStackCall& call) {
    return run(x, {call.mask, call.src_key_padding_mask, call.is_causal});
  }
};
class TransformerDecoder : public TransformerStack<TransformerDecoderLayer> {
 public:
  TransformerDecoder(const TransformerDecoderLayer& layer, int64_t num_layers, std::optional<LayerNorm> norm = {});
  Tensor run(const Tensor& x, const Tensor& memory, const DecoderCall& call = {});
  Tensor operator()(const Tensor& x, const Tensor& memory, const DecoderCall& call = {}) {
    return run(x, memory, call);
  }
};

struct TransformerOptions {
  int64_t d_model = 512;
  int64_t nhead = 8;
  int64_t num_encoder_layers = 6;
  int64_t num_decoder_layers = 6;
  int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  std::string activation = "relu";  // or "gelu"
  double layer_norm_eps = 1e-5;
  bool batch_first = false;
  bool norm_first = false;
  bool bias = true;
  DType dtype = DType::float32;
};
struct TransformerCall {
  Tensor src_mask = {}, tgt_mask = {}, memory_mask = {};
  Tensor src_key_padding_mask = {}, tgt_key_padding_mask = {}, memory_key_padding_mask = {};
  bool src_is_causal = false, tgt_is_causal = false, memory_is_causal = false;
};

// An encoder and a decoder that looks at its result, each with a norm at its end. Matrices start by Xavier's rule.
class Transformer : public Module {
 public:
  explicit Transformer(const TransformerOptions& options = {});
  // ShapeError unless source and target agree in their batch and have d_model features.
  Tensor run(const Tensor& source, const Tensor& target, const TransformerCall& call = {});
  Tensor operator()(const Tensor& source, const Tensor& target, const TransformerCall& call = {}) {
    return run(source, target, call);
  }
  // (size, size): 0 where a step may look, minus infinity at the steps after it.
  static Tensor generate_square_subsequent_mask(int64_t size, DType dtype = DType::float32);

  TransformerEncoder encoder;
  TransformerDecoder decoder;

 private:
  int64_t features_;
  int batch_axis_;
};

}  // namespace isochron::nn
