// Dropout: while training, each element is zero with probability `rate`, and the others grow by 1 / (1 - rate), so that
// their sum stays what it was on average. Otherwise it changes nothing.
//
//   Sequential{Dense(256, {.activation = "relu"}), Dropout(0.5), Dense(10)};
//   Dropout(0.2, {.noise_shape = {-1, 1, -1}});            // one decision for all steps of a sequence
#pragma once

#include <optional>

#include "isochron/nn/layer.h"

namespace isochron {

struct DropoutOptions {
  // With the batch axis: 1 where one decision holds along the axis, -1 for the input's extent; empty: all of the input.
  std::vector<int64_t> noise_shape = {};
  // A sequence of decisions of its own; without it they follow set_seed().
  std::optional<uint64_t> seed = {};
  std::string name = {};
};
ISO_OPTIONS(DropoutOptions, noise_shape, seed, name)

// A layer's own sequence of random numbers when it has a seed; the global one otherwise.
class NoiseKey {
 public:
  explicit NoiseKey(std::optional<uint64_t> seed);
  // For RandomOptions::key: undefined without a seed, else another key at every call, also of a traced function.
  Tensor next() const;
  std::vector<Variable> state() const { return key_.defined() ? std::vector{key_} : std::vector<Variable>(); }

 private:
  Variable key_;  // (seed, stream), the stream counting calls
};

class Dropout : public Layer {
 public:
  // ValueError unless rate is in [0, 1].
  explicit Dropout(double rate, DropoutOptions options = {});
  ISO_LAYER(Dropout)
  ISO_ARGUMENTS(rate_, options_)
  bool supports_masking() const override { return true; }
  Tensor call(const Tensor& x, const CallContext& context) override;
  std::vector<Variable> state() const override { return key_.state(); }
  Shape output_shape(const Shape& input) const override { return input; }

 protected:
  double rate_;
  DropoutOptions options_;
  NoiseKey key_;
};

}  // namespace isochron
