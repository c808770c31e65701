#include "isochron/nn/metric_inputs.h"

#include "isochron/ops/elementwise.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {

Tensor number(const Tensor& truth) { return cast(truth, DType::float32); }

std::pair<Tensor, Tensor> lined_up(const char* metric, const Tensor& y, const Tensor& p) {
  Tensor t = cast(y, p.dtype());
  if (p.rank() == t.rank() + 1 && p.shape()[-1] == 1) t = expand_dims(t, -1);
  if (t.rank() == p.rank() + 1 && t.shape()[-1] == 1) t = reshape(t, p.shape().to_vector());
  if (t.shape() != p.shape())
    fail<ShapeError>(metric, "target and prediction must have the same shape, got {} and {}", y.shape(), p.shape());
  return {t, p};
}

Tensor row_weights(const Tensor& weight, const Tensor& like) {
  if (!weight.defined()) return {};
  Tensor w = cast(weight, DType::float32);
  while (w.rank() > like.rank() && w.shape()[-1] == 1) w = reshape(w, w.shape().erase(-1).to_vector());
  while (w.rank() < like.rank()) w = expand_dims(w, -1);
  return broadcast_to(w, like.shape());
}

Tensor weighted(const Tensor& values, const Tensor& weight) { return weight.defined() ? values * weight : values; }

Tensor ratio(const Tensor& a, const Tensor& b) { return where(b > 0, a / where(b > 0, b, 1), 0); }

}  // namespace isochron
