// Normalization: (x - mean) / deviation, with the statistics of data seen before training.
//
//   Normalization normalize;
//   normalize.adapt(x_train);                                  // one mean and variance a feature
//   Sequential model{normalize, Dense(64, {.activation = "relu"}), Dense(1)};
//   Normalization({.mean = tensor({5.f}), .variance = tensor({4.f})});
//
// Copies of an adapted layer share its statistics, so adapt it before it goes into a model (or put it there by
// std::make_shared). Until then it changes nothing. The statistics are weights that do not train: mean, variance and
// the number of values they were taken from.
#pragma once

#include "isochron/nn/layer.h"

namespace isochron {

struct NormalizationOptions {
  // Axes with statistics of their own, counted with the batch axis, which cannot be one; none: one number for all.
  std::vector<int64_t> axis = {-1};
  // Both or neither. Of the shape of the axes, or a single number.
  Tensor mean = {};
  Tensor variance = {};
  bool invert = false;  // from normalised values back
  std::string name = {};
};
ISO_OPTIONS(NormalizationOptions, axis, mean, variance, invert, name)

class Normalization : public Layer {
 public:
  explicit Normalization(NormalizationOptions options = {});
  ISO_LAYER(Normalization)
  ISO_ARGUMENTS(options_)
  bool supports_masking() const override { return true; }
  void build(const Shape& input) override;
  Tensor call(const Tensor& x, const CallContext&) override;
  Shape output_shape(const Shape& input) const override { return input; }

  // Takes the statistics of these data, forgetting earlier ones. StateError when they were given as options,
  // ValueError for no data, ShapeError when the layer was built for others.
  void adapt(const Tensor& data);

 private:
  void check_features(const char* what, const Shape& example) const;

  NormalizationOptions options_;
  std::vector<int64_t> kept_axes_;     // with the batch axis, ascending
  std::vector<int64_t> reduced_axes_;  // the others
  Shape statistics_shape_, broadcast_shape_;
  Tensor mean_, variance_;
  Variable count_;
};

}  // namespace isochron
