#include "isochron/nn/symbolic.h"

#include "isochron/exec/trial.h"
#include "isochron/nn/layer.h"
#include "isochron/tensor/tensor.h"

namespace isochron {

const TensorSpec& SymbolicTensor::spec() const {
  if (!call_) fail<StateError>("Input", "this symbolic tensor is undefined: it comes from Input(…) or from a layer");
  return call_->outputs[index_];
}

const std::shared_ptr<Layer>& SymbolicTensor::layer() const {
  (void)spec();
  return call_->layer;
}

const SymbolicTensor& SymbolicTensors::one() const {
  if (size() != 1)
    fail<ValueError>("Model", "one symbolic tensor is wanted here, got {}: pick one by its number", size());
  return front();
}

namespace {
// Of the batch on which a layer is tried: above 1, so that a layer that drops axes of extent 1 keeps the batch axis.
constexpr int64_t kTrialBatch = 2;
}  // namespace

SymbolicTensors Layer::operator()(const std::vector<SymbolicTensor>& inputs) {
  if (inputs.empty()) fail<ValueError>(class_name(), "needs at least one input");
  const TrialScope nothing_runs;
  std::vector<Tensor> trial;
  for (const SymbolicTensor& input : inputs)
    trial.emplace_back(make_leaf({input.dtype(), input.shape().insert(0, kTrialBatch)}, {}, LeafRole::argument));
  const std::vector<Tensor> results = (*this)(trial);
  auto made = std::make_shared<SymbolicCall>();
  made->inputs = inputs;
  for (const Tensor& result : results) {
    if (result.rank() < 1 || result.shape()[0] != kTrialBatch)
      fail<ShapeError>(class_name(), "layer \"{}\" must keep the batch axis, it turned a batch of {} into shape {}",
                       name(), kTrialBatch, result.shape());
    made->outputs.push_back({result.dtype(), result.shape().erase(0)});
  }
  made->layer = shared();
  if (!made->layer)
    fail<StateError>(
        class_name(),
        "this layer can't be copied: write ISO_LAYER({0}) in its class in place of class_name(), or make it "
        "by std::make_shared<{0}>(…)",
        class_name());
  made->number = made->layer->symbolic_calls_++;
  SymbolicTensors outputs;
  for (size_t i = 0; i < results.size(); ++i) outputs.emplace_back(made, i);
  return outputs;
}

SymbolicTensor Layer::operator()(const SymbolicTensor& x) {
  const SymbolicTensors outputs = (*this)(std::vector<SymbolicTensor>{x});
  if (outputs.size() != 1)
    fail<ValueError>(class_name(),
                     "layer \"{}\" gives {} outputs: call it with a list, layer(SymbolicTensors{{x}}), to get them all",
                     name(), outputs.size());
  return outputs[0];
}

}  // namespace isochron
