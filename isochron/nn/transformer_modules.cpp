#include "isochron/nn/transformer_modules.h"

#include <limits>

#include "isochron/base/names.h"
#include "isochron/nn/init.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/shape_ops.h"

namespace isochron::nn {
namespace {

MultiheadAttentionOptions attention_options(const TransformerModuleOptions& o) {
  return {.dropout = o.dropout, .bias = o.bias, .batch_first = o.batch_first, .dtype = o.dtype};
}
LayerNormOptions norm_options(double eps, bool bias, DType dtype) { return {.eps = eps, .bias = bias, .dtype = dtype}; }
LayerNormOptions norm_options(const TransformerModuleOptions& o) {
  return norm_options(o.layer_norm_eps, o.bias, o.dtype);
}
LinearOptions linear_options(const TransformerModuleOptions& o) { return {.bias = o.bias, .dtype = o.dtype}; }

}  // namespace

TransformerModuleLayer::TransformerModuleLayer(const char* kind, int64_t d_model, int64_t nhead,
                                               TransformerModuleOptions o)
    : self_attn(d_model, nhead, attention_options(o)),
      linear1(d_model, o.dim_feedforward, linear_options(o)),
      linear2(o.dim_feedforward, d_model, linear_options(o)),
      norm1(d_model, norm_options(o)),
      norm2(d_model, norm_options(o)),
      dropout(o.dropout),
      features_(d_model),
      heads_(nhead),
      options_(std::move(o)) {
  const std::string& name = options_.activation;
  if (name != "relu" && name != "gelu")
    fail<ValueError>(kind, "unknown activation \"{}\"{}", name, did_you_mean(name, {"relu", "gelu"}));
  register_module("self_attn", self_attn);
}

void TransformerModuleLayer::register_rest() {
  register_module("linear1", linear1);
  register_module("linear2", linear2);
  register_module("norm1", norm1);
  register_module("norm2", norm2);
  register_module("dropout", dropout);
}

template <class F>
Tensor TransformerModuleLayer::with_residual(const Tensor& x, LayerNorm& norm, F part) {
  const bool first = options_.norm_first;
  const Tensor y = x + dropout(part(first ? norm(x) : x));
  return first ? y : norm(y);
}

Tensor TransformerModuleLayer::feed_forward(const Tensor& x) {
  const Tensor hidden = linear1(x);
  return linear2(dropout(options_.activation == "gelu" ? gelu(hidden) : relu(hidden)));
}

MultiheadAttention TransformerModuleLayer::another_attention() const {
  return {features_, heads_, attention_options(options_)};
}
LayerNorm TransformerModuleLayer::another_norm() const { return LayerNorm(features_, norm_options(options_)); }

TransformerEncoderLayer::TransformerEncoderLayer(int64_t d_model, int64_t nhead, TransformerModuleOptions options)
    : TransformerModuleLayer("TransformerEncoderLayer", d_model, nhead, std::move(options)) {
  register_rest();
}

Tensor TransformerEncoderLayer::run(const Tensor& x, const EncoderCall& call) {
  const Tensor y = with_residual(x, norm1, [&](const Tensor& in) {
    return self_attn.run(in, in, in, {call.src_key_padding_mask, call.src_mask, call.is_causal});
  });
  return with_residual(y, norm2, [&](const Tensor& in) { return feed_forward(in); });
}

TransformerDecoderLayer::TransformerDecoderLayer(int64_t d_model, int64_t nhead, TransformerModuleOptions options)
    : TransformerModuleLayer("TransformerDecoderLayer", d_model, nhead, std::move(options)),
      multihead_attn(another_attention()),
      norm3(another_norm()) {
  register_module("multihead_attn", multihead_attn);
  register_rest();
  register_module("norm3", norm3);
}

Tensor TransformerDecoderLayer::run(const Tensor& x, const Tensor& memory, const DecoderCall& call) {
  Tensor y = with_residual(x, norm1, [&](const Tensor& in) {
    return self_attn.run(in, in, in, {call.tgt_key_padding_mask, call.tgt_mask, call.tgt_is_causal});
  });
  y = with_residual(y, norm2, [&](const Tensor& in) {
    return multihead_attn.run(in, memory, memory,
                              {call.memory_key_padding_mask, call.memory_mask, call.memory_is_causal});
  });
  return with_residual(y, norm3, [&](const Tensor& in) { return feed_forward(in); });
}

TransformerEncoder::TransformerEncoder(const TransformerEncoderLayer& layer, int64_t num_layers,
                                       std::optional<LayerNorm> norm)
    : TransformerStack("TransformerEncoder", layer, num_layers, std::move(norm)) {}
Tensor TransformerEncoder::run(const Tensor& x, const EncoderCall& call) {
  return through(x, [&](TransformerEncoderLayer& layer, const Tensor& in) { return layer.run(in, call); });
}

TransformerDecoder::TransformerDecoder(const TransformerDecoderLayer& layer, int64_t num_layers,
                                       std::optional<LayerNorm> norm)
    : TransformerStack("TransformerDecoder", layer, num_layers, std::move(norm)) {}
Tensor TransformerDecoder::run(const Tensor& x, const Tensor& memory, const DecoderCall& call) {
  return through(x, [&](TransformerDecoderLayer& layer, const Tensor& in) { return layer.run(in, memory, call); });
}

namespace {

TransformerModuleOptions layer_options(const TransformerOptions& o) {
  return {.dim_feedforward = o.dim_feedforward,
          .dropout = o.dropout,
          .activation = o.activation,
          .layer_norm_eps = o.layer_norm_eps,
          .batch_first = o.batch_first,
          .norm_first = o.norm_first,
          .bias = o.bias,
          .dtype = o.dtype};
}
LayerNorm last_norm(const TransformerOptions& o) {
  return LayerNorm(o.d_model, norm_options(o.layer_norm_eps, o.bias, o.dtype));
}

}  // namespace

Transformer::Transformer(const TransformerOptions& o)
    : encoder(TransformerEncoderLayer(o.d_model, o.nhead, layer_options(o)), o.num_encoder_layers, last_norm(o)),
      decoder(TransformerDecoderLayer(o.d_model, o.nhead, layer_options(o)), o.num_decoder_layers, last_norm(o)),
      features_(o.d_model),
      batch_axis_(o.batch_first ? 0 : 1) {
  register_module("encoder", encoder);
  register_module("decoder", decoder);
  for (const Variable& parameter : parameters())
    if (parameter.rank() > 1) init::xavier_uniform_(parameter);
}

Tensor Transformer::run(const Tensor& source, const Tensor& target, const TransformerCall& call) {
  for (const Tensor* x : {&source, &target})
    if (x->rank() != 3 || x->shape()[2] != features_)
      fail<ShapeError>("Transformer", "takes source and target of {} with {} features, got {} and {}",
                       batch_axis_ == 0 ? "(N, L, …)" : "(L, N, …)", features_, source.shape(), target.shape());
  if (source.shape()[batch_axis_] != target.shape()[batch_axis_])
    fail<ShapeError>("Transformer", "source and target must agree in their batch, got {} and {}; see batch_first",
                     source.shape(), target.shape());
  const Tensor memory = encoder.run(source, {call.src_mask, call.src_key_padding_mask, call.src_is_causal});
  return decoder.run(target, memory,
                     {call.tgt_mask, call.memory_mask, call.tgt_key_padding_mask, call.memory_key_padding_mask,
                      call.tgt_is_causal, call.memory_is_causal});
}

Tensor Transformer::generate_square_subsequent_mask(int64_t size, DType dtype) {
  return triu(full({size, size}, -std::numeric_limits<double>::infinity(), dtype), 1);
}

}  // namespace isochron::nn
