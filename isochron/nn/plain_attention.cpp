#include "isochron/nn/plain_attention.h"

#include "isochron/base/names.h"
#include "isochron/nn/attention_scores.h"
#include "isochron/nn/masking.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/matmul.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {
namespace {

// Of every query and every key: (batch, T, S, n).
Tensor tanh_of_sums(const Tensor& query, const Tensor& key) {
  return tanh(expand_dims(query, 2) + expand_dims(key, 1));
}

}  // namespace

PlainAttention::PlainAttention(const char* class_name, const Settings& settings)
    : causal_(settings.causal),
      give_scores_(settings.give_scores),
      dtype_(settings.dtype),
      dropout_(settings.dropout, {.seed = settings.seed}) {
  if (settings.dropout >= 1) fail<ValueError>(class_name, "dropout must be in [0, 1), got {}", settings.dropout);
  set_name(settings.name);
}

Tensor PlainAttention::call(const Tensor& x, const CallContext& context) { return call_many({x}, context)[0]; }

void PlainAttention::need_fitting(const std::vector<Shape>& examples) const {
  if (examples.size() < 2 || examples.size() > 3)
    fail<ValueError>(class_name(), "takes {{query, value}} or {{query, value, key}}, got {} inputs", examples.size());
  const Shape &query = examples[0], &value = examples[1], &key = examples.back();
  if (query.rank() != 2 || value.rank() != 2 || key.rank() != 2 || query[1] != key[1] || value[0] != key[0])
    fail<ShapeError>(class_name(),
                     "needs query (batch, T, n), value (batch, S, m) and key (batch, S, n), the value when none is "
                     "given; got examples of shape {}, {} and {}",
                     query, value, key);
}

void PlainAttention::build_many(const std::vector<Shape>& inputs) {
  need_fitting(inputs);
  add_weights(inputs[0][1]);
}

std::vector<Tensor> PlainAttention::call_many(const std::vector<Tensor>& inputs, const CallContext& context) {
  std::vector<Shape> examples;
  for (const Tensor& input : inputs) examples.push_back(input.shape().erase(0));
  need_fitting(examples);
  const Tensor query = wide(inputs[0], dtype_), value = wide(inputs[1], dtype_), key = wide(inputs.back(), dtype_);
  const Tensor query_mask = mask_of(inputs[0]), value_mask = mask_of(inputs[1]);
  const Tensor seen = value_mask.defined() ? expand_dims(value_mask, 1) : Tensor();
  const Tensor probabilities =
      dropout_.call(attention_probabilities(scores(query, key), seen, causal_), {.training = context.training});
  Tensor y = matmul(probabilities, value);
  if (query_mask.defined()) y = where(expand_dims(query_mask, -1), y, 0);
  if (!give_scores_) return {given_on(y)};
  return {given_on(y), given_on(probabilities)};
}

Tensor PlainAttention::compute_mask_of(const std::vector<Tensor>& inputs) { return mask_of(inputs[0]); }

Attention::Attention(AttentionLayerOptions o)
    : PlainAttention("Attention", {o.dropout, o.seed, o.use_causal_mask, o.return_attention_scores, o.dtype, o.name}),
      options_(std::move(o)) {
  if (options_.score_mode != "dot" && options_.score_mode != "concat")
    fail<ValueError>("Attention", "unknown score_mode \"{}\"{}", options_.score_mode,
                     did_you_mean(options_.score_mode, {"dot", "concat"}));
}

void Attention::add_weights(int64_t) {
  if (options_.use_scale) scale_ = add_weight("scale", {}, "ones", {.dtype = options_.dtype});
  if (options_.score_mode == "concat")
    concat_score_weight_ = add_weight("concat_score_weight", {}, "ones", {.dtype = options_.dtype});
}

Tensor Attention::scores(const Tensor& query, const Tensor& key) const {
  const auto scaled = [&](const Tensor& x) { return scale_.defined() ? x * cast(scale_, x.dtype()) : x; };
  if (options_.score_mode == "dot") return scaled(matmul(query, key, {.transpose_b = true}));
  return sum(tanh_of_sums(scaled(query), scaled(key)), {-1}) * cast(concat_score_weight_, query.dtype());
}

AdditiveAttention::AdditiveAttention(AdditiveAttentionOptions o)
    : PlainAttention("AdditiveAttention",
                     {o.dropout, o.seed, o.use_causal_mask, o.return_attention_scores, o.dtype, o.name}),
      options_(std::move(o)) {}

void AdditiveAttention::add_weights(int64_t features) {
  if (options_.use_scale) scale_ = add_weight("scale", {features}, "glorot_uniform", {.dtype = options_.dtype});
}

Tensor AdditiveAttention::scores(const Tensor& query, const Tensor& key) const {
  const Tensor each = tanh_of_sums(query, key);
  return sum(scale_.defined() ? each * cast(scale_, each.dtype()) : each, {-1});
}

}  // namespace isochron
