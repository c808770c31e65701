// A search along a line for a point that satisfies the strong Wolfe conditions, as PyTorch's L-BFGS does it.
#pragma once

#include <cstdint>
#include <functional>

#include "isochron/tensor/tensor.h"

namespace isochron::optim {

// A point of the line: how far, the loss there, its gradient, and the slope along the line.
struct LinePoint {
  double t = 0;
  double loss = 0;
  Tensor gradient = {};
  double slope = 0;
};

struct WolfeSearch {
  double first_t = 1;
  double direction_size = 1;  // largest element of the direction
  double tolerance_change = 1e-9;
  int64_t most_iterations = 25;
};
struct WolfeResult {
  LinePoint point;
  int64_t evaluations = 0;
};

// `start` is the point t = 0. A loss that is not a number counts as infinite.
WolfeResult wolfe_search(const std::function<LinePoint(double t)>& evaluate, const LinePoint& start,
                         const WolfeSearch& options);

}  // namespace isochron::optim
