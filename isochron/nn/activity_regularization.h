// ActivityRegularization: gives on what it gets, and adds (l1 sum|x| + l2 sum(x^2)) / batch to the loss, as in Keras.
//
//   Sequential encoder{Dense(32, {.activation = "relu"}), ActivityRegularization({.l1 = 1e-5}), Dense(784)};
//   Sequential same{Dense(32, {.activation = "relu", .activity_regularizer = l1(1e-5)}), Dense(784)};
#pragma once

#include "isochron/nn/layer.h"

namespace isochron {

struct ActivityRegularizationOptions {
  double l1 = 0, l2 = 0;
  std::string name = {};
};
ISO_OPTIONS(ActivityRegularizationOptions, l1, l2, name)

class ActivityRegularization : public Layer {
 public:
  explicit ActivityRegularization(ActivityRegularizationOptions options = {});
  ISO_LAYER(ActivityRegularization)
  ISO_ARGUMENTS(options_)
  bool supports_masking() const override { return true; }
  Tensor call(const Tensor& x, const CallContext&) override { return x; }
  Shape output_shape(const Shape& input) const override { return input; }

 private:
  ActivityRegularizationOptions options_;
};

}  // namespace isochron
