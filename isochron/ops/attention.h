// Scaled dot-product attention in one op: softmax(scale * q k^T) v, block by block, so that the matrix of scores is
// never stored, however long the sequences are.
//
//   Tensor y = attention(q, k, v, {.causal = true});         // q (B, T, H, D), k (B, S, H, D), v (B, S, H, E)
//   attention(q, k, v, {.mask = padding});                   // bool, (B or 1, H or 1, T or 1, S): true where q sees k
//
// The result is (B, T, H, E). With `causal`, step i sees steps 0 … i. A step that sees nothing gets the average of the
// values, and sends no gradient. The backward op computes the scores again from q, k and one number a row. float32 and
// float64; 16-bit floats are computed in float32.
#pragma once

#include "isochron/ops/operand.h"

namespace isochron {

struct AttentionOptions {
  bool causal = false;
  double scale = 0;  // 0: 1 / sqrt(D)
  Tensor mask = {};
};
Tensor attention(const Operand& query, const Tensor& key, const Tensor& value, AttentionOptions options = {});

// Rotary positions: pairs of features of x (…, T, H, D), D even, turned by angles that grow with the position; the
// first half of D is paired with the second. Positions count from `first`.
Tensor rotary_positions(const Operand& x, double base = 10000, int64_t first = 0);
// Sines and cosines of the position, (length, features) float32: sin in even columns, cos in odd ones.
Tensor sinusoidal_positions(int64_t length, int64_t features, double base = 10000);

}  // namespace isochron
