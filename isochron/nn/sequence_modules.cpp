#include "isochron/nn/sequence_modules.h"

#include <cmath>

#include "isochron/nn/dropout.h"
#include "isochron/nn/initializers.h"
#include "isochron/ops/attention.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/indexing.h"
#include "isochron/ops/matmul.h"
#include "isochron/ops/recurrent.h"
#include "isochron/ops/shape_ops.h"

namespace isochron::nn {

Embedding::Embedding(int64_t num_embeddings, int64_t embedding_dim, DType dtype) {
  if (num_embeddings < 1 || embedding_dim < 1)
    fail<ValueError>("Embedding", "needs at least one row and column, got {} and {}", num_embeddings, embedding_dim);
  weight = register_parameter(
      "weight", initializers::random_normal({.mean = 0, .stddev = 1})({num_embeddings, embedding_dim}, dtype));
  describe(fmt::format("{}, {}", num_embeddings, embedding_dim));
}
Tensor Embedding::forward(Tensor tokens) { return embedding(weight, tokens); }

RecurrentModule::RecurrentModule(const char* kind, int gates, int64_t input_size, int64_t hidden_size,
                                 RecurrentOptions options)
    : kind_(kind), gates_(gates), input_(input_size), hidden_(hidden_size), options_(options) {
  if (input_size < 1 || hidden_size < 1 || options.num_layers < 1)
    fail<ValueError>(kind, "sizes and layers must be positive, got {}, {} and {}", input_size, hidden_size,
                     options.num_layers);
  const double bound = 1 / std::sqrt(static_cast<double>(hidden_size));
  const Initializer uniform = initializers::random_uniform({.minval = -bound, .maxval = bound});
  const int ways = options.bidirectional ? 2 : 1;
  for (int64_t layer = 0; layer < options.num_layers; ++layer)
    for (int way = 0; way < ways; ++way) {
      const std::string suffix = fmt::format("_l{}{}", layer, way ? "_reverse" : "");
      const int64_t rows = gates * hidden_size;
      Direction d;
      d.w_ih = register_parameter("weight_ih" + suffix,
                                  uniform({rows, layer ? ways * hidden_size : input_size}, options.dtype));
      d.w_hh = register_parameter("weight_hh" + suffix, uniform({rows, hidden_size}, options.dtype));
      if (options.bias) {
        d.b_ih = register_parameter("bias_ih" + suffix, uniform({rows}, options.dtype));
        d.b_hh = register_parameter("bias_hh" + suffix, uniform({rows}, options.dtype));
      }
      directions_.push_back(d);
    }
  describe(fmt::format("{}, {}, num_layers={}", input_size, hidden_size, options.num_layers));
}

Tensor RecurrentModule::one_direction(const Direction& d, const Tensor& x, bool backwards, const Tensor& h0,
                                      const Tensor& c0, std::vector<Tensor>& h, std::vector<Tensor>& c) const {
  const Tensor input = backwards ? flip(x, {0}) : x;
  const int64_t last = x.shape()[0] - 1;
  const auto final_of = [&](const Tensor& states) { return slice(states, {last}, {last + 1}); };
  Tensor out;
  if (gates_ == 4) {
    Tensor z = matmul(input, d.w_ih, {.transpose_b = true});
    if (d.b_ih.defined()) z = z + (d.b_ih + d.b_hh);
    const LstmStates s = lstm(z, transpose(d.w_hh), h0, c0);
    out = s.h;
    c.push_back(final_of(s.c));
  } else {
    // PyTorch's gates stand in the order r, z, n; the op's in the order z, r, n.
    const auto reorder = [](const Tensor& w) {
      const std::vector<Tensor> parts = split(w, 3, 0);
      return concat({parts[1], parts[0], parts[2]}, 0);
    };
    Tensor z = matmul(input, reorder(d.w_ih), {.transpose_b = true});
    if (d.b_ih.defined()) z = z + reorder(d.b_ih);
    out = gru(z, transpose(reorder(d.w_hh)), d.b_hh.defined() ? reorder(d.b_hh) : zeros({3 * hidden_}, options_.dtype),
              h0);
  }
  h.push_back(final_of(out));
  return backwards ? flip(out, {0}) : out;
}

RecurrentOutput RecurrentModule::run(const Tensor& x, const Tensor& h0, const Tensor& c0) {
  if (x.rank() != 3 || x.shape()[2] != input_)
    fail<ShapeError>(kind_, "takes {} with {} features, got {}", options_.batch_first ? "(N, L, …)" : "(L, N, …)",
                     input_, x.shape());
  const size_t ways = options_.bidirectional ? 2 : 1;
  Tensor input = options_.batch_first ? transpose(x, {1, 0, 2}) : x;
  const int64_t batch = input.shape()[1];
  const Shape states{static_cast<int64_t>(directions_.size()), batch, hidden_};
  const auto state_of = [&](const Tensor& given, size_t i) {
    if (!given.defined()) return zeros({batch, hidden_}, options_.dtype);
    if (given.shape() != states) fail<ShapeError>(kind_, "first states must be {}, got {}", states, given.shape());
    const auto at = static_cast<int64_t>(i);
    return squeeze(slice(given, {at}, {at + 1}), {0});
  };
  std::vector<Tensor> h, c;
  for (size_t i = 0; i < directions_.size(); i += ways) {
    if (i > 0 && options_.dropout > 0)
      input = isochron::Dropout(options_.dropout).call(input, {.training = is_training()});
    std::vector<Tensor> outputs;
    for (size_t way = 0; way < ways; ++way)
      outputs.push_back(one_direction(directions_[i + way], input, way == 1, state_of(h0, i + way),
                                      gates_ == 4 ? state_of(c0, i + way) : Tensor(), h, c));
    input = ways == 2 ? concat(outputs, -1) : outputs[0];
  }
  return {options_.batch_first ? transpose(input, {1, 0, 2}) : input, concat(h, 0),
          c.empty() ? Tensor() : concat(c, 0)};
}

MultiheadAttention::MultiheadAttention(int64_t embed_dim, int64_t num_heads, MultiheadAttentionOptions options)
    : out_proj(embed_dim, embed_dim, {.bias = options.bias, .dtype = options.dtype}),
      embed_(embed_dim),
      heads_(num_heads),
      batch_first_(options.batch_first) {
  if (num_heads < 1 || embed_dim % num_heads != 0)
    fail<ValueError>("MultiheadAttention", "{} features can't be divided among {} heads", embed_dim, num_heads);
  in_proj_weight =
      register_parameter("in_proj_weight", initializers::glorot_uniform()({3 * embed_dim, embed_dim}, options.dtype));
  if (options.bias) {
    in_proj_bias = register_parameter("in_proj_bias", zeros({3 * embed_dim}, options.dtype));
    out_proj.bias.assign(zeros({embed_dim}, options.dtype));
  }
  register_module("out_proj", out_proj);
  describe(fmt::format("{}, {}", embed_dim, num_heads));
}

Tensor MultiheadAttention::run(const Tensor& query, const Tensor& key, const Tensor& value,
                               const MultiheadAttentionCall& call) {
  for (const Tensor* x : {&query, &key, &value})
    if (x->rank() != 3 || x->shape()[2] != embed_)
      fail<ShapeError>("MultiheadAttention", "takes three axes and {} features, got {}", embed_, x->shape());
  const auto project = [&](const Tensor& x, int64_t which) {
    const Tensor in = batch_first_ ? x : transpose(x, {1, 0, 2});
    const Tensor w = slice(in_proj_weight, {which * embed_}, {(which + 1) * embed_});
    Tensor y = matmul(in, w, {.transpose_b = true});
    if (in_proj_bias.defined()) y = y + slice(in_proj_bias, {which * embed_}, {(which + 1) * embed_});
    return reshape(y, {in.shape()[0], in.shape()[1], heads_, embed_ / heads_});
  };
  Tensor mask;
  const auto forbid = [&](const Tensor& hidden, const std::vector<int64_t>& shape) {
    const Tensor seen = logical_not(reshape(hidden, shape));
    mask = mask.defined() ? logical_and(mask, seen) : seen;
  };
  if (call.key_padding_mask.defined())
    forbid(call.key_padding_mask, {call.key_padding_mask.dim(0), 1, 1, call.key_padding_mask.dim(1)});
  if (call.attn_mask.defined()) forbid(call.attn_mask, {1, 1, call.attn_mask.dim(0), call.attn_mask.dim(1)});
  const Tensor mixed =
      attention(project(query, 0), project(key, 1), project(value, 2), {.causal = call.is_causal, .mask = mask});
  const Shape shape{mixed.shape()[0], mixed.shape()[1], embed_};
  const Tensor y = out_proj(reshape(mixed, shape.to_vector()));
  return batch_first_ ? y : transpose(y, {1, 0, 2});
}

}  // namespace isochron::nn
