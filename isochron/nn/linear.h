// nn::Linear: x W^T + b, W (out, in), started as PyTorch does: both uniform within 1 / sqrt(in).
//
//   nn::Linear hidden{784, 128}, head{128, 10, {.bias = false}};
//   Tensor y = hidden(x);                                   // (…, 784) -> (…, 128)
#pragma once

#include <concepts>

#include "isochron/nn/module.h"

namespace isochron::nn {

struct LinearOptions {
  bool bias = true;
  DType dtype = DType::float32;
};

class Linear : public Module {
 public:
  // ValueError unless both counts are positive.
  Linear(int64_t in_features, int64_t out_features, LinearOptions options = {});
  template <std::same_as<bool> Bool>  // not what else converts to bool: {} are options
  Linear(int64_t in_features, int64_t out_features, Bool with_bias)
      : Linear(in_features, out_features, LinearOptions{.bias = with_bias}) {}
  // ShapeError, DTypeError when x does not fit.
  Tensor forward(Tensor x) override;

  Variable weight, bias;  // bias is undefined without one
};

}  // namespace isochron::nn
