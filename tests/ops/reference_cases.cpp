#include "reference_cases.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "isochron/ops/create.h"
#include "tests/source_dir.h"

namespace isochron::testing {
namespace {

using Json = nlohmann::json;

double number(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (!value.is_string()) return value.get<double>();
  const std::string text = value.get<std::string>();
  return text == "nan" ? NAN : text == "inf" ? INFINITY : -INFINITY;
}

Tensor tensor_of(const Json& json) {
  std::vector<double> values;
  for (const Json& value : json.at("data")) values.push_back(number(value));
  return detail::tensor_from_doubles(std::move(values), Shape(json.at("shape").get<std::vector<int64_t>>()),
                                     dtype_from_name(json.at("dtype").get<std::string>()));
}

void flatten(const Json& value, std::vector<double>& out) {
  if (!value.is_array()) return out.push_back(number(value));
  for (const Json& part : value) flatten(part, out);
}

ReferenceCase case_of(const Json& json, int line) {
  ReferenceCase one;
  one.op = json.at("op").get<std::string>();
  one.line = line;
  for (const Json& input : json.at("inputs")) one.inputs.push_back(tensor_of(input));
  for (const Json& output : json.at("outputs")) one.outputs.push_back(tensor_of(output));
  for (const auto& [name, value] : json.at("attrs").items()) {
    if (value.is_string())
      one.texts[name] = value.get<std::string>();
    else
      flatten(value, one.numbers[name]);
  }
  return one;
}

}  // namespace

std::vector<int64_t> ReferenceCase::integers(const std::string& name) const {
  std::vector<int64_t> out;
  for (double value : numbers.at(name)) out.push_back(static_cast<int64_t>(value));
  return out;
}

const std::vector<ReferenceCase>& reference_cases() {
  static const std::vector<ReferenceCase> cases = [] {
    std::vector<ReferenceCase> out;
    for (const std::string name : {"ops.json", "conv.json"}) {
      std::ifstream file(ISOCHRON_SOURCE_DIR "/tests/references/" + name);
      const Json document = Json::parse(file);
      int line = 3;  // one case a line, from the third on
      for (const Json& json : document.at("cases")) {
        out.push_back(case_of(json, line++));
        out.back().file = name;
      }
    }
    return out;
  }();
  return cases;
}

}  // namespace isochron::testing
