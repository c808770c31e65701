// The calls of a functional model in the order in which they run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isochron/nn/layer.h"

namespace isochron {

struct ModelGraph {
  struct Place {
    int32_t call = 0;
    int32_t output = 0;
  };
  struct Call {
    std::shared_ptr<Layer> layer;
    std::vector<Place> inputs;        // empty: an input of the model
    std::vector<TensorSpec> outputs;  // of one example
    size_t number = 0;                // of the layer's calls in this model, from 0
    int32_t depth = 0;                // longest way from an input
  };
  std::vector<Call> calls;  // inputs before uses
  std::vector<Place> inputs, outputs;
  std::vector<SymbolicTensor> input_symbols, output_symbols;
  std::vector<std::string> input_names, output_names;

  // ValueError as Model's constructor says.
  static std::shared_ptr<const ModelGraph> from(const std::vector<SymbolicTensor>& inputs,
                                                const std::vector<SymbolicTensor>& outputs);
  std::vector<Tensor> run(const std::vector<Tensor>& inputs, const CallContext& context) const;
  // Every layer once, in Keras' order, so that weights stand in the same: by the longest way to an output, farthest
  // first, then in the order in which the outputs reach them.
  std::vector<std::shared_ptr<Layer>> layers() const;
  // Every call but the first follows the one before it alone.
  bool is_chain() const;
};

}  // namespace isochron
