// SymbolicTensor: what a layer will make of a batch, before there is one. Functional models are written with them.
//
//   auto image = iso::Input({28, 28, 1}), tags = iso::Input({12}, {.name = "tags"});
//   auto x = iso::Flatten()(image);
//   x = iso::Dense(64, {.activation = "relu"})(x);
//   auto y = iso::Dense(64)(x) + x;                                       // a residual connection
//   auto out = iso::Dense(10)(iso::Concatenate()({y, tags}));
//   iso::Model model({image, tags}, out);
//
// Shapes are those of one example, without the batch axis. Calling a layer on symbolic tensors builds it and checks
// that shapes and dtypes fit; nothing is computed. A layer that is called twice is shared: its weights exist once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isochron/tensor/node.h"

namespace isochron {

class Layer;
struct SymbolicCall;

class SymbolicTensor {
 public:
  SymbolicTensor() = default;  // undefined
  SymbolicTensor(std::shared_ptr<SymbolicCall> call, size_t index) : call_(std::move(call)), index_(index) {}

  bool defined() const { return call_ != nullptr; }
  const Shape& shape() const { return spec().shape; }  // of one example
  DType dtype() const { return spec().dtype; }
  const TensorSpec& spec() const;
  // The layer that makes it.
  const std::shared_ptr<Layer>& layer() const;

  const std::shared_ptr<SymbolicCall>& call() const { return call_; }
  size_t index() const { return index_; }
  bool operator==(const SymbolicTensor&) const = default;

 private:
  std::shared_ptr<SymbolicCall> call_;
  size_t index_ = 0;  // among the outputs of the call
};

// One call of a layer: an edge of the model's graph.
struct SymbolicCall {
  std::shared_ptr<Layer> layer;
  std::vector<SymbolicTensor> inputs;
  std::vector<TensorSpec> outputs;  // of one example
  size_t number = 0;                // of the calls of this layer, from 0
};

// One or several of them, as an argument or as what a layer makes of a list. A single one is used as it is.
class SymbolicTensors : public std::vector<SymbolicTensor> {
 public:
  SymbolicTensors() = default;
  template <class T>
  requires(std::is_convertible_v<const T&, SymbolicTensor> && !std::is_base_of_v<SymbolicTensors, T>)
      SymbolicTensors(const T& one) {
    push_back(one);
  }
  SymbolicTensors(std::initializer_list<SymbolicTensor> list) : vector(list) {}
  SymbolicTensors(std::vector<SymbolicTensor> list) : vector(std::move(list)) {}

  operator SymbolicTensor() const { return one(); }  // ValueError unless there is exactly one
  const Shape& shape() const { return one().shape(); }

 private:
  const SymbolicTensor& one() const;
};

}  // namespace isochron
