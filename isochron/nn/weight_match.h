// Weights and tensors by name: what fits, what does not, and taking over what fits.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "isochron/tensor/tensor.h"

namespace isochron {

struct NamedWeight {
  std::string name;
  Variable variable;
};

struct WeightMatch {
  std::vector<std::string> missing, extra;  // names of weights without a tensor, of tensors without a weight
  std::vector<std::string> mismatched;      // "kernel is float32(3, 4), the file has float32(4, 3)"
  std::vector<std::pair<Variable, Tensor>> fitting;

  // A line for each of the lists that is not empty.
  std::string report() const;
  // Gives the weights the values that fit, converted to their dtype.
  void take() const;
};
// A tensor fits with the weight's shape and dtype, or any floating one for a floating weight. `source` is what stands
// before a spec that does not fit: "the file has". State that other libraries keep beside the weights is no extra.
WeightMatch match_weights(const std::vector<NamedWeight>& weights,
                          const std::vector<std::pair<std::string, Tensor>>& tensors, const char* source);

}  // namespace isochron
