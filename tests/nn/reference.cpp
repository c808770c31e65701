#include "reference.h"

#include <fstream>
#include <map>

#include "isochron/ops/create.h"
#include "tests/source_dir.h"

namespace isochron::reference {

const nlohmann::json& read_file(const std::string& name) {
  static std::map<std::string, nlohmann::json> files;
  if (const auto known = files.find(name); known != files.end()) return known->second;
  std::ifstream in(ISOCHRON_SOURCE_DIR "/tests/references/" + name);
  return files[name] = nlohmann::json::parse(in);
}

Tensor tensor_of(const nlohmann::json& value) {
  if (value.is_null()) return {};
  std::vector<double> data;
  for (const nlohmann::json& one : value["data"])
    data.push_back(one.is_boolean()  ? one.get<bool>()
                   : one.is_string() ? std::stod(one.get<std::string>())  // "nan", "inf", "-inf"
                                     : one.get<double>());
  return detail::tensor_from_doubles(data, Shape(value["shape"].get<std::vector<int64_t>>()),
                                     dtype_from_name(value["dtype"].get<std::string>()));
}

}  // namespace isochron::reference
