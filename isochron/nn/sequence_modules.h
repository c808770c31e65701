// Sequences in the manner of PyTorch: nn::Embedding, LSTM, GRU, MultiheadAttention, with its weights and gate order.
//
//   nn::LSTM lstm{10, 20, {.num_layers = 2, .batch_first = true}};
//   auto [output, h, c] = lstm.run(x);                      // output (N, L, 20); h and c (2, N, 20)
//   Tensor y = nn::MultiheadAttention{64, 4, {.batch_first = true}}.run(q, k, v);
#pragma once

#include "isochron/nn/linear.h"

namespace isochron::nn {

class Embedding : public Module {
 public:
  // Rows start normal(0, 1). ValueError unless both are positive.
  Embedding(int64_t num_embeddings, int64_t embedding_dim, DType dtype = DType::float32);
  Tensor forward(Tensor tokens) override;

  Variable weight;
};

struct RecurrentOptions {
  int64_t num_layers = 1;
  bool bias = true;
  bool batch_first = false;
  double dropout = 0;  // between layers
  bool bidirectional = false;
  DType dtype = DType::float32;
};

struct RecurrentOutput {
  Tensor output;  // of the last layer, every step; both directions side by side
  Tensor h, c;    // (layers * directions, N, hidden) after the last step; c of the LSTM alone
};

// What LSTM and GRU share.
class RecurrentModule : public Module {
 public:
  // x (L, N, input), or (N, L, input) with batch_first.
  RecurrentOutput run(const Tensor& x, const Tensor& h0 = {}, const Tensor& c0 = {});
  Tensor forward(Tensor x) override { return run(x).output; }

 protected:
  RecurrentModule(const char* kind, int gates, int64_t input_size, int64_t hidden_size, RecurrentOptions options);

 private:
  struct Direction {
    Variable w_ih, w_hh, b_ih, b_hh;
  };
  Tensor one_direction(const Direction& d, const Tensor& x, bool backwards, const Tensor& h0, const Tensor& c0,
                       std::vector<Tensor>& h, std::vector<Tensor>& c) const;
  const char* kind_;
  int gates_;
  int64_t input_, hidden_;
  RecurrentOptions options_;
  std::vector<Direction> directions_;  // layer by layer, the way back behind the way there
};

class LSTM : public RecurrentModule {
 public:
  LSTM(int64_t input_size, int64_t hidden_size, RecurrentOptions options = {})
      : RecurrentModule("LSTM", 4, input_size, hidden_size, options) {}
};
class GRU : public RecurrentModule {
 public:
  GRU(int64_t input_size, int64_t hidden_size, RecurrentOptions options = {})
      : RecurrentModule("GRU", 3, input_size, hidden_size, options) {}
};

struct MultiheadAttentionOptions {
  bool bias = true;
  bool batch_first = false;
  DType dtype = DType::float32;
};
struct MultiheadAttentionCall {
  Tensor key_padding_mask = {};  // bool (N, S): true where a key is to be ignored
  Tensor attn_mask = {};         // bool (L, S): true where looking is not allowed
  bool is_causal = false;
};

class MultiheadAttention : public Module {
 public:
  // ValueError unless the heads divide embed_dim.
  MultiheadAttention(int64_t embed_dim, int64_t num_heads, MultiheadAttentionOptions options = {});
  Tensor run(const Tensor& query, const Tensor& key, const Tensor& value, const MultiheadAttentionCall& call = {});
  Tensor forward(Tensor x) override { return run(x, x, x); }

  Variable in_proj_weight, in_proj_bias;  // queries, keys and values one below the other
  Linear out_proj;

 private:
  int64_t embed_, heads_;
  bool batch_first_;
};

}  // namespace isochron::nn
