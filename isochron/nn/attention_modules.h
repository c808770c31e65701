// Attention in the manner of PyTorch; the blocks of transformers are in nn/transformer_modules.h.
//
//   nn::MultiheadAttention attend{64, 4, {.batch_first = true}};
//   Tensor y = attend(q, k, v, {.key_padding_mask = is_padding});          // run(); without the weights
//   auto [out, weights] = attend.run_with_weights(q, k, v);                // weights (N, L, S), the mean of the heads
//
// Sequences are (L, N, features), or (N, L, features) with batch_first. A bool mask is true where looking is not
// allowed; a floating one is added to the scores. Where nothing may be looked at, the result is the mean of the values
// (PyTorch gives NaN). Masks that are added, dropout while training and asking for the weights store all scores;
// otherwise they never are (ops/attention.h).
#pragma once

#include <optional>

#include "isochron/nn/linear.h"

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
  using Module::operator();
  Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                    const MultiheadAttentionCall& call = {}) {
    return run(query, key, value, call);
  }

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

}  // namespace isochron::nn
