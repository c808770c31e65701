// Attention without projections or heads, with Keras' names, arguments and weights.
//
//   Tensor y = Attention()({query, value})[0];                    // (batch, T, n), (batch, S, n) -> (batch, T, n)
//   AdditiveAttention({.use_causal_mask = true})({query, value, key});
//   Attention({.return_attention_scores = true})({query, value});           // gives (batch, T, S) as well
//
// Steps that the mask of the value hides are not looked at; steps that the mask of the query hides become 0, and that
// mask passes on.
#pragma once

#include "isochron/nn/dropout.h"

namespace isochron {

// What Attention and AdditiveAttention share: all but how a query and a key are compared.
class PlainAttention : public Layer {
 public:
  bool many() const override { return true; }
  Tensor call(const Tensor& x, const CallContext&) override;  // a single tensor is refused
  // Query and value, which is the key as well, or query, value and key. ShapeError when they do not fit.
  void build_many(const std::vector<Shape>& inputs) override;
  std::vector<Tensor> call_many(const std::vector<Tensor>& inputs, const CallContext& context) override;
  Tensor compute_mask_of(const std::vector<Tensor>& inputs) override;
  std::vector<Variable> state() const override { return dropout_.state(); }

 protected:
  struct Settings {
    double dropout;
    std::optional<uint64_t> seed;
    bool causal, give_scores;
    DType dtype;
    std::string name;
  };
  // ValueError unless dropout is in [0, 1).
  PlainAttention(const char* class_name, const Settings& settings);
  virtual void add_weights(int64_t features) = 0;
  // (batch, T, n), (batch, S, n) -> (batch, T, S).
  virtual Tensor scores(const Tensor& query, const Tensor& key) const = 0;

 private:
  void need_fitting(const std::vector<Shape>& examples) const;
  bool causal_, give_scores_;
  DType dtype_;
  Dropout dropout_;
};

struct AttentionLayerOptions {
  bool use_scale = false;          // a learned factor of the scores
  std::string score_mode = "dot";  // or "concat": sum(tanh(query + key)) times a learned number
  double dropout = 0;              // of the probabilities, while training
  std::optional<uint64_t> seed = {};
  bool use_causal_mask = false;
  bool return_attention_scores = false;
  DType dtype = DType::float32;
  std::string name = {};
};
ISO_OPTIONS(AttentionLayerOptions, use_scale, score_mode, dropout, seed, use_causal_mask, return_attention_scores,
            dtype, name)

// Scores are products of queries and keys (Luong's attention).
class Attention : public PlainAttention {
 public:
  explicit Attention(AttentionLayerOptions options = {});
  ISO_LAYER(Attention)
  ISO_ARGUMENTS(options_)

 protected:
  void add_weights(int64_t features) override;
  Tensor scores(const Tensor& query, const Tensor& key) const override;

 private:
  AttentionLayerOptions options_;
  Variable scale_, concat_score_weight_;
};

struct AdditiveAttentionOptions {
  bool use_scale = true;  // a learned factor of each feature
  double dropout = 0;
  std::optional<uint64_t> seed = {};
  bool use_causal_mask = false;
  bool return_attention_scores = false;
  DType dtype = DType::float32;
  std::string name = {};
};
ISO_OPTIONS(AdditiveAttentionOptions, use_scale, dropout, seed, use_causal_mask, return_attention_scores, dtype, name)

// Scores are sum(scale * tanh(query + key)) (Bahdanau's attention).
class AdditiveAttention : public PlainAttention {
 public:
  explicit AdditiveAttention(AdditiveAttentionOptions options = {});
  ISO_LAYER(AdditiveAttention)
  ISO_ARGUMENTS(options_)

 protected:
  void add_weights(int64_t features) override;
  Tensor scores(const Tensor& query, const Tensor& key) const override;

 private:
  AdditiveAttentionOptions options_;
  Variable scale_;
};

}  // namespace isochron
