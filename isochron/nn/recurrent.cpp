#include "isochron/nn/recurrent.h"

#include <algorithm>
#include <numeric>

#include "isochron/exec/trial.h"
#include "isochron/nn/masking.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/matmul.h"
#include "isochron/ops/random.h"
#include "isochron/ops/recurrent.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {
namespace {

// (T, B, …) -> step t, (B, …).
Tensor step_of(const Tensor& x, int64_t t) { return squeeze(slice(x, {t}, {t + 1}), {0}); }

// The bias of an LSTM whose forget gate starts open.
Initializer forgetting(const Initializer& others) {
  return Initializer("unit_forget_bias", [others](const Shape& shape, DType dtype, RandomSource) {
    const int64_t units = shape[0] / 4;
    return concat({others({units}, dtype), ones({units}, dtype), others({2 * units}, dtype)}).eval();
  });
}

std::string wanted_axes(int kernel_rank) {
  if (kernel_rank == 2) return "(batch, time, features)";
  return fmt::format("(batch, time, {} spatial ax{}, channels)", kernel_rank - 2, kernel_rank == 3 ? "is" : "es");
}

// (batch, time, …) -> (time, batch, …), and back.
Tensor time_swapped(const Tensor& x) {
  std::vector<int64_t> order(static_cast<size_t>(x.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[0], order[1]);
  return transpose(x, order);
}

}  // namespace

RecurrentLayer::RecurrentLayer(const char* kind, int64_t units, int gates, int states, RecurrentSettings settings)
    : units_(units), gates_(gates), state_count_(states), settings_(std::move(settings)), noise_(settings_.seed) {
  if (units < 1) fail<ValueError>(kind, "units must be at least 1, got {}", units);
  for (const auto& [name, rate] :
       {std::pair("dropout", settings_.dropout), std::pair("recurrent_dropout", settings_.recurrent_dropout)})
    if (!(rate >= 0 && rate < 1)) fail<ValueError>(kind, "{} must be in [0, 1), got {}", name, rate);
  take_common(settings_);
}

void RecurrentLayer::check_unbuilt() const {
  if (built()) fail<StateError>(class_name(), "layer \"{}\" has weights already", name());
}

void RecurrentLayer::build(const Shape& input) {
  const int rank = kernel_shape(1).rank();
  if (input.rank() != rank)
    fail<ShapeError>(class_name(), "needs {}, got examples of shape {}", wanted_axes(rank), input);
  const RecurrentSettings& s = settings_;
  kernel_ = add_weight("kernel", kernel_shape(input[-1]), s.kernel_initializer,
                       {.regularizer = s.kernel_regularizer, .constraint = s.kernel_constraint, .dtype = s.dtype});
  recurrent_ =
      add_weight("recurrent_kernel", kernel_shape(units_), s.recurrent_initializer,
                 {.regularizer = s.recurrent_regularizer, .constraint = s.recurrent_constraint, .dtype = s.dtype});
  if (!s.use_bias) return;
  // The GRU's second bias belongs to the product with the state.
  const bool two = gates_ == 3 && s.reset_after;
  bias_ = add_weight("bias", two ? Shape{2, gates_ * units_} : Shape{gates_ * units_},
                     s.unit_forget_bias ? forgetting(s.bias_initializer) : s.bias_initializer,
                     {.regularizer = s.bias_regularizer, .constraint = s.bias_constraint, .dtype = s.dtype});
}

Shape RecurrentLayer::output_shape(const Shape& input) const {
  return settings_.return_sequences ? Shape{input[0], units_} : Shape{units_};
}

Tensor RecurrentLayer::compute_mask(const Tensor&, const Tensor& mask) {
  return settings_.return_sequences ? mask : Tensor();
}

Tensor RecurrentLayer::call(const Tensor& x, const CallContext& context) {
  return run(x, {.training = context.training, .mask = context.mask}).output;
}

std::vector<Tensor> RecurrentLayer::call_many(const std::vector<Tensor>& inputs, const CallContext& context) {
  const Tensor mask = context.mask.defined() ? context.mask : mask_of(inputs[0]);
  const RecurrentResult result = run(
      inputs[0], {.training = context.training, .mask = mask, .initial_states = {inputs.begin() + 1, inputs.end()}});
  if (mask.defined() && settings_.return_sequences) set_mask(result.output, mask);
  std::vector<Tensor> outputs{result.output};
  if (settings_.return_state)
    for (const Tensor& state : result.states) outputs.push_back(given_on(state));
  return outputs;
}

void RecurrentLayer::reset_states() {
  for (const Variable& state : kept_) state.assign(zeros(state.shape(), state.dtype()));
}

std::vector<Variable> RecurrentLayer::state() const {
  std::vector<Variable> all = noise_.state();
  all.insert(all.end(), kept_.begin(), kept_.end());
  return all;
}

// The states of a batch exist from the first call on.
void RecurrentLayer::set_state(const std::vector<Tensor>& values) {
  const size_t noise = noise_.state().size();
  if (settings_.stateful && values.size() == noise + static_cast<size_t>(state_count_) && kept_.empty())
    for (size_t i = noise; i < values.size(); ++i) keep(values[i]);
  Layer::set_state(values);
}

void RecurrentLayer::keep(const Tensor& state) {
  kept_.emplace_back(zeros(state.shape(), settings_.dtype),
                     VariableOptions{.name = name() + "/state", .trainable = false});
}

std::vector<Tensor> RecurrentLayer::first_states(const Shape& shape, const std::vector<Tensor>& given) {
  const bool stateful = settings_.stateful && !TrialScope::active();  // whose batch is none of those to come
  if (stateful && kept_.empty())
    for (int i = 0; i < state_count_; ++i) keep(zeros(shape, settings_.dtype));
  if (stateful && kept_[0].shape() != shape)
    fail<ShapeError>(class_name(),
                     "stateful layer \"{}\" goes on with states of shape {}, got a batch of {} examples whose states "
                     "are {}; give it batches of one size",
                     name(), kept_[0].shape(), shape[0], shape);
  if (given.empty()) {
    if (stateful) return {kept_.begin(), kept_.end()};
    return std::vector<Tensor>(static_cast<size_t>(state_count_), zeros(shape, settings_.dtype));
  }
  if (given.size() != static_cast<size_t>(state_count_))
    fail<ValueError>(class_name(), "layer \"{}\" takes {} initial state{}, got {}", name(), state_count_,
                     state_count_ == 1 ? "" : "s", given.size());
  std::vector<Tensor> states;
  for (const Tensor& state : given) {
    if (state.shape() != shape || !is_floating(state.dtype()))
      fail<ShapeError>(class_name(), "an initial state must be {}, got {}",
                       to_string(TensorSpec{settings_.dtype, shape}), to_string(state.spec()));
    states.push_back(cast(state, settings_.dtype));
  }
  return states;
}

// What inputs or states are multiplied by: 0, or what makes up for the zeros.
Tensor RecurrentLayer::kept_share(const Shape& shape, double rate) const {
  return random_bernoulli(shape, 1 - rate, {.dtype = settings_.dtype, .key = noise_.next()}) / (1 - rate);
}

Tensor RecurrentLayer::project(const Tensor& input, const Tensor& kernel) const { return matmul(input, kernel); }
std::optional<RecurrentResult> RecurrentLayer::fused_loop(const Tensor&, const std::vector<Tensor>&, const Tensor&) {
  return {};
}

RecurrentResult RecurrentLayer::run(const Tensor& x, RecurrentCall call) {
  ensure_built(Shape(x.shape().dims().subspan(1)));
  if (x.rank() != kernel_.rank() + 1 || x.shape()[-1] != kernel_.shape()[-2])
    fail<ShapeError>(class_name(), "layer \"{}\" takes {} with {} features a step, got {}", name(),
                     wanted_axes(kernel_.rank()), kernel_.shape()[-2], x.shape());
  if (x.shape()[1] == 0) fail<ShapeError>(class_name(), "needs at least one step, got {}", x.shape());
  Tensor input = time_swapped(computed(x, settings_.dtype));
  Tensor mask = call.mask.defined() ? transpose(call.mask, {1, 0}) : Tensor();
  if (settings_.go_backwards) {
    input = flip(input, {0});
    if (mask.defined()) mask = flip(mask, {0});
  }
  if (call.training && settings_.dropout > 0)  // one decision for all steps
    input = input * cast(kept_share(input.shape().with(0, 1), settings_.dropout), input.dtype());
  Tensor z = cast(project(input, computed(kernel_, settings_.dtype)), settings_.dtype);
  if (const Tensor bias = input_bias(); bias.defined()) z = z + bias;
  const Shape state = z.shape().erase(0).with(-1, units_);
  const std::vector<Tensor> first = first_states(state, call.initial_states);
  const bool dropped = call.training && settings_.recurrent_dropout > 0;
  std::optional<RecurrentResult> fused;
  if (!settings_.unroll && !dropped) fused = fused_loop(z, first, mask);
  RecurrentResult result = fused ? std::move(*fused) : plain_loop(z, first, mask, call.training);
  if (settings_.stateful && !TrialScope::active())
    for (size_t i = 0; i < kept_.size(); ++i) kept_[i].assign(stop_gradient(result.states[i]));
  result.output = given_on(settings_.return_sequences ? time_swapped(result.output) : result.states[0]);
  return result;
}

RecurrentResult RecurrentLayer::plain_loop(const Tensor& z, std::vector<Tensor> states, const Tensor& mask,
                                           bool training) {
  Tensor kept;
  if (training && settings_.recurrent_dropout > 0) kept = kept_share(states[0].shape(), settings_.recurrent_dropout);
  std::vector<Tensor> outputs;
  for (int64_t t = 0; t < z.shape()[0]; ++t) {
    std::vector<Tensor> next = plain_step(step_of(z, t), kept.defined() ? states[0] * kept : states[0], states);
    if (mask.defined()) {
      const Tensor seen = mask_of_rank(step_of(mask, t), next[0].rank());
      for (size_t i = 0; i < next.size(); ++i) next[i] = where(seen, next[i], states[i]);
    }
    states = std::move(next);
    outputs.push_back(states[0]);
  }
  return {stack(outputs, 0), states};
}

std::vector<Tensor> RecurrentLayer::after_gates(const Tensor& sums, const Tensor& c) const {
  const std::vector<Tensor> each = split(sums, 4, -1);
  const auto gate = [&](size_t i) { return settings_.recurrent_activation(each[i]); };
  const Tensor next = gate(1) * c + gate(0) * settings_.activation(each[2]);
  return {gate(3) * settings_.activation(next), next};
}

SimpleRNN::SimpleRNN(int64_t units, const SimpleRNNOptions& options)
    : RecurrentLayer("SimpleRNN", units, 1, 1, settings_of(options)) {}
std::shared_ptr<RecurrentLayer> SimpleRNN::another() const {
  check_unbuilt();
  return std::make_shared<SimpleRNN>(*this);
}
std::optional<RecurrentResult> SimpleRNN::fused_loop(const Tensor& z, const std::vector<Tensor>& states,
                                                     const Tensor& mask) {
  const std::string& activation = settings_.activation.name();
  if (activation != "tanh" && activation != "relu") return {};
  const Tensor h =
      simple_rnn(z, recurrent_, states[0], mask, activation == "relu" ? RnnActivation::relu : RnnActivation::tanh);
  return RecurrentResult{h, {step_of(h, z.shape()[0] - 1)}};
}
std::vector<Tensor> SimpleRNN::plain_step(const Tensor& z, const Tensor& h, const std::vector<Tensor>&) {
  return {settings_.activation(z + matmul(h, recurrent_))};
}

LSTM::LSTM(int64_t units, const LSTMOptions& options) : RecurrentLayer("LSTM", units, 4, 2, settings_of(options)) {}
std::shared_ptr<RecurrentLayer> LSTM::another() const {
  check_unbuilt();
  return std::make_shared<LSTM>(*this);
}
std::optional<RecurrentResult> LSTM::fused_loop(const Tensor& z, const std::vector<Tensor>& states,
                                                const Tensor& mask) {
  if (settings_.activation.name() != "tanh" || settings_.recurrent_activation.name() != "sigmoid") return {};
  const LstmStates s = lstm(z, recurrent_, states[0], states[1], mask);
  const int64_t last = z.shape()[0] - 1;
  return RecurrentResult{s.h, {step_of(s.h, last), step_of(s.c, last)}};
}
std::vector<Tensor> LSTM::plain_step(const Tensor& z, const Tensor& h, const std::vector<Tensor>& states) {
  return after_gates(z + matmul(h, recurrent_), states[1]);
}

GRU::GRU(int64_t units, const GRUOptions& options) : RecurrentLayer("GRU", units, 3, 1, settings_of(options)) {}
std::shared_ptr<RecurrentLayer> GRU::another() const {
  check_unbuilt();
  return std::make_shared<GRU>(*this);
}
Tensor GRU::input_bias() const { return bias_.defined() && settings_.reset_after ? step_of(bias_, 0) : Tensor(bias_); }
Tensor GRU::recurrent_bias() const {
  return bias_.defined() ? step_of(bias_, 1) : zeros({3 * units_}, settings_.dtype);
}
std::optional<RecurrentResult> GRU::fused_loop(const Tensor& z, const std::vector<Tensor>& states, const Tensor& mask) {
  if (!settings_.reset_after || settings_.activation.name() != "tanh" ||
      settings_.recurrent_activation.name() != "sigmoid")
    return {};
  const Tensor h = gru(z, recurrent_, recurrent_bias(), states[0], mask);
  return RecurrentResult{h, {step_of(h, z.shape()[0] - 1)}};
}
std::vector<Tensor> GRU::plain_step(const Tensor& z, const Tensor& h, const std::vector<Tensor>& states) {
  const std::vector<Tensor> inputs = split(z, 3, -1), weights = split(recurrent_, 3, -1);
  const auto gate = [&](const Tensor& sum) { return settings_.recurrent_activation(sum); };
  Tensor update, candidate;
  if (settings_.reset_after) {
    const std::vector<Tensor> back = split(matmul(h, recurrent_) + recurrent_bias(), 3, -1);
    update = gate(inputs[0] + back[0]);
    candidate = settings_.activation(inputs[2] + gate(inputs[1] + back[1]) * back[2]);
  } else {
    update = gate(inputs[0] + matmul(h, weights[0]));
    const Tensor reset = gate(inputs[1] + matmul(h, weights[1]));
    candidate = settings_.activation(inputs[2] + matmul(reset * h, weights[2]));
  }
  return {update * states[0] + (1 - update) * candidate};
}

}  // namespace isochron
