// Normalisation in one pass over memory each way: of rows (layer and RMS norm) and of columns (batch norm).
//
//   Tensor y = layer_norm(x, gamma, beta, 1e-5);               // x (…, C), gamma and beta (C)
//   BatchNormed n = batch_norm(x, gamma, beta, 1e-3);          // x (…, C): statistics over all but the last axis
//   n.y;  n.mean;  n.variance;                                 // (…, C), (C), (C)
//
// gamma and beta may be undefined. float32 and float64; 16-bit floats are computed in float32.
#pragma once

#include "isochron/ops/operand.h"

namespace isochron {

// (x - mean) / sqrt(variance + epsilon) * gamma + beta along the last axis.
Tensor layer_norm(const Operand& x, const Tensor& gamma, const Tensor& beta, double epsilon);
// x / sqrt(mean(x^2) + epsilon) * gamma along the last axis.
Tensor rms_norm(const Operand& x, const Tensor& gamma, double epsilon);

// The statistics are those of this batch, without gradients; the variance divides by the number of rows.
struct BatchNormed {
  Tensor y, mean, variance;
};
BatchNormed batch_norm(const Operand& x, const Tensor& gamma, const Tensor& beta, double epsilon);

}  // namespace isochron
