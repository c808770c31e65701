#include "isochron/nn/wrappers.h"

#include "isochron/base/names.h"
#include "isochron/nn/masking.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/matmul.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {
namespace {

Shape after_time(const char* layer, const Shape& input) {
  if (input.rank() < 2) fail<ShapeError>(layer, "needs (batch, time, …), got examples of shape {}", input);
  return Shape(input.dims().subspan(1));
}

}  // namespace

Bidirectional::Bidirectional(std::shared_ptr<RecurrentLayer> layer, BidirectionalOptions options)
    : layer_(layer), forward_(layer->another()), backward_(layer->another()), options_(std::move(options)) {
  const std::vector<std::string_view> modes = {"concat", "sum", "mul", "ave", "none"};
  if (std::find(modes.begin(), modes.end(), options_.merge_mode) == modes.end())
    fail<ValueError>("Bidirectional", "unknown merge_mode \"{}\"{}", options_.merge_mode,
                     did_you_mean(options_.merge_mode, modes));
  set_name(options_.name);
  const std::string& inner = layer_->name();
  backward_->set_go_backwards(!forward_->settings().go_backwards);
  forward_->set_name("forward_" + inner);
  backward_->set_name("backward_" + inner);
  add_sublayer(forward_);
  add_sublayer(backward_);
}

Bidirectional Bidirectional::from_arguments(const std::shared_ptr<Layer>& layer, BidirectionalOptions options) {
  auto recurrent = std::dynamic_pointer_cast<RecurrentLayer>(layer);
  if (!recurrent) fail<ValueError>("Bidirectional", "reads with a recurrent layer, got {}", layer->class_name());
  return Bidirectional(std::move(recurrent), std::move(options));
}

void Bidirectional::build(const Shape& input) {
  forward_->ensure_built(input);
  backward_->ensure_built(input);
}

std::pair<RecurrentResult, RecurrentResult> Bidirectional::both_ways(const std::vector<Tensor>& inputs,
                                                                     const CallContext& context) {
  if (inputs.size() % 2 == 0)
    fail<ValueError>("Bidirectional", "takes equally many initial states for both ways, got {}", inputs.size() - 1);
  const auto half = inputs.begin() + 1 + static_cast<ptrdiff_t>(inputs.size() / 2);
  RecurrentResult a = forward_->run(
      inputs[0], {.training = context.training, .mask = context.mask, .initial_states = {inputs.begin() + 1, half}});
  RecurrentResult b = backward_->run(
      inputs[0], {.training = context.training, .mask = context.mask, .initial_states = {half, inputs.end()}});
  if (forward_->settings().return_sequences) {
    b.output = flip(b.output, {1});
    // Steps that do not count are zero, as in Keras; elsewhere they repeat the step before.
    if (context.mask.defined()) {
      const Tensor seen = mask_of_rank(context.mask, a.output.rank());
      a.output = where(seen, a.output, 0);
      b.output = where(seen, b.output, 0);
    }
  }
  const auto penalize = [](RecurrentLayer& way, const RecurrentResult& result) {
    std::vector<Tensor> outputs{result.output};
    if (way.settings().return_state) outputs.insert(outputs.end(), result.states.begin(), result.states.end());
    way.penalize_activity(outputs);
  };
  penalize(*forward_, a);
  penalize(*backward_, b);
  return {std::move(a), std::move(b)};
}

Tensor Bidirectional::merged(const Tensor& a, const Tensor& b) const {
  if (options_.merge_mode == "sum") return a + b;
  if (options_.merge_mode == "mul") return a * b;
  if (options_.merge_mode == "ave") return (a + b) / 2;
  return concat({a, b}, -1);
}

std::vector<Tensor> Bidirectional::call_many(const std::vector<Tensor>& inputs, const CallContext& context) {
  CallContext own = context;
  if (!own.mask.defined()) own.mask = mask_of(inputs[0]);
  const auto [a, b] = both_ways(inputs, own);
  std::vector<Tensor> outputs;
  if (options_.merge_mode == "none")
    outputs = {a.output, b.output};
  else
    outputs = {merged(a.output, b.output)};
  if (const Tensor mask = compute_mask(inputs[0], own.mask); mask.defined())
    for (const Tensor& output : outputs) set_mask(output, mask);
  if (forward_->settings().return_state)
    for (const RecurrentResult* way : {&a, &b})
      for (const Tensor& state : way->states) outputs.push_back(given_on(state));
  return outputs;
}

Tensor Bidirectional::call(const Tensor& x, const CallContext& context) {
  const auto [a, b] = both_ways({x}, context);
  return merged(a.output, b.output);
}

Shape Bidirectional::output_shape(const Shape& input) const {
  const Shape one = forward_->output_shape(input);
  return options_.merge_mode == "concat" ? one.with(-1, 2 * one[-1]) : one;
}

TimeDistributed::TimeDistributed(const AnyLayer& layer, LayerOptions options) : layer_(layer.get()) {
  set_name(std::move(options.name));
  add_sublayer(layer_);
}

void TimeDistributed::build(const Shape& input) { layer_->ensure_built(after_time("TimeDistributed", input)); }

Tensor TimeDistributed::call(const Tensor& x, const CallContext& context) {
  const Shape step = after_time("TimeDistributed", Shape(x.shape().dims().subspan(1)));
  const int64_t batch = x.shape()[0], time = x.shape()[1];
  const Tensor y = layer_->call(reshape(x, step.insert(0, batch * time).to_vector()), {.training = context.training});
  return reshape(y, Shape(y.shape().dims().subspan(1)).insert(0, time).insert(0, batch).to_vector());
}

Shape TimeDistributed::output_shape(const Shape& input) const {
  return layer_->output_shape(after_time("TimeDistributed", input)).insert(0, input[0]);
}

SpectralNormalization::SpectralNormalization(const AnyLayer& layer, SpectralNormalizationOptions options)
    : layer_(layer.get()), options_(std::move(options)) {
  if (options_.power_iterations < 1)
    fail<ValueError>("SpectralNormalization", "power_iterations must be positive, got {}", options_.power_iterations);
  set_name(options_.name);
  add_sublayer(layer_);
}

void SpectralNormalization::build(const Shape& input) {
  layer_->ensure_built(input);
  for (const Variable& weight : layer_->own_weights())
    if (weight.name().ends_with("/kernel") || weight.name().ends_with("/embeddings")) kernel_ = weight;
  if (!kernel_.defined())
    fail<ValueError>("SpectralNormalization", "{} \"{}\" has neither a kernel nor embeddings", layer_->class_name(),
                     layer_->name());
  vector_u_ = add_weight("vector_u", {1, kernel_.shape()[-1]}, initializers::truncated_normal({.stddev = 0.02}),
                         {.trainable = false, .dtype = kernel_.dtype()});
}

Tensor SpectralNormalization::call(const Tensor& x, const CallContext& context) {
  if (context.training) {
    const Tensor rows = stop_gradient(reshape(kernel_, {-1, kernel_.shape()[-1]}));
    const auto unit = [](const Tensor& v) { return v / maximum(norm(v), 1e-7); };
    Tensor u = stop_gradient(vector_u_), v;
    for (int64_t i = 0; i < options_.power_iterations; ++i) {
      v = unit(matmul(u, rows, {.transpose_b = true}));
      u = unit(matmul(v, rows));
    }
    const Tensor sigma = reshape(matmul(matmul(v, rows), u, {.transpose_b = true}), {});
    const Tensor nothing = all(equal(kernel_, 0));
    vector_u_.assign(where(nothing, vector_u_, u));
    kernel_.assign(where(nothing, kernel_, stop_gradient(kernel_) / sigma));
  }
  return (*layer_)(x, context);
}

}  // namespace isochron
