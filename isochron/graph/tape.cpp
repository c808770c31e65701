#include "isochron/graph/tape.h"

#include "isochron/graph/gradient.h"
#include "isochron/ops/create.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {
namespace {
thread_local int recording_tapes = 0;
}

GradientTape::GradientTape(TapeOptions options) : persistent_(options.persistent) { ++recording_tapes; }
GradientTape::~GradientTape() { finish(); }
bool GradientTape::recording() { return recording_tapes > 0; }

void GradientTape::finish() {
  if (recording_) --recording_tapes;
  recording_ = false;
}

void GradientTape::watch(const Tensor& tensor) {
  if (!is_floating(tensor.dtype()))
    fail<DTypeError>("GradientTape.watch", "only floating tensors have gradients, got {}", tensor.dtype());
  tensor.value().node->set_differentiable(true);
}

Tensor GradientTape::gradient(const Tensor& target, const Tensor& source) {
  return gradient(target, std::vector<Tensor>{source})[0];
}

std::vector<Tensor> GradientTape::gradient(const Tensor& target, const std::vector<Tensor>& sources) {
  if (!recording_)
    fail<StateError>("GradientTape.gradient",
                     "the tape has given its gradients already; make it persistent to ask again");
  std::vector<Tensor> result = gradients({&target, 1}, {}, sources);
  if (!persistent_) finish();
  return result;
}

Tensor GradientTape::jacobian(const Tensor& target, const Tensor& source) {
  const Tensor flat = reshape(target, {-1});
  std::vector<Tensor> rows;
  const bool was_persistent = std::exchange(persistent_, true);
  for (int64_t i = 0; i < flat.elements(); ++i) {
    Tensor row = gradient(flat[i], source);
    rows.push_back(row.defined() ? row : zeros_like(source));
  }
  persistent_ = was_persistent;
  if (!persistent_) finish();
  std::vector<int64_t> dims = target.shape().to_vector();
  dims.insert(dims.end(), source.shape().begin(), source.shape().end());
  return reshape(rows.empty() ? zeros(Shape(dims), source.dtype()) : stack(rows), dims);
}

}  // namespace isochron
