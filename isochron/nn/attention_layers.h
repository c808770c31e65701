// Attention: MultiHeadAttention with Keras' arguments and weights, transformer blocks, positions.
//
//   MultiHeadAttention attend(4, 32);
//   Tensor y = attend(x);                                              // self-attention of (batch, time, features)
//   Tensor z = attend(x, memory, {.use_causal_mask = true});           // x looks at memory
//   auto [out, scores] = attend.run(x, memory);                        // who looks at what: (batch, heads, T, S)
//   SymbolicTensor s = attend({query, value});                         // in a functional model; further: key, mask
//   SymbolicTensor t = TransformerDecoderLayer(4, 256)({x, memory});
//   Sequential model{Embedding(100, 64), PositionEmbedding(128), TransformerEncoderLayer(4, 256), Dense(100)};
//
// Scores are never stored (ops/attention.h), except where they are asked for and while training with dropout of the
// scores. Masks of query, value and key and the attention_mask add up, as in Keras: steps that one of value or key
// hides are not looked at, a step that the query's hides sees nothing and gets the average of the values. The mask of
// the query passes on to the result.
#pragma once

#include <optional>

#include "isochron/nn/activations.h"
#include "isochron/nn/dense.h"
#include "isochron/nn/dropout.h"
#include "isochron/nn/layer_normalization.h"

namespace isochron {

struct MultiHeadAttentionOptions {
  int64_t value_dim = 0;  // 0: key_dim
  double dropout = 0;     // of the probabilities
  bool use_bias = true;
  int64_t output_shape = 0;  // features of the result; 0: those of the query
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  std::optional<uint64_t> seed = {};     // of the dropout
  bool use_causal_mask = false;          // for calls that do not say
  bool rotary = false;                   // turn queries and keys by their positions; key_dim must be even
  bool return_attention_scores = false;  // calls with lists give output and scores; see AttentionResult
  DType dtype = DType::float32;
  std::string dtype_policy = {};  // see Layer::set_dtype_policy(); empty: as the model says
  std::string name = {};
};
ISO_OPTIONS(MultiHeadAttentionOptions, value_dim, dropout, use_bias, output_shape, kernel_initializer, bias_initializer,
            kernel_regularizer, bias_regularizer, kernel_constraint, bias_constraint, seed, use_causal_mask, rotary,
            return_attention_scores, dtype, dtype_policy, name)

// What a call may say besides query and value.
struct AttentionCall {
  Tensor key = {};             // value's, when undefined
  Tensor attention_mask = {};  // bool (batch, T, S), (T, S) or (batch, heads, T, S): true where T sees S
  std::optional<bool> use_causal_mask = {};
  bool training = false;
};

struct AttentionResult {
  Tensor output;
  Tensor scores;  // (batch, heads, T, S): how much T looks at S, before dropout
};

class MultiHeadAttention : public Layer {
 public:
  // ValueError unless all are positive.
  MultiHeadAttention(int64_t num_heads, int64_t key_dim, MultiHeadAttentionOptions options = {});
  ISO_LAYER(MultiHeadAttention)
  ISO_ARGUMENTS(num_heads_, key_dim_, options_)
  bool supports_masking() const override { return true; }
  void build(const Shape& input) override;
  using Layer::operator();
  // query (batch, T, features), value (batch, S, features) -> (batch, T, features).
  Tensor operator()(const Tensor& query, const Tensor& value, const AttentionCall& call = {});
  // With the scores, which are then computed in the open: memory for all of them.
  AttentionResult run(const Tensor& query, const Tensor& value, const AttentionCall& call = {});
  // The same by lists: query, value, and if wanted key and attention_mask. ValueError for more.
  bool many() const override { return options_.return_attention_scores; }
  bool takes_lists() const override { return true; }
  void build_many(const std::vector<Shape>& inputs) override;
  std::vector<Tensor> call_many(const std::vector<Tensor>& inputs, const CallContext& context) override;
  Tensor call(const Tensor& x, const CallContext& context) override;
  Shape output_shape(const Shape& input) const override;
  std::vector<Variable> state() const override { return dropout_.state(); }

 protected:
  // What GroupQueryAttention does besides.
  struct Grouping {
    int64_t key_value_heads;
    bool gated = false;                  // the result is multiplied by a sigmoid of the query
    std::optional<int64_t> window = {};  // steps farther away than this are not looked at
  };
  MultiHeadAttention(const char* kind, int64_t num_heads, int64_t key_dim, const Grouping& grouping,
                     MultiHeadAttentionOptions options);

 private:
  struct Projection {
    Variable kernel, bias;
  };
  // The kernel multiplies its first `inputs` axes away.
  Projection add_projection(const char* name, const Shape& kernel, int inputs);
  void build_for(int64_t query, int64_t key, int64_t value);
  Tensor project(const Tensor& x, const Projection& to) const;
  AttentionResult look(const Tensor& query, const Tensor& value, const AttentionCall& call, bool with_scores);
  AttentionResult attend(const Tensor& query, const Tensor& value, const AttentionCall& call, const Tensor& query_mask,
                         const Tensor& value_mask, bool with_scores);
  // By probabilities that are stored: for those who ask for them, and where dropout picks some of them.
  AttentionResult in_the_open(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool causal,
                              bool training);

  int64_t num_heads_, key_dim_, value_dim_;
  Grouping grouping_;
  MultiHeadAttentionOptions options_;
  Dropout dropout_;
  Projection query_, key_, gate_, value_, output_;
};

struct GroupQueryAttentionOptions {
  double dropout = 0;
  bool use_bias = true;
  std::optional<int64_t> sliding_window = {};
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  bool use_gate = false;
  std::optional<uint64_t> seed = {};
  bool use_causal_mask = false;
  bool return_attention_scores = false;
  DType dtype = DType::float32;
  std::string dtype_policy = {};
  std::string name = {};
};
ISO_OPTIONS(GroupQueryAttentionOptions, dropout, use_bias, sliding_window, kernel_initializer, bias_initializer,
            kernel_regularizer, bias_regularizer, kernel_constraint, bias_constraint, use_gate, seed, use_causal_mask,
            return_attention_scores, dtype, dtype_policy, name)

// Several heads of queries look at one head of keys and values. Called as MultiHeadAttention is.
class GroupQueryAttention : public MultiHeadAttention {
 public:
  // ValueError unless all are positive and num_key_value_heads divides num_query_heads.
  GroupQueryAttention(int64_t head_dim, int64_t num_query_heads, int64_t num_key_value_heads,
                      GroupQueryAttentionOptions options = {});
  ISO_LAYER(GroupQueryAttention)
  ISO_ARGUMENTS(head_dim_, num_query_heads_, num_key_value_heads_, options_)
  using MultiHeadAttention::operator();

 private:
  int64_t head_dim_, num_query_heads_, num_key_value_heads_;
  GroupQueryAttentionOptions options_;
};

struct TransformerLayerOptions {
  ActivationFunction activation = "relu";
  double dropout = 0;
  double layer_norm_epsilon = 1e-5;
  bool norm_first = false;       // norms before attention and feed-forward instead of after the sums
  bool use_causal_mask = false;  // of self-attention; a decoder always has it
  bool rotary = false;
  Initializer kernel_initializer = "glorot_uniform";
  DType dtype = DType::float32;
  std::string dtype_policy = {};  // see Layer::set_dtype_policy(); empty: as the model says
  std::string name = {};
};
ISO_OPTIONS(TransformerLayerOptions, activation, dropout, layer_norm_epsilon, norm_first, use_causal_mask, rotary,
            kernel_initializer, dtype, dtype_policy, name)

// Self-attention and a feed-forward network, each with a residual sum and a norm. Heads must divide the features.
class TransformerEncoderLayer : public Layer {
 public:
  TransformerEncoderLayer(int64_t num_heads, int64_t feedforward_dim, TransformerLayerOptions options = {});
  ISO_LAYER(TransformerEncoderLayer)
  ISO_ARGUMENTS(num_heads_, feedforward_dim_, options_)
  bool supports_masking() const override { return true; }
  void build(const Shape& input) override;
  Tensor call(const Tensor& x, const CallContext& context) override;
  Shape output_shape(const Shape& input) const override { return input; }

 private:
  int64_t num_heads_, feedforward_dim_;
  TransformerLayerOptions options_;
  std::shared_ptr<MultiHeadAttention> attention_;
  std::shared_ptr<Dense> up_, down_;
  std::shared_ptr<LayerNormalization> first_norm_, second_norm_;
  std::shared_ptr<Dropout> dropout_;
};

// Causal self-attention, attention to an encoder's result, and a feed-forward network.
class TransformerDecoderLayer : public Layer {
 public:
  TransformerDecoderLayer(int64_t num_heads, int64_t feedforward_dim, TransformerLayerOptions options = {});
  ISO_LAYER(TransformerDecoderLayer)
  ISO_ARGUMENTS(num_heads_, feedforward_dim_, options_)
  bool supports_masking() const override { return true; }
  void build(const Shape& input) override;
  using Layer::operator();
  // x (batch, T, features) looks at itself and at memory (batch, S, features).
  Tensor operator()(const Tensor& x, const Tensor& memory, CallContext context = {});
  bool takes_lists() const override { return true; }
  std::vector<Tensor> call_many(const std::vector<Tensor>& inputs, const CallContext& context) override;
  // Without memory: a decoder on its own, as in a language model.
  Tensor call(const Tensor& x, const CallContext& context) override;
  Shape output_shape(const Shape& input) const override { return input; }

 private:
  Tensor look(const Tensor& x, const Tensor& memory, CallContext context);
  Tensor decode(const Tensor& x, const Tensor& memory, const CallContext& context);
  int64_t num_heads_, feedforward_dim_;
  TransformerLayerOptions options_;
  std::shared_ptr<MultiHeadAttention> attention_, cross_;
  std::shared_ptr<Dense> up_, down_;
  std::shared_ptr<LayerNormalization> first_norm_, cross_norm_, second_norm_;
  std::shared_ptr<Dropout> dropout_;
};

// Adds a learned vector for each position; sequences may be shorter than max_length.
class PositionEmbedding : public Layer {
 public:
  explicit PositionEmbedding(int64_t max_length, LayerOptions options = {});
  ISO_LAYER(PositionEmbedding)
  ISO_ARGUMENTS(max_length_)
  bool supports_masking() const override { return true; }
  void build(const Shape& input) override;
  Tensor call(const Tensor& x, const CallContext& context) override;
  Shape output_shape(const Shape& input) const override { return input; }

 private:
  int64_t max_length_;
  Variable embeddings_;
};

// Adds sines and cosines of the position.
class SinusoidalPositions : public Layer {
 public:
  explicit SinusoidalPositions(LayerOptions options = {}) { set_name(std::move(options.name)); }
  ISO_LAYER(SinusoidalPositions)
  bool supports_masking() const override { return true; }
  Tensor call(const Tensor& x, const CallContext& context) override;
  Shape output_shape(const Shape& input) const override { return input; }
};

}  // namespace isochron
