#include "isochron/nn/attention_modules.h"

#include <cmath>

#include "isochron/nn/attention_scores.h"
#include "isochron/nn/dropout.h"
#include "isochron/nn/initializers.h"
#include "isochron/nn/masking.h"
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
    if (x.dtype() != out_proj.weight.dtype())
      fail<DTypeError>(kName, "takes {}, got a {} of {}; convert with x.to(…)", out_proj.weight.dtype(), what,
                       x.dtype());
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

}  // namespace isochron::nn
