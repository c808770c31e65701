// The forward results of other libraries in tests/references/ops.json and conv.json.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "isochron/tensor/tensor.h"

namespace isochron::testing {

struct ReferenceCase {
  std::string op;
  std::vector<Tensor> inputs, outputs;
  std::map<std::string, std::vector<double>> numbers;  // attributes; single numbers and bools as lists of one
  std::map<std::string, std::string> texts;
  std::string file;
  int line = 0;

  bool has(const std::string& name) const { return numbers.count(name) != 0; }
  double real(const std::string& name) const { return numbers.at(name).at(0); }
  int64_t integer(const std::string& name) const { return static_cast<int64_t>(real(name)); }
  bool flag(const std::string& name) const { return real(name) != 0; }
  std::vector<int64_t> integers(const std::string& name) const;
  DType dtype() const { return dtype_from_name(texts.at("dtype")); }
};

const std::vector<ReferenceCase>& reference_cases();

}  // namespace isochron::testing
