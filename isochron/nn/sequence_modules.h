// Recurrent modules in the manner of PyTorch, with its weights and gate order: over a sequence, and cells of one step.
//
//   nn::LSTM lstm{10, 20, {.num_layers = 2, .batch_first = true}};
//   auto [output, h, c] = lstm.run(x);                      // output (N, L, 20); h and c (2, N, 20)
//   nn::RNN rnn{10, 20, {.nonlinearity = "relu"}};
//   nn::LSTMCell cell{10, 20};
//   auto [h1, c1] = cell.run(x0);  auto [h2, c2] = cell.run(x1, h1, c1);
#pragma once

#include "isochron/nn/module.h"

namespace isochron::nn {

struct RecurrentOptions {
  int64_t num_layers = 1;
  bool bias = true;
  bool batch_first = false;
  double dropout = 0;  // between layers
  bool bidirectional = false;
  std::string nonlinearity = "tanh";  // of RNN; or "relu"
  DType dtype = DType::float32;
};

struct RecurrentOutput {
  Tensor output;  // of the last layer, every step; both directions side by side
  Tensor h, c;    // (layers * directions, N, hidden) after the last step; c of the LSTM alone
};

// The parameters of one layer in one direction, and how it is run.
struct RecurrentDirection {
  int gates = 1;  // 1: RNN, 3: GRU, 4: LSTM
  bool relu = false;
  Variable w_ih = {}, w_hh = {}, b_ih = {}, b_hh = {};  // the biases are undefined without

  struct States {
    Tensor h, c;  // after every step, (L, N, hidden)
  };
  // x (L, N, input), states (N, hidden).
  States run(const Tensor& x, const Tensor& h0, const Tensor& c0) const;
};

// What RNN, LSTM and GRU share.
class RecurrentModule : public Module {
 public:
  // x (L, N, input), or (N, L, input) with batch_first; (L, input) of a single sequence, whose states have no N.
  RecurrentOutput run(const Tensor& x, const Tensor& h0 = {}, const Tensor& c0 = {});
  Tensor forward(Tensor x) override { return run(x).output; }

 protected:
  // ValueError for sizes that are not positive, or dropout outside [0, 1].
  RecurrentModule(const char* kind, int gates, int64_t input_size, int64_t hidden_size, RecurrentOptions options);

 private:
  const char* kind_;
  int gates_;
  int64_t input_, hidden_;
  RecurrentOptions options_;
  std::vector<RecurrentDirection> directions_;  // layer by layer, the way back behind the way there
};

struct RNN : RecurrentModule {
  RNN(int64_t input_size, int64_t hidden_size, RecurrentOptions options = {})
      : RecurrentModule("RNN", 1, input_size, hidden_size, std::move(options)) {}
};
struct LSTM : RecurrentModule {
  LSTM(int64_t input_size, int64_t hidden_size, RecurrentOptions options = {})
      : RecurrentModule("LSTM", 4, input_size, hidden_size, std::move(options)) {}
};
struct GRU : RecurrentModule {
  GRU(int64_t input_size, int64_t hidden_size, RecurrentOptions options = {})
      : RecurrentModule("GRU", 3, input_size, hidden_size, std::move(options)) {}
};

struct CellOptions {
  bool bias = true;
  std::string nonlinearity = "tanh";  // of RNNCell; or "relu"
  DType dtype = DType::float32;
};

// What RNNCell, LSTMCell and GRUCell share: one step, of states that start as zeros.
class RecurrentCell : public Module {
 protected:
  RecurrentCell(const char* kind, int gates, int64_t input_size, int64_t hidden_size, const CellOptions& options);
  // x (N, input) or (input), states likewise.
  RecurrentDirection::States step(const Tensor& x, const Tensor& h, const Tensor& c) const;

 public:
  Variable weight_ih, weight_hh, bias_ih, bias_hh;

 private:
  const char* kind_;
  RecurrentDirection direction_;
};

struct RNNCell : RecurrentCell {
  RNNCell(int64_t input_size, int64_t hidden_size, const CellOptions& options = {})
      : RecurrentCell("RNNCell", 1, input_size, hidden_size, options) {}
  Tensor forward(Tensor x) override { return run(x); }
  Tensor run(const Tensor& x, const Tensor& h = {}) { return step(x, h, {}).h; }
};
struct GRUCell : RecurrentCell {
  GRUCell(int64_t input_size, int64_t hidden_size, const CellOptions& options = {})
      : RecurrentCell("GRUCell", 3, input_size, hidden_size, options) {}
  Tensor forward(Tensor x) override { return run(x); }
  Tensor run(const Tensor& x, const Tensor& h = {}) { return step(x, h, {}).h; }
};
struct LSTMCell : RecurrentCell {
  LSTMCell(int64_t input_size, int64_t hidden_size, const CellOptions& options = {})
      : RecurrentCell("LSTMCell", 4, input_size, hidden_size, options) {}
  Tensor forward(Tensor x) override { return run(x).h; }
  RecurrentDirection::States run(const Tensor& x, const Tensor& h = {}, const Tensor& c = {}) { return step(x, h, c); }
};

}  // namespace isochron::nn
