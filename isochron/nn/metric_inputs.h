// What metrics share: targets and predictions of one shape, weights of their rows, ratios of counts.
#pragma once

#include <utility>

#include "isochron/tensor/tensor.h"

namespace isochron {

// Truths as float32 zeros and ones.
Tensor number(const Tensor& truth);
// Target and prediction of one dtype and shape; (batch) beside (batch, 1) lines up. ShapeError, naming the metric,
// otherwise.
std::pair<Tensor, Tensor> lined_up(const char* metric, const Tensor& y, const Tensor& p);
// Rows count as often as their weight says, in the shape of `like`; undefined without weights.
Tensor row_weights(const Tensor& weight, const Tensor& like);
Tensor weighted(const Tensor& values, const Tensor& weight);
// a / b, and 0 where b is not positive.
Tensor ratio(const Tensor& a, const Tensor& b);

}  // namespace isochron
