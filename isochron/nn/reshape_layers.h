// Flatten, Reshape and Permute: the same elements of each example in another shape; RepeatVector: several times;
// Identity.
//
//   Sequential{Input({28, 28}), Flatten(), Dense(10)};
//   Sequential{Input({784}), Reshape({28, 28, 1})};            // one extent may be -1: it is worked out
//   Sequential{Input({10, 64}), Permute({2, 1})};              // (64, 10)
//   Sequential{LSTM(32), RepeatVector(10), LSTM(32)};          // what an autoencoder of sequences decodes
#pragma once

#include "isochron/nn/layer.h"

namespace isochron {

struct FlattenOptions {
  // "channels_first": axis 1 holds the channels and is moved behind the others first, so that both orders of the same
  // images give the same features.
  std::string data_format = "channels_last";
  std::string name = {};
};
ISO_OPTIONS(FlattenOptions, data_format, name)

// (batch, …) -> (batch, features).
class Flatten : public Layer {
 public:
  explicit Flatten(FlattenOptions options = {});
  ISO_LAYER(Flatten)
  ISO_ARGUMENTS(options_)
  Tensor call(const Tensor& x, const CallContext&) override;
  Shape output_shape(const Shape& input) const override { return {input.elements()}; }

 private:
  FlattenOptions options_;
};

class Reshape : public Layer {
 public:
  // The shape of one example, without the batch axis. ValueError for a negative extent other than one -1.
  explicit Reshape(std::vector<int64_t> target_shape, LayerOptions options = {});
  ISO_LAYER(Reshape)
  ISO_ARGUMENTS(target_shape_)
  void build(const Shape& input) override { (void)output_shape(input); }
  Tensor call(const Tensor& x, const CallContext&) override;
  // ShapeError when the elements of one example do not fit the target.
  Shape output_shape(const Shape& input) const override;

 private:
  std::vector<int64_t> target_shape_;
};

class Permute : public Layer {
 public:
  // The axes of an example in their new order, counted from 1 (0 is the batch). ValueError unless each is there once.
  explicit Permute(std::vector<int64_t> dims, LayerOptions options = {});
  ISO_LAYER(Permute)
  ISO_ARGUMENTS(dims_)
  Tensor call(const Tensor& x, const CallContext&) override;

 private:
  std::vector<int64_t> dims_;
};

// (batch, features) -> (batch, n, features).
// What comes in goes out: a place in a model to be filled or named.
class Identity : public Layer {
 public:
  explicit Identity(LayerOptions options = {}) { set_name(std::move(options.name)); }
  ISO_LAYER(Identity)
  bool supports_masking() const override { return true; }
  Tensor call(const Tensor& x, const CallContext&) override { return x; }
  Shape output_shape(const Shape& input) const override { return input; }
};

class RepeatVector : public Layer {
 public:
  // ValueError when n is not positive.
  explicit RepeatVector(int64_t n, LayerOptions options = {});
  ISO_LAYER(RepeatVector)
  ISO_ARGUMENTS(n_)
  Tensor call(const Tensor& x, const CallContext&) override;

 private:
  int64_t n_;
};

}  // namespace isochron
