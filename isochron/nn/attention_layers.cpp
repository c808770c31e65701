#include "isochron/nn/attention_layers.h"

#include <cmath>

#include "isochron/nn/attention_scores.h"
#include "isochron/nn/layer_note.h"
#include "isochron/nn/masking.h"
#include "isochron/ops/attention.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/matmul.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"
#include "isochron/ops/softmax.h"

namespace isochron {
namespace {

void need_sequence(const char* layer, const Shape& batch) {
  if (batch.rank() != 3) fail<ShapeError>(layer, "needs (batch, time, features), got {}", batch);
}

// Shapes without the batch axis.
std::vector<Shape> examples_of(std::initializer_list<Tensor> batches) {
  std::vector<Shape> shapes;
  for (const Tensor& batch : batches) shapes.push_back(batch.rank() > 0 ? batch.shape().erase(0) : Shape());
  return shapes;
}

void need_sequence_examples(const char* layer, const Shape& example) {
  if (example.rank() != 2) fail<ShapeError>(layer, "needs (batch, time, features), got examples of shape {}", example);
}

// (batch, T, S), (T, S) or (batch, heads, T, S) as the op takes it.
Tensor four_axes(const Tensor& mask) {
  switch (mask.rank()) {
    case 2:
      return expand_dims(expand_dims(mask, 0), 0);
    case 3:
      return expand_dims(mask, 1);
    case 4:
      return mask;
    default:
      fail<ShapeError>("MultiHeadAttention",
                       "attention_mask must be (batch, T, S), (T, S) or (batch, heads, T, S), got {}", mask.shape());
  }
}

// (1, 1, T, S): true where a step is less than `width` from the other.
Tensor band(int64_t steps, int64_t keys, int64_t width) {
  const Tensor rows = reshape(arange(steps), {1, 1, steps, 1}), columns = reshape(arange(keys), {1, 1, 1, keys});
  return less(abs(rows - columns), width);
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(int64_t num_heads, int64_t key_dim, MultiHeadAttentionOptions options)
    : MultiHeadAttention("MultiHeadAttention", num_heads, key_dim, {.key_value_heads = num_heads}, std::move(options)) {
}

MultiHeadAttention::MultiHeadAttention(const char* kind, int64_t num_heads, int64_t key_dim, const Grouping& grouping,
                                       MultiHeadAttentionOptions options)
    : num_heads_(num_heads),
      key_dim_(key_dim),
      value_dim_(options.value_dim),
      grouping_(grouping),
      options_(std::move(options)),
      dropout_(options_.dropout, {.seed = options_.seed}) {
  if (value_dim_ == 0) value_dim_ = key_dim_;
  if (num_heads < 1 || key_dim < 1 || value_dim_ < 1)
    fail<ValueError>(kind, "num_heads, key_dim and value_dim must be positive, got {}, {} and {}", num_heads, key_dim,
                     value_dim_);
  if (!(options_.dropout >= 0 && options_.dropout < 1))
    fail<ValueError>(kind, "dropout must be in [0, 1), got {}", options_.dropout);
  if (options_.rotary && key_dim % 2 != 0)
    fail<ValueError>(kind, "rotary positions need an even key_dim, got {}", key_dim);
  take_common(options_);
}

GroupQueryAttention::GroupQueryAttention(int64_t head_dim, int64_t num_query_heads, int64_t num_key_value_heads,
                                         GroupQueryAttentionOptions o)
    : MultiHeadAttention("GroupQueryAttention", num_query_heads, head_dim,
                         {num_key_value_heads, o.use_gate, o.sliding_window},
                         {.dropout = o.dropout,
                          .use_bias = o.use_bias,
                          .kernel_initializer = o.kernel_initializer,
                          .bias_initializer = o.bias_initializer,
                          .kernel_regularizer = o.kernel_regularizer,
                          .bias_regularizer = o.bias_regularizer,
                          .kernel_constraint = o.kernel_constraint,
                          .bias_constraint = o.bias_constraint,
                          .seed = o.seed,
                          .use_causal_mask = o.use_causal_mask,
                          .return_attention_scores = o.return_attention_scores,
                          .dtype = o.dtype,
                          .dtype_policy = o.dtype_policy,
                          .name = o.name}),
      head_dim_(head_dim),
      num_query_heads_(num_query_heads),
      num_key_value_heads_(num_key_value_heads),
      options_(std::move(o)) {
  if (num_key_value_heads < 1 || num_query_heads % num_key_value_heads != 0)
    fail<ValueError>("GroupQueryAttention", "num_key_value_heads must divide num_query_heads, got {} and {}",
                     num_key_value_heads, num_query_heads);
  if (options_.sliding_window && *options_.sliding_window < 1)
    fail<ValueError>("GroupQueryAttention", "sliding_window must be positive, got {}", *options_.sliding_window);
}

MultiHeadAttention::Projection MultiHeadAttention::add_projection(const char* which, const Shape& kernel, int inputs) {
  const MultiHeadAttentionOptions& o = options_;
  Projection p;
  const Fans fans{static_cast<double>(kernel.elements(0, inputs)),
                  static_cast<double>(kernel.elements(inputs, kernel.rank()))};
  p.kernel = add_weight(fmt::format("{}/kernel", which), kernel, o.kernel_initializer.with_fans(fans),
                        {.regularizer = o.kernel_regularizer, .constraint = o.kernel_constraint, .dtype = o.dtype});
  if (o.use_bias)
    p.bias = add_weight(fmt::format("{}/bias", which), Shape(kernel.dims().subspan(static_cast<size_t>(inputs))),
                        o.bias_initializer,
                        {.regularizer = o.bias_regularizer, .constraint = o.bias_constraint, .dtype = o.dtype});
  return p;
}

void MultiHeadAttention::build_for(int64_t query, int64_t key, int64_t value) {
  query_ = add_projection("query", {query, num_heads_, key_dim_}, 1);
  key_ = add_projection("key", {key, grouping_.key_value_heads, key_dim_}, 1);
  if (grouping_.gated) gate_ = add_projection("gate", {query, num_heads_, value_dim_}, 1);
  value_ = add_projection("value", {value, grouping_.key_value_heads, value_dim_}, 1);
  const int64_t out = options_.output_shape ? options_.output_shape : query;
  output_ = add_projection("attention_output", {num_heads_, value_dim_, out}, 2);
}

void MultiHeadAttention::build(const Shape& input) {
  if (output_.kernel.defined()) return;
  need_sequence_examples(class_name().c_str(), input);
  build_for(input[-1], input[-1], input[-1]);
}

Shape MultiHeadAttention::output_shape(const Shape& input) const {
  return options_.output_shape ? input.with(-1, options_.output_shape) : input;
}

Tensor MultiHeadAttention::project(const Tensor& x, const Projection& to) const {
  const int64_t features = to.kernel.shape()[0], heads = to.kernel.shape()[1], width = to.kernel.shape()[2];
  if (x.shape()[2] != features)
    fail<ShapeError>(class_name(), "layer \"{}\" was built for {} features, got {}", name(), features, x.shape());
  const auto in = [&](const Tensor& t) { return computed(t, options_.dtype); };
  Tensor y = matmul(reshape(in(x), {-1, features}), reshape(in(to.kernel), {features, heads * width}));
  if (to.bias.defined()) y = y + reshape(in(to.bias), {heads * width});
  return reshape(y, {x.shape()[0], x.shape()[1], heads, width});
}

AttentionResult MultiHeadAttention::in_the_open(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                                                bool causal, bool training) {
  const auto by_head = [](const Tensor& x) { return transpose(x, {0, 2, 1, 3}); };
  const Tensor scores =
      matmul(by_head(q), by_head(k), {.transpose_b = true}) / std::sqrt(static_cast<double>(key_dim_));
  const Tensor probabilities = attention_probabilities(scores, mask, causal);
  const Tensor kept = dropout_.call(probabilities, {.training = training});
  return {by_head(matmul(kept, by_head(v))), probabilities};
}

AttentionResult MultiHeadAttention::attend(const Tensor& query, const Tensor& value, const AttentionCall& call,
                                           const Tensor& query_mask, const Tensor& value_mask, bool with_scores) {
  const Tensor& key = call.key.defined() ? call.key : value;
  const auto projected = [&](const Tensor& x, const Projection& to) { return wide(project(x, to), options_.dtype); };
  const int64_t sharing = num_heads_ / grouping_.key_value_heads;
  const auto for_all_heads = [&](const Tensor& x) { return sharing == 1 ? x : repeat(x, sharing, 2); };
  Tensor q = projected(query, query_), k = for_all_heads(projected(key, key_));
  const Tensor v = for_all_heads(projected(value, value_));
  if (options_.rotary) {
    q = rotary_positions(q);
    k = rotary_positions(k);
  }
  Tensor mask = call.attention_mask.defined() ? four_axes(call.attention_mask) : Tensor();
  if (value_mask.defined()) mask = both_masks(mask, expand_dims(expand_dims(value_mask, 1), 1));
  if (grouping_.window) mask = both_masks(mask, band(q.shape()[1], k.shape()[1], *grouping_.window));
  const bool causal = call.use_causal_mask.value_or(options_.use_causal_mask);
  const bool open = with_scores || (call.training && options_.dropout > 0);
  if (open && query_mask.defined()) mask = both_masks(mask, expand_dims(expand_dims(query_mask, 1), -1));
  auto [mixed, scores] = open ? in_the_open(q, k, v, mask, causal, call.training)
                              : AttentionResult{attention(q, k, v, {.causal = causal, .mask = mask}), {}};
  // The same without a mask as large as the scores.
  if (!open && query_mask.defined()) mixed = where(mask_of_rank(query_mask, 4), mixed, mean(v, {1}, true));
  if (grouping_.gated) mixed = mixed * sigmoid(projected(query, gate_));
  const int64_t width = num_heads_ * value_dim_, out = output_.kernel.shape()[2];
  Tensor y = matmul(reshape(computed(mixed, options_.dtype), {-1, width}),
                    reshape(computed(output_.kernel, options_.dtype), {width, out}));
  if (output_.bias.defined()) y = y + computed(output_.bias, options_.dtype);
  return {reshape(y, {query.shape()[0], query.shape()[1], out}), with_scores ? given_on(scores) : Tensor()};
}

AttentionResult MultiHeadAttention::look(const Tensor& query, const Tensor& value, const AttentionCall& call,
                                         bool with_scores) {
  const Tensor& key = call.key.defined() ? call.key : value;
  for (const Tensor* x : {&query, &value, &key}) need_sequence(class_name().c_str(), x->shape());
  if (!built()) ensure_built(examples_of({query, value, key}));
  const Tensor value_mask = both_masks(mask_of(value), call.key.defined() ? mask_of(key) : Tensor());
  const Tensor query_mask = mask_of(query);
  const AttentionResult result = attend(query, value, call, query_mask, value_mask, with_scores);
  if (query_mask.defined()) set_mask(result.output, query_mask);
  return result;
}

Tensor MultiHeadAttention::operator()(const Tensor& query, const Tensor& value, const AttentionCall& call) {
  return in_layer(*this, examples_of({query, value}), [&] { return look(query, value, call, false); }).output;
}
AttentionResult MultiHeadAttention::run(const Tensor& query, const Tensor& value, const AttentionCall& call) {
  return in_layer(*this, examples_of({query, value}), [&] { return look(query, value, call, true); });
}

void MultiHeadAttention::build_many(const std::vector<Shape>& inputs) {
  if (output_.kernel.defined() || inputs.size() < 2) return build(inputs[0]);
  const Shape &query = inputs[0], &value = inputs[1], &key = inputs[inputs.size() > 2 ? 2 : 1];
  for (const Shape& shape : {query, value, key}) need_sequence_examples(class_name().c_str(), shape);
  build_for(query[1], key[1], value[1]);
}

std::vector<Tensor> MultiHeadAttention::call_many(const std::vector<Tensor>& inputs, const CallContext& context) {
  if (inputs.size() > 4)
    fail<ValueError>(class_name(), "takes query, value, key and attention_mask, got {} inputs", inputs.size());
  AttentionCall call{.training = context.training};
  if (inputs.size() > 2) call.key = inputs[2];
  if (inputs.size() > 3) call.attention_mask = inputs[3];
  const bool with_scores = options_.return_attention_scores;
  const AttentionResult result = look(inputs[0], inputs[inputs.size() > 1 ? 1 : 0], call, with_scores);
  return with_scores ? std::vector{result.output, result.scores} : std::vector{result.output};
}

Tensor MultiHeadAttention::call(const Tensor& x, const CallContext& context) {
  need_sequence(class_name().c_str(), x.shape());
  return attend(x, x, {.training = context.training}, context.mask, context.mask, false).output;
}

namespace {

MultiHeadAttentionOptions attention_options(const TransformerLayerOptions& o, bool causal) {
  return {.dropout = o.dropout,
          .kernel_initializer = o.kernel_initializer,
          .use_causal_mask = causal,
          .rotary = o.rotary,
          .dtype = o.dtype};
}

std::shared_ptr<LayerNormalization> norm(const TransformerLayerOptions& o) {
  return std::make_shared<LayerNormalization>(
      LayerNormalizationOptions{.epsilon = o.layer_norm_epsilon, .dtype = o.dtype});
}

// The feed-forward part of a block, which encoders and decoders have alike.
std::pair<std::shared_ptr<Dense>, std::shared_ptr<Dense>> feed_forward(const TransformerLayerOptions& o, int64_t hidden,
                                                                       int64_t features) {
  return {
      std::make_shared<Dense>(
          hidden,
          DenseOptions{.activation = o.activation, .kernel_initializer = o.kernel_initializer, .dtype = o.dtype}),
      std::make_shared<Dense>(features, DenseOptions{.kernel_initializer = o.kernel_initializer, .dtype = o.dtype})};
}

void check_block(const char* layer, int64_t heads, int64_t feedforward, const TransformerLayerOptions& o) {
  if (heads < 1 || feedforward < 1)
    fail<ValueError>(layer, "num_heads and feedforward_dim must be positive, got {} and {}", heads, feedforward);
  if (!(o.dropout >= 0 && o.dropout < 1)) fail<ValueError>(layer, "dropout must be in [0, 1), got {}", o.dropout);
}

int64_t head_width(const char* layer, const Shape& input, int64_t heads) {
  need_sequence_examples(layer, input);
  if (input[-1] % heads != 0) fail<ShapeError>(layer, "{} features can't be divided among {} heads", input[-1], heads);
  return input[-1] / heads;
}

// x + part(x) with a norm before the part or after the sum.
template <class F>
Tensor residual(const Tensor& x, LayerNormalization& norm, Dropout& dropout, bool norm_first, bool training, F part) {
  const CallContext context{.training = training};
  const Tensor y = x + dropout(part(norm_first ? norm(x) : x), context);
  return norm_first ? y : norm(y);
}

}  // namespace

TransformerEncoderLayer::TransformerEncoderLayer(int64_t num_heads, int64_t feedforward_dim,
                                                 TransformerLayerOptions options)
    : num_heads_(num_heads), feedforward_dim_(feedforward_dim), options_(std::move(options)) {
  check_block("TransformerEncoderLayer", num_heads, feedforward_dim, options_);
  take_common(options_);
}

void TransformerEncoderLayer::build(const Shape& input) {
  if (dropout_ && dropout_->built()) return;
  clear_sublayers();
  const TransformerLayerOptions& o = options_;
  const int64_t width = head_width("TransformerEncoderLayer", input, num_heads_);
  attention_ = std::make_shared<MultiHeadAttention>(num_heads_, width, attention_options(o, o.use_causal_mask));
  std::tie(up_, down_) = feed_forward(o, feedforward_dim_, input[-1]);
  first_norm_ = norm(o);
  second_norm_ = norm(o);
  dropout_ = std::make_shared<Dropout>(o.dropout);
  for (const std::shared_ptr<Layer>& layer :
       std::initializer_list<std::shared_ptr<Layer>>{attention_, first_norm_, up_, down_, second_norm_, dropout_}) {
    layer->ensure_built(layer == down_ ? input.with(-1, feedforward_dim_) : input);
    add_sublayer(layer);
  }
}

Tensor TransformerEncoderLayer::call(const Tensor& x, const CallContext& context) {
  const auto part = [&](const Tensor& in, LayerNormalization& norm_, auto f) {
    return residual(in, norm_, *dropout_, options_.norm_first, context.training, f);
  };
  const Tensor y = part(x, *first_norm_, [&](const Tensor& in) { return attention_->call(in, context); });
  return part(y, *second_norm_, [&](const Tensor& in) { return (*down_)((*up_)(in)); });
}

TransformerDecoderLayer::TransformerDecoderLayer(int64_t num_heads, int64_t feedforward_dim,
                                                 TransformerLayerOptions options)
    : num_heads_(num_heads), feedforward_dim_(feedforward_dim), options_(std::move(options)) {
  check_block("TransformerDecoderLayer", num_heads, feedforward_dim, options_);
  take_common(options_);
}

void TransformerDecoderLayer::build(const Shape& input) {
  if (dropout_ && dropout_->built()) return;
  clear_sublayers();
  const TransformerLayerOptions& o = options_;
  const int64_t width = head_width("TransformerDecoderLayer", input, num_heads_);
  attention_ = std::make_shared<MultiHeadAttention>(num_heads_, width, attention_options(o, true));
  TransformerLayerOptions across = o;
  across.rotary = false;  // positions of two sequences have nothing to do with each other
  cross_ = std::make_shared<MultiHeadAttention>(num_heads_, width, attention_options(across, false));
  std::tie(up_, down_) = feed_forward(o, feedforward_dim_, input[-1]);
  first_norm_ = norm(o);
  cross_norm_ = norm(o);
  second_norm_ = norm(o);
  dropout_ = std::make_shared<Dropout>(o.dropout);
  for (const std::shared_ptr<Layer>& layer : std::initializer_list<std::shared_ptr<Layer>>{
           attention_, first_norm_, cross_, cross_norm_, up_, down_, second_norm_, dropout_}) {
    // Attention to the memory is built by the first call that has one: its features may differ.
    if (layer != cross_ && layer != cross_norm_)
      layer->ensure_built(layer == down_ ? input.with(-1, feedforward_dim_) : input);
    add_sublayer(layer);
  }
}

Tensor TransformerDecoderLayer::decode(const Tensor& x, const Tensor& memory, const CallContext& context) {
  const auto part = [&](const Tensor& in, LayerNormalization& norm_, auto f) {
    return residual(in, norm_, *dropout_, options_.norm_first, context.training, f);
  };
  Tensor y = part(x, *first_norm_, [&](const Tensor& in) { return attention_->call(in, context); });
  if (memory.defined())
    y = part(y, *cross_norm_, [&](const Tensor& in) { return (*cross_)(in, memory, {.training = context.training}); });
  return part(y, *second_norm_, [&](const Tensor& in) { return (*down_)((*up_)(in)); });
}

Tensor TransformerDecoderLayer::operator()(const Tensor& x, const Tensor& memory, CallContext context) {
  return in_layer(*this, examples_of({x, memory}), [&] { return look(x, memory, std::move(context)); });
}
Tensor TransformerDecoderLayer::look(const Tensor& x, const Tensor& memory, CallContext context) {
  need_sequence("TransformerDecoderLayer", x.shape());
  if (!built()) ensure_built(examples_of({x}));
  if (!context.mask.defined()) context.mask = mask_of(x);
  const Tensor y = decode(x, memory, context);
  if (context.mask.defined()) set_mask(y, context.mask);
  return y;
}
std::vector<Tensor> TransformerDecoderLayer::call_many(const std::vector<Tensor>& inputs, const CallContext& context) {
  if (inputs.size() != 2)
    fail<ValueError>("TransformerDecoderLayer", "takes its input and what it looks at, got {} inputs", inputs.size());
  return {look(inputs[0], inputs[1], context)};
}
Tensor TransformerDecoderLayer::call(const Tensor& x, const CallContext& context) { return decode(x, {}, context); }

PositionEmbedding::PositionEmbedding(int64_t max_length, LayerOptions options) : max_length_(max_length) {
  if (max_length < 1) fail<ValueError>("PositionEmbedding", "max_length must be positive, got {}", max_length);
  set_name(std::move(options.name));
}
void PositionEmbedding::build(const Shape& input) {
  need_sequence_examples("PositionEmbedding", input);
  embeddings_ = add_weight("embeddings", {max_length_, input[-1]}, "glorot_uniform");
}
Tensor PositionEmbedding::call(const Tensor& x, const CallContext&) {
  need_sequence("PositionEmbedding", x.shape());
  if (x.shape()[1] > max_length_)
    fail<ShapeError>("PositionEmbedding", "sequences may have {} steps, got {}", max_length_, x.shape());
  const Tensor used = x.shape()[1] == max_length_ ? Tensor(embeddings_) : slice(embeddings_, {0}, {x.shape()[1]});
  return x + cast(used, x.dtype());
}

Tensor SinusoidalPositions::call(const Tensor& x, const CallContext&) {
  need_sequence("SinusoidalPositions", x.shape());
  return x + cast(sinusoidal_positions(x.shape()[1], x.shape()[2]), x.dtype());
}

}  // namespace isochron
