#include "isochron/nn/attention_modules.h"

#include <cmath>

#include "isochron/base/names.h"
#include "isochron/nn/attention_scores.h"
#include "isochron/nn/dropout.h"
#include "isochron/nn/initializers.h"
#include "isochron/nn/masking.h"
#include "isochron/nn/module_list.h"
#include "isochron/ops/attention.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/matmul.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"

namespace isochron::nn {
namespace {

constexpr const char* kName = "MultiheadAttention";

// Masks of both kinds: bool ones say what is seen, floating ones are added to the scores (N, heads, L, S).
struct Masks {
  Tensor seen, added;
  void take(const char* what, const Tensor& mask, const std::vector<int64_t>& shape, DType dtype) {
    const Tensor four = reshape(mask, shape);
    if (mask.dtype() == DType::boolean)
      seen = both_masks(seen, logical_not(four));
    else if (is_floating(mask.dtype()))
      added = added.defined() ? added + cast(four, dtype) : cast(four, dtype);
    else
      fail<DTypeError>(kName, "{} must be bool (true: hidden) or floating (added to the scores), got {}", what,
                       mask.dtype());
  }
};

}  // namespace

MultiheadAttention::MultiheadAttention(int64_t embed_dim, int64_t num_heads, MultiheadAttentionOptions options)
    : out_proj(embed_dim, embed_dim, {.bias = options.bias, .dtype = options.dtype}),
      embed_(embed_dim),
      heads_(num_heads),
      options_(options) {
  if (num_heads < 1 || embed_dim % num_heads != 0)
    fail<ValueError>(kName, "{} features can't be divided among {} heads", embed_dim, num_heads);
  if (!(options.dropout >= 0 && options.dropout < 1))
    fail<ValueError>(kName, "dropout must be in [0, 1), got {}", options.dropout);
  const int64_t kdim = options.kdim.value_or(embed_dim), vdim = options.vdim.value_or(embed_dim);
  if (kdim < 1 || vdim < 1) fail<ValueError>(kName, "kdim and vdim must be positive, got {} and {}", kdim, vdim);
  const auto start = [&](const char* name, int64_t rows, int64_t columns) {
    return register_parameter(name, initializers::glorot_uniform()({rows, columns}, options.dtype));
  };
  if (kdim == embed_dim && vdim == embed_dim) {
    in_proj_weight = start("in_proj_weight", 3 * embed_dim, embed_dim);
  } else {
    q_proj_weight = start("q_proj_weight", embed_dim, embed_dim);
    k_proj_weight = start("k_proj_weight", embed_dim, kdim);
    v_proj_weight = start("v_proj_weight", embed_dim, vdim);
  }
  if (options.bias) {
    in_proj_bias = register_parameter("in_proj_bias", zeros({3 * embed_dim}, options.dtype));
    out_proj.bias.assign(zeros({embed_dim}, options.dtype));
  }
  register_module("out_proj", out_proj);
  describe(fmt::format("{}, {}", embed_dim, num_heads));
}

MultiheadAttentionOutput MultiheadAttention::attend(const Tensor& query, const Tensor& key, const Tensor& value,
                                                    const MultiheadAttentionCall& call, bool with_weights) {
  const auto project = [&](const Tensor& x, const Variable& own, int64_t which, const char* what) {
    const int64_t features = own.defined() ? own.shape()[1] : embed_;
    if (x.rank() != 3 || x.shape()[2] != features)
      fail<ShapeError>(kName, "takes a {} of {} with {} features, got {}", what,
                       options_.batch_first ? "(N, L, …)" : "(L, N, …)", features, x.shape());
    if (x.dtype() != options_.dtype)
      fail<DTypeError>(kName, "takes {}, got a {} of {}; convert with x.to(…)", options_.dtype, what, x.dtype());
    const Tensor in = options_.batch_first ? x : transpose(x, {1, 0, 2});
    const auto part = [&](const Tensor& all) { return slice(all, {which * embed_}, {(which + 1) * embed_}); };
    Tensor y = matmul(in, own.defined() ? Tensor(own) : part(in_proj_weight), {.transpose_b = true});
    if (in_proj_bias.defined()) y = y + part(in_proj_bias);
    return reshape(y, {in.shape()[0], in.shape()[1], heads_, embed_ / heads_});
  };
  const Tensor q = project(query, q_proj_weight, 0, "query"), k = project(key, k_proj_weight, 1, "key"),
               v = project(value, v_proj_weight, 2, "value");
  const int64_t batch = q.shape()[0], length = q.shape()[1], keys = k.shape()[1];
  if (k.shape() != v.shape() || k.shape()[0] != batch)
    fail<ShapeError>(kName, "query, key and value must agree in batch, key and value in length, got {}, {} and {}",
                     query.shape(), key.shape(), value.shape());
  Masks masks;
  if (const Tensor& padding = call.key_padding_mask; padding.defined()) {
    if (padding.shape() != Shape({batch, keys}))
      fail<ShapeError>(kName, "key_padding_mask must be ({}, {}) as the keys are, got {}", batch, keys,
                       padding.shape());
    masks.take("key_padding_mask", padding, {batch, 1, 1, keys}, q.dtype());
  }
  if (const Tensor& mask = call.attn_mask; mask.defined()) {
    if (mask.shape() == Shape({length, keys}))
      masks.take("attn_mask", mask, {1, 1, length, keys}, q.dtype());
    else if (mask.shape() == Shape({batch * heads_, length, keys}))
      masks.take("attn_mask", mask, {batch, heads_, length, keys}, q.dtype());
    else
      fail<ShapeError>(kName, "attn_mask must be ({1}, {2}) or ({0}, {1}, {2}), got {3}", batch * heads_, length, keys,
                       mask.shape());
  }
  Tensor mixed, weights;
  if (with_weights || masks.added.defined() || (options_.dropout > 0 && is_training())) {
    const auto by_head = [](const Tensor& x) { return transpose(x, {0, 2, 1, 3}); };
    Tensor scores = matmul(by_head(q), by_head(k), {.transpose_b = true}) /
                    std::sqrt(static_cast<double>(embed_) / static_cast<double>(heads_));
    if (masks.added.defined()) scores = scores + masks.added;
    weights = isochron::Dropout(options_.dropout)
                  .call(attention_probabilities(scores, masks.seen, call.is_causal), {.training = is_training()});
    mixed = by_head(matmul(weights, by_head(v)));
  } else {
    mixed = attention(q, k, v, {.causal = call.is_causal, .mask = masks.seen});
  }
  const Tensor y = out_proj(reshape(mixed, {batch, length, embed_}));
  return {options_.batch_first ? y : transpose(y, {1, 0, 2}), weights};
}

Tensor MultiheadAttention::run(const Tensor& query, const Tensor& key, const Tensor& value,
                               const MultiheadAttentionCall& call) {
  return attend(query, key, value, call, false).output;
}
MultiheadAttentionOutput MultiheadAttention::run_with_weights(const Tensor& query, const Tensor& key,
                                                              const Tensor& value, const MultiheadAttentionCall& call,
                                                              bool average_weights) {
  MultiheadAttentionOutput out = attend(query, key, value, call, true);
  if (average_weights) out.weights = mean(out.weights, {1});
  return out;
}

namespace {

MultiheadAttentionOptions attention_options(const TransformerModuleOptions& o) {
  return {.dropout = o.dropout, .bias = o.bias, .batch_first = o.batch_first, .dtype = o.dtype};
}
LayerNormOptions norm_options(const TransformerModuleOptions& o) {
  return {.eps = o.layer_norm_eps, .bias = o.bias, .dtype = o.dtype};
}
LinearOptions linear_options(const TransformerModuleOptions& o) { return {.bias = o.bias, .dtype = o.dtype}; }

void check_activation(const char* module, const std::string& name) {
  if (name != "relu" && name != "gelu")
    fail<ValueError>(module, "unknown activation \"{}\"{}", name, did_you_mean(name, {"relu", "gelu"}));
}

// x + part(x) with a norm before the part or after the sum.
template <class F>
Tensor with_residual(const Tensor& x, LayerNorm& norm, Dropout& dropout, bool norm_first, F part) {
  const Tensor y = x + dropout(part(norm_first ? norm(x) : x));
  return norm_first ? y : norm(y);
}

// The part of a block that looks at no other step.
template <class Layer>
Tensor feed_forward_of(Layer& layer, const Tensor& x, const std::string& activation) {
  const Tensor hidden = layer.linear1(x);
  return layer.linear2(layer.dropout(activation == "gelu" ? gelu(hidden) : relu(hidden)));
}

void check_count(const char* module, int64_t num_layers) {
  if (num_layers < 1) fail<ValueError>(module, "num_layers must be positive, got {}", num_layers);
}

}  // namespace

TransformerEncoderLayer::TransformerEncoderLayer(int64_t d_model, int64_t nhead, TransformerModuleOptions o)
    : self_attn(d_model, nhead, attention_options(o)),
      linear1(d_model, o.dim_feedforward, linear_options(o)),
      linear2(o.dim_feedforward, d_model, linear_options(o)),
      norm1(d_model, norm_options(o)),
      norm2(d_model, norm_options(o)),
      dropout(o.dropout),
      features_(d_model),
      heads_(nhead),
      options_(std::move(o)) {
  check_activation("TransformerEncoderLayer", options_.activation);
  register_module("self_attn", self_attn);
  register_module("linear1", linear1);
  register_module("linear2", linear2);
  register_module("norm1", norm1);
  register_module("norm2", norm2);
  register_module("dropout", dropout);
}

Tensor TransformerEncoderLayer::run(const Tensor& x, const EncoderCall& call) {
  const bool first = options_.norm_first;
  const Tensor y = with_residual(x, norm1, dropout, first, [&](const Tensor& in) {
    return self_attn.run(in, in, in, {call.src_key_padding_mask, call.src_mask, call.is_causal});
  });
  return with_residual(y, norm2, dropout, first,
                       [&](const Tensor& in) { return feed_forward_of(*this, in, options_.activation); });
}

TransformerEncoderLayer TransformerEncoderLayer::another() const {
  TransformerEncoderLayer copy(features_, heads_, options_);
  copy.load_state_dict(state_dict());
  return copy;
}

TransformerDecoderLayer::TransformerDecoderLayer(int64_t d_model, int64_t nhead, TransformerModuleOptions o)
    : self_attn(d_model, nhead, attention_options(o)),
      multihead_attn(d_model, nhead, attention_options(o)),
      linear1(d_model, o.dim_feedforward, linear_options(o)),
      linear2(o.dim_feedforward, d_model, linear_options(o)),
      norm1(d_model, norm_options(o)),
      norm2(d_model, norm_options(o)),
      norm3(d_model, norm_options(o)),
      dropout(o.dropout),
      features_(d_model),
      heads_(nhead),
      options_(std::move(o)) {
  check_activation("TransformerDecoderLayer", options_.activation);
  register_module("self_attn", self_attn);
  register_module("multihead_attn", multihead_attn);
  register_module("linear1", linear1);
  register_module("linear2", linear2);
  register_module("norm1", norm1);
  register_module("norm2", norm2);
  register_module("norm3", norm3);
  register_module("dropout", dropout);
}

Tensor TransformerDecoderLayer::run(const Tensor& x, const Tensor& memory, const DecoderCall& call) {
  const bool first = options_.norm_first;
  Tensor y = with_residual(x, norm1, dropout, first, [&](const Tensor& in) {
    return self_attn.run(in, in, in, {call.tgt_key_padding_mask, call.tgt_mask, call.tgt_is_causal});
  });
  y = with_residual(y, norm2, dropout, first, [&](const Tensor& in) {
    return multihead_attn.run(in, memory, memory,
                              {call.memory_key_padding_mask, call.memory_mask, call.memory_is_causal});
  });
  return with_residual(y, norm3, dropout, first,
                       [&](const Tensor& in) { return feed_forward_of(*this, in, options_.activation); });
}

TransformerDecoderLayer TransformerDecoderLayer::another() const {
  TransformerDecoderLayer copy(features_, heads_, options_);
  copy.load_state_dict(state_dict());
  return copy;
}

TransformerEncoder::TransformerEncoder(const TransformerEncoderLayer& layer, int64_t num_layers,
                                       std::optional<LayerNorm> norm)
    : norm_(std::move(norm)) {
  check_count("TransformerEncoder", num_layers);
  ModuleList layers;
  for (int64_t i = 0; i < num_layers; ++i) layers.append(layers_.emplace_back(layer.another()));
  register_module("layers", layers);
  if (norm_) register_module("norm", *norm_);
}
Tensor TransformerEncoder::run(const Tensor& x, const EncoderCall& call) {
  Tensor y = x;
  for (TransformerEncoderLayer& layer : layers_) y = layer.run(y, call);
  return norm_ ? (*norm_)(y) : y;
}

TransformerDecoder::TransformerDecoder(const TransformerDecoderLayer& layer, int64_t num_layers,
                                       std::optional<LayerNorm> norm)
    : norm_(std::move(norm)) {
  check_count("TransformerDecoder", num_layers);
  ModuleList layers;
  for (int64_t i = 0; i < num_layers; ++i) layers.append(layers_.emplace_back(layer.another()));
  register_module("layers", layers);
  if (norm_) register_module("norm", *norm_);
}
Tensor TransformerDecoder::run(const Tensor& x, const Tensor& memory, const DecoderCall& call) {
  Tensor y = x;
  for (TransformerDecoderLayer& layer : layers_) y = layer.run(y, memory, call);
  return norm_ ? (*norm_)(y) : y;
}

}  // namespace isochron::nn
