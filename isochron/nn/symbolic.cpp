#include "isochron/nn/symbolic.h"

#include "isochron/nn/partial_shapes.h"

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

SymbolicTensors Layer::operator()(const std::vector<SymbolicTensor>& inputs) {
  if (inputs.empty()) fail<ValueError>(class_name(), "needs at least one input");
  std::vector<TensorSpec> specs;
  std::vector<Shape> shapes;
  for (const SymbolicTensor& input : inputs) {
    specs.push_back(input.spec());
    shapes.push_back(input.shape());
  }
  if (any_partial(shapes)) ensure_built(shapes);
  auto made = std::make_shared<SymbolicCall>();
  made->inputs = inputs;
  made->outputs = tried(*this, specs);
  made->layer = shared();
  if (!made->layer)
    fail<StateError>(
        class_name(),
        "this layer can't be copied: write ISO_LAYER({0}) in its class in place of class_name(), or make it "
        "by std::make_shared<{0}>(…)",
        class_name());
  made->number = made->layer->symbolic_calls_++;
  SymbolicTensors outputs;
  for (size_t i = 0; i < made->outputs.size(); ++i) outputs.emplace_back(made, i);
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
