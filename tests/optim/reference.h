// The training problem of tests/references/curves.json (its README describes it) and how to run it.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "isochron/tensor/tensor.h"

namespace isochron::reference {

nlohmann::json read_file(const std::string& name);  // of tests/references
const nlohmann::json& curves_file();
Tensor tensor_of(const nlohmann::json& value);

// x (16, 8) -> Dense 16, tanh -> Dense 3, cross-entropy of the logits.
struct Problem {
  Problem();
  Tensor loss(const Tensor& x, const Tensor& one_hot) const;
  std::vector<Variable> variables() const { return {kernel1, bias1, kernel2, bias2}; }
  Variable kernel1, bias1, kernel2, bias2;
};

struct Batch {
  Tensor x, one_hot;
};
const std::vector<Batch>& batches();

}  // namespace isochron::reference
