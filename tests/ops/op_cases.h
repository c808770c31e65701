// One table of what is tested about each op and composite: forward results, gradients, refusals.
//
// The build compares the names in `op_cases/*.cpp` with the ops the library has (check_op_cases.py), and fails when one
// has no case.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "isochron/ops/op.h"
#include "isochron/ops/ops.h"
#include "reference_cases.h"

namespace isochron::testing {

using Tensors = std::vector<Tensor>;

// A point at which gradients are compared with finite differences; inputs are float64 or indices.
struct Slope {
  Tensors at;
  std::function<Tensor(const Tensors&)> function;
  bool second_order = true;  // false for ops whose gradient is one pass without a gradient of its own
};

// A result known in closed form.
struct Known {
  std::function<Tensor()> computed;
  Tensor expected;
};

struct Refusal {
  std::function<Tensor()> call;
  std::string kind;     // "ShapeError"
  std::string message;  // part of what()
};

struct OpCase {
  std::string op;
  std::function<Tensors(const ReferenceCase&)> forward = {};  // run on every reference case with this name
  std::vector<Known> known = {};
  std::vector<Slope> slopes = {};
  std::vector<Refusal> refusals = {};
  std::string refuses_nothing = {};  // why there is nothing to refuse
};

std::vector<OpCase> elementwise_cases();
std::vector<OpCase> reduction_cases();
std::vector<OpCase> shape_cases();
std::vector<OpCase> product_cases();
std::vector<OpCase> index_cases();
std::vector<OpCase> softmax_cases();
std::vector<OpCase> creation_cases();
std::vector<OpCase> conv_cases();
std::vector<OpCase> normalize_cases();
std::vector<OpCase> sequence_cases();

// Fixed numbers in [low, high) that are neither regular nor near a kink.
inline Tensor points(const Shape& shape, double low = -2, double high = 2, double start = 0.37) {
  std::vector<double> values;
  double x = start;
  for (int64_t i = 0; i < shape.elements(); ++i) {
    x = x + 0.6180339887498949;
    x -= static_cast<double>(static_cast<int64_t>(x));
    values.push_back(low + (high - low) * x);
  }
  return tensor(values, shape);
}

inline Tensor truths(std::initializer_list<bool> values) { return tensor(values); }

}  // namespace isochron::testing
