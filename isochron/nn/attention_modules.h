// Attention in the manner of PyTorch: nn::MultiheadAttention, and the blocks of transformers.
//
//   nn::MultiheadAttention attend{64, 4, {.batch_first = true}};
//   Tensor y = attend.run(q, k, v, {.key_padding_mask = is_padding});
//   auto [out, weights] = attend.run_with_weights(q, k, v);                // weights (N, L, S), the mean of the heads
//   nn::TransformerEncoder encoder{nn::TransformerEncoderLayer(64, 4, {.dim_feedforward = 256}), 6};
//   Tensor memory = encoder.run(source, {.src_key_padding_mask = is_padding});
//   nn::TransformerDecoder decoder{nn::TransformerDecoderLayer(64, 4), 6};
//   Tensor y = decoder.run(target, memory, {.tgt_is_causal = true});
//
// Sequences are (L, N, features), or (N, L, features) with batch_first. A bool mask is true where looking is not
// allowed; a floating one is added to the scores. Where nothing may be looked at, the result is the mean of the values
// (PyTorch gives NaN). Masks that are added, dropout while training and asking for the weights store all scores;
// otherwise they never are (ops/attention.h).
#pragma once

#include <optional>

#include "isochron/nn/linear.h"
#include "isochron/nn/norm_modules.h"
#include "isochron/nn/shape_modules.h"

namespace isochron::nn {

struct MultiheadAttentionOptions {
  double dropout = 0;  // of the weights, while training
  bool bias = true;
  std::optional<int64_t> kdim = {}, vdim = {};  // features of keys and values; embed_dim
  bool batch_first = false;
  DType dtype = DType::float32;
};
struct MultiheadAttentionCall {
  Tensor key_padding_mask = {};  // (N, S)
  Tensor attn_mask = {};         // (L, S), or (N * heads, L, S)
  bool is_causal = false;        // step i looks at steps 0 to i; may stand without a mask
};
struct MultiheadAttentionOutput {
  Tensor output;
  Tensor weights;  // (N, L, S), or (N, heads, L, S)
};

class MultiheadAttention : public Module {
 public:
  // ValueError unless the heads divide embed_dim.
  MultiheadAttention(int64_t embed_dim, int64_t num_heads, MultiheadAttentionOptions options = {});
  Tensor run(const Tensor& query, const Tensor& key, const Tensor& value, const MultiheadAttentionCall& call = {});
  MultiheadAttentionOutput run_with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                            const MultiheadAttentionCall& call = {}, bool average_weights = true);
  Tensor forward(Tensor x) override { return run(x, x, x); }

  Variable in_proj_weight;                               // queries, keys and values one below the other, or
  Variable q_proj_weight, k_proj_weight, v_proj_weight;  // with kdim or vdim, apart
  Variable in_proj_bias;
  Linear out_proj;

 private:
  MultiheadAttentionOutput attend(const Tensor& query, const Tensor& key, const Tensor& value,
                                  const MultiheadAttentionCall& call, bool with_weights);
  int64_t embed_, heads_;
  MultiheadAttentionOptions options_;
};

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

struct EncoderCall {
  Tensor src_mask = {};              // as attn_mask
  Tensor src_key_padding_mask = {};  // (N, S)
  bool is_causal = false;
};

class TransformerEncoderLayer : public Module {
 public:
  TransformerEncoderLayer(int64_t d_model, int64_t nhead, TransformerModuleOptions options = {});
  Tensor forward(Tensor x) override { return run(x); }
  Tensor run(const Tensor& x, const EncoderCall& call = {});
  // Another layer like this one, with weights of its own that start at the values of this one's.
  TransformerEncoderLayer another() const;

  MultiheadAttention self_attn;
  Linear linear1, linear2;
  LayerNorm norm1, norm2;
  Dropout dropout;

 private:
  int64_t features_, heads_;
  TransformerModuleOptions options_;
};

struct DecoderCall {
  Tensor tgt_mask = {}, memory_mask = {};
  Tensor tgt_key_padding_mask = {}, memory_key_padding_mask = {};
  bool tgt_is_causal = false, memory_is_causal = false;
};

class TransformerDecoderLayer : public Module {
 public:
  TransformerDecoderLayer(int64_t d_model, int64_t nhead, TransformerModuleOptions options = {});
  Tensor run(const Tensor& x, const Tensor& memory, const DecoderCall& call = {});
  TransformerDecoderLayer another() const;

  MultiheadAttention self_attn, multihead_attn;
  Linear linear1, linear2;
  LayerNorm norm1, norm2, norm3;
  Dropout dropout;

 private:
  int64_t features_, heads_;
  TransformerModuleOptions options_;
};

// Copies of a layer one after the other, which start alike and are trained apart, and a norm behind them if given.
class TransformerEncoder : public Module {
 public:
  TransformerEncoder(const TransformerEncoderLayer& layer, int64_t num_layers, std::optional<LayerNorm> norm = {});
  Tensor forward(Tensor x) override { return run(x); }
  Tensor run(const Tensor& x, const EncoderCall& call = {});

 private:
  std::vector<TransformerEncoderLayer> layers_;
  std::optional<LayerNorm> norm_;
};
class TransformerDecoder : public Module {
 public:
  TransformerDecoder(const TransformerDecoderLayer& layer, int64_t num_layers, std::optional<LayerNorm> norm = {});
  Tensor run(const Tensor& x, const Tensor& memory, const DecoderCall& call = {});

 private:
  std::vector<TransformerDecoderLayer> layers_;
  std::optional<LayerNorm> norm_;
};

}  // namespace isochron::nn
