// SimpleRNN, LSTM and GRU over sequences (batch, time, features), with Keras' arguments, weights and gate order.
//
//   Sequential model{LSTM(64, {.return_sequences = true}), LSTM(32), Dense(1)};
//   GRU gru(16, {.go_backwards = true});
//   auto [output, states] = LSTM(8).run(x, {.initial_states = {h, c}});      // on tensors
//
//   // An encoder whose last states a decoder starts from, in a functional model:
//   SymbolicTensors encoded = LSTM(64, {.return_state = true})(SymbolicTensors{source});     // output, h, c
//   SymbolicTensor decoded = LSTM(64, {.return_sequences = true})({target, encoded[1], encoded[2]});
//
// The projection of all steps is one product and the loop over time one op, so compiling does not depend on the length.
// Activations other than the defaults, recurrent_dropout, reset_after = false and unroll = true take a loop written in
// plain ops, whose plan grows with the length. Where the mask is false the state stays as it is.
#pragma once

#include <optional>

#include "isochron/nn/activations.h"
#include "isochron/nn/dropout.h"

namespace isochron {

// What all recurrent layers take, by Keras' names; those of conv_lstm.h, too.
#define ISO_RECURRENT_OPTIONS                                     \
  bool use_bias = true;                                           \
  Initializer kernel_initializer = "glorot_uniform";              \
  Initializer recurrent_initializer = "orthogonal";               \
  Initializer bias_initializer = "zeros";                         \
  Regularizer kernel_regularizer = {};                            \
  Regularizer recurrent_regularizer = {};                         \
  Regularizer bias_regularizer = {};                              \
  Regularizer activity_regularizer = {};                          \
  Constraint kernel_constraint = {};                              \
  Constraint recurrent_constraint = {};                           \
  Constraint bias_constraint = {};                                \
  double dropout = 0;           /* of the inputs */               \
  double recurrent_dropout = 0; /* of the state */                \
  std::optional<uint64_t> seed = {};                              \
  bool return_sequences = false;                                  \
  bool return_state = false; /* outputs, then the states */       \
  bool go_backwards = false;                                      \
  bool stateful = false; /* go on where the batch before ended */ \
  bool unroll = false;                                            \
  DType dtype = DType::float32;                                   \
  std::string dtype_policy = {};                                  \
  std::string name = {}

#define ISO_RECURRENT_OPTION_NAMES                                                                                  \
  use_bias, kernel_initializer, recurrent_initializer, bias_initializer, kernel_regularizer, recurrent_regularizer, \
      bias_regularizer, activity_regularizer, kernel_constraint, recurrent_constraint, bias_constraint, dropout,    \
      recurrent_dropout, seed, return_sequences, return_state, go_backwards, stateful, unroll, dtype, dtype_policy, \
      name

struct SimpleRNNOptions {
  ActivationFunction activation = "tanh";
  ISO_RECURRENT_OPTIONS;
};
ISO_OPTIONS(SimpleRNNOptions, activation, ISO_RECURRENT_OPTION_NAMES)
struct LSTMOptions {
  ActivationFunction activation = "tanh";
  ActivationFunction recurrent_activation = "sigmoid";
  bool unit_forget_bias = true;  // the forget gate's bias starts at 1
  ISO_RECURRENT_OPTIONS;
};
ISO_OPTIONS(LSTMOptions, activation, recurrent_activation, unit_forget_bias, ISO_RECURRENT_OPTION_NAMES)
struct GRUOptions {
  ActivationFunction activation = "tanh";
  ActivationFunction recurrent_activation = "sigmoid";
  bool reset_after = true;  // the reset gate acts on the product with the state, not on the state
  ISO_RECURRENT_OPTIONS;
};
ISO_OPTIONS(GRUOptions, activation, recurrent_activation, reset_after, ISO_RECURRENT_OPTION_NAMES)
// All of them together: what the layers keep.
struct RecurrentSettings {
  ActivationFunction activation, recurrent_activation;
  bool unit_forget_bias = false, reset_after = true;
  ISO_RECURRENT_OPTIONS;
};

// Every setting that both structures have.
template <class From, class To>
void copy_settings(const From& from, To& to) {
#define ISO_COPY_SETTING(name) \
  if constexpr (requires { from.name, to.name; }) to.name = from.name;
  ISO_FOR_EACH(ISO_COPY_SETTING, activation, recurrent_activation, unit_forget_bias, reset_after,
               ISO_RECURRENT_OPTION_NAMES)
#undef ISO_COPY_SETTING
}
template <class Options>
RecurrentSettings settings_of(const Options& options) {
  RecurrentSettings settings;
  copy_settings(options, settings);
  return settings;
}

struct RecurrentCall {
  bool training = false;
  Tensor mask = {};                         // bool (batch, time)
  std::vector<Tensor> initial_states = {};  // (batch, units) each: h, and c of an LSTM; none: zeros
};
struct RecurrentResult {
  Tensor output;               // (batch, units), or (batch, time, units) with return_sequences
  std::vector<Tensor> states;  // after the last step
};

class RecurrentLayer : public Layer {
 public:
  void build(const Shape& input) override;
  Tensor call(const Tensor& x, const CallContext& context) override;
  Tensor compute_mask(const Tensor& x, const Tensor& mask) override;
  // (x, initial states…) -> (output, or with return_state output, states…).
  bool many() const override { return settings_.return_state; }
  bool takes_lists() const override { return true; }
  std::vector<Tensor> call_many(const std::vector<Tensor>& inputs, const CallContext& context) override;
  Shape output_shape(const Shape& input) const override;
  virtual RecurrentResult run(const Tensor& x, RecurrentCall call = {});
  // Of a stateful layer: the next batch starts from zeros again.
  void reset_states();
  std::vector<Variable> state() const override;
  void set_state(const std::vector<Tensor>& values) override;

  int64_t units() const { return units_; }
  const RecurrentSettings& settings() const { return settings_; }
  void set_go_backwards(bool on) { settings_.go_backwards = on; }
  // The same layer before it has weights, as one of Bidirectional's directions. StateError once built.
  virtual std::shared_ptr<RecurrentLayer> another() const = 0;

 protected:
  RecurrentLayer(const char* kind, int64_t units, int gates, int states, RecurrentSettings settings);
  // The settings as the options they came from.
  template <class Options>
  Options options() const {
    Options out;
    copy_settings(settings_, out);
    return out;
  }
  void check_unbuilt() const;
  // Of the weights that inputs, or states, of so many features are multiplied by. An example has as many axes.
  virtual Shape kernel_shape(int64_t features) const { return {features, gates_ * units_}; }
  // Time comes first: input (T, B, …, features) -> z (T, B, …, gates units).
  virtual Tensor project(const Tensor& input, const Tensor& kernel) const;
  // All steps at once; none where no op does what the settings ask for.
  virtual std::optional<RecurrentResult> fused_loop(const Tensor& z, const std::vector<Tensor>& states,
                                                    const Tensor& mask);
  // One step in plain ops: z (B, …, gates units), h what the product with the state takes. Returns the states after it.
  virtual std::vector<Tensor> plain_step(const Tensor& z, const Tensor& h, const std::vector<Tensor>& states) = 0;
  virtual Tensor input_bias() const { return bias_; }
  // h and c of an LSTM after a step, from the sums (B, …, 4 units) of its gates: input, forget, candidate, output.
  std::vector<Tensor> after_gates(const Tensor& sums, const Tensor& c) const;

  int64_t units_;
  int gates_, state_count_;
  RecurrentSettings settings_;
  Variable kernel_, recurrent_, bias_;

 private:
  std::vector<Tensor> first_states(const Shape& shape, const std::vector<Tensor>& given);
  RecurrentResult plain_loop(const Tensor& z, std::vector<Tensor> states, const Tensor& mask, bool training);
  void keep(const Tensor& state);
  Tensor kept_share(const Shape& shape, double rate) const;
  NoiseKey noise_;
  std::vector<Variable> kept_;  // stateful: between batches
};

class SimpleRNN : public RecurrentLayer {
 public:
  explicit SimpleRNN(int64_t units, const SimpleRNNOptions& options = {});
  ISO_LAYER(SimpleRNN)
  ISO_ARGUMENTS(units_, options<SimpleRNNOptions>())
  std::shared_ptr<RecurrentLayer> another() const override;

 protected:
  std::optional<RecurrentResult> fused_loop(const Tensor& z, const std::vector<Tensor>& states,
                                            const Tensor& mask) override;
  std::vector<Tensor> plain_step(const Tensor& z, const Tensor& h, const std::vector<Tensor>& states) override;
};

class LSTM : public RecurrentLayer {
 public:
  explicit LSTM(int64_t units, const LSTMOptions& options = {});
  ISO_LAYER(LSTM)
  ISO_ARGUMENTS(units_, options<LSTMOptions>())
  std::shared_ptr<RecurrentLayer> another() const override;

 protected:
  std::optional<RecurrentResult> fused_loop(const Tensor& z, const std::vector<Tensor>& states,
                                            const Tensor& mask) override;
  std::vector<Tensor> plain_step(const Tensor& z, const Tensor& h, const std::vector<Tensor>& states) override;
};

class GRU : public RecurrentLayer {
 public:
  explicit GRU(int64_t units, const GRUOptions& options = {});
  ISO_LAYER(GRU)
  ISO_ARGUMENTS(units_, options<GRUOptions>())
  std::shared_ptr<RecurrentLayer> another() const override;

 protected:
  std::optional<RecurrentResult> fused_loop(const Tensor& z, const std::vector<Tensor>& states,
                                            const Tensor& mask) override;
  std::vector<Tensor> plain_step(const Tensor& z, const Tensor& h, const std::vector<Tensor>& states) override;
  Tensor input_bias() const override;

 private:
  Tensor recurrent_bias() const;
};

}  // namespace isochron
