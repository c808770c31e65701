// Weights that a file will fill: while it lives, weights made on this thread start as zeros that cost nothing, and take
// no more bytes in all than the file has for them.
#pragma once

#include "isochron/tensor/tensor.h"

namespace isochron {

class WeightBudget {
 public:
  explicit WeightBudget(int64_t bytes);
  ~WeightBudget();
  WeightBudget(const WeightBudget&) = delete;
  WeightBudget& operator=(const WeightBudget&) = delete;
  // ValueError, before anything is allocated, when it does not fit.
  Tensor take(const TensorSpec& spec);

 private:
  int64_t left_;
  WeightBudget* outer_;
};

}  // namespace isochron
