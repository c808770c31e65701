#include "isochron/train/history.h"

#include "isochron/base/names.h"

namespace isochron {

const std::vector<double>& History::operator[](const std::string& name) const {
  const auto found = metrics_.find(name);
  if (found != metrics_.end()) return found->second;
  std::vector<std::string_view> known;
  for (const auto& [key, values] : metrics_) known.push_back(key);
  fail<ValueError>("History", "no metric \"{}\"{}", name, did_you_mean(name, known));
}

}  // namespace isochron
