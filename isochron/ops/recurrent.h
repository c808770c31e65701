// Recurrent cells over a whole sequence as one op: the loop over time runs inside the plan, whatever its length.
//
//   Tensor z = matmul(x, w) + b;                              // all steps at once: (T, B, F) -> (T, B, 4 H)
//   auto [h, c] = lstm(z, u, h0, c0);                         // u (H, 4 H); h and c after every step, (T, B, H)
//   Tensor h = gru(z, u, recurrent_bias, h0);                 // z (T, B, 3 H), u (H, 3 H), bias (3 H)
//   Tensor h = simple_rnn(z, u, h0);                          // h_t = tanh(z_t + h_{t-1} u)
//
// Time comes first. Gates stand in Keras' order: i, f, c, o of the LSTM, z, r, h of the GRU, whose candidate is
// tanh(z_h + r (h u_h + b_h)). `mask` is bool (T, B): where it is false a step leaves the state of that example as it
// was. float32 and float64.
#pragma once

#include "isochron/ops/operand.h"

namespace isochron {

struct LstmStates {
  Tensor h, c;
};
LstmStates lstm(const Operand& z, const Tensor& recurrent, const Tensor& h0, const Tensor& c0, const Tensor& mask = {});
Tensor gru(const Operand& z, const Tensor& recurrent, const Tensor& recurrent_bias, const Tensor& h0,
           const Tensor& mask = {});
enum class RnnActivation { tanh, relu };
Tensor simple_rnn(const Operand& z, const Tensor& recurrent, const Tensor& h0, const Tensor& mask = {},
                  RnnActivation activation = RnnActivation::tanh);

}  // namespace isochron
