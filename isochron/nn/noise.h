// Noise while training, nothing otherwise: whole features dropped, and noise added or multiplied.
//
//   SpatialDropout1D(0.2);             // (batch, time, channels): a channel is dropped at all steps or at none
//   GaussianNoise(0.1);                // x + normal(0, 0.1)
//   GaussianDropout(0.3);              // x * normal(1, sqrt(rate / (1 - rate)))
//   AlphaDropout(0.1);                 // keeps the mean and variance that SELU networks rely on
//
// A seed gives a layer a sequence of numbers of its own; without one they follow set_seed().
#pragma once

#include "isochron/nn/dropout.h"

namespace isochron {

struct NoiseOptions {
  std::optional<uint64_t> seed = {};
  std::string name = {};
};
ISO_OPTIONS(NoiseOptions, seed, name)

class SpatialDropout1D : public Dropout {
 public:
  explicit SpatialDropout1D(double rate, NoiseOptions options = {})
      : Dropout(rate, {.noise_shape = {-1, 1, -1}, .seed = options.seed, .name = std::move(options.name)}) {}
  ISO_LAYER(SpatialDropout1D)
  ISO_ARGUMENTS(rate_, NoiseOptions{.seed = options_.seed})
};

// (batch, height, width, channels).
class SpatialDropout2D : public Dropout {
 public:
  explicit SpatialDropout2D(double rate, NoiseOptions options = {})
      : Dropout(rate, {.noise_shape = {-1, 1, 1, -1}, .seed = options.seed, .name = std::move(options.name)}) {}
  ISO_LAYER(SpatialDropout2D)
  ISO_ARGUMENTS(rate_, NoiseOptions{.seed = options_.seed})
};

// (batch, depth, height, width, channels).
class SpatialDropout3D : public Dropout {
 public:
  explicit SpatialDropout3D(double rate, NoiseOptions options = {})
      : Dropout(rate, {.noise_shape = {-1, 1, 1, 1, -1}, .seed = options.seed, .name = std::move(options.name)}) {}
  ISO_LAYER(SpatialDropout3D)
  ISO_ARGUMENTS(rate_, NoiseOptions{.seed = options_.seed})
};

// What the layers below share: they change x while training and need a floating input.
class NoiseLayer : public Layer {
 public:
  bool supports_masking() const override { return true; }
  Tensor call(const Tensor& x, const CallContext& context) final;
  std::vector<Variable> state() const override { return key_.state(); }
  Shape output_shape(const Shape& input) const override { return input; }

 protected:
  NoiseLayer(double strength, NoiseOptions options);
  virtual Tensor noisy(const Tensor& x) = 0;
  double strength_;
  NoiseOptions options_;
  NoiseKey key_;
};

class GaussianNoise : public NoiseLayer {
 public:
  // ValueError for a negative deviation.
  explicit GaussianNoise(double stddev, NoiseOptions options = {});
  ISO_LAYER(GaussianNoise)
  ISO_ARGUMENTS(stddev(), options_)
  double stddev() const { return strength_; }

 protected:
  Tensor noisy(const Tensor& x) override;
};

class GaussianDropout : public NoiseLayer {
 public:
  // ValueError unless rate is in [0, 1).
  explicit GaussianDropout(double rate, NoiseOptions options = {});
  ISO_LAYER(GaussianDropout)
  ISO_ARGUMENTS(rate(), options_)
  double rate() const { return strength_; }

 protected:
  Tensor noisy(const Tensor& x) override;
};

class AlphaDropout : public NoiseLayer {
 public:
  // ValueError unless rate is in [0, 1).
  explicit AlphaDropout(double rate, NoiseOptions options = {});
  ISO_LAYER(AlphaDropout)
  ISO_ARGUMENTS(rate(), options_)
  double rate() const { return strength_; }

 protected:
  Tensor noisy(const Tensor& x) override;
};

}  // namespace isochron
