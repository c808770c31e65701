#include "isochron/nn/logs.h"

#include "isochron/base/error.h"
#include "isochron/base/names.h"

namespace isochron {

double Logs::operator[](std::string_view name) const {
  std::vector<std::string_view> known;
  for (const auto& [key, value] : *this) {
    if (key == name) return value;
    known.push_back(key);
  }
  fail<ValueError>("Logs", "no metric \"{}\"{}", name, did_you_mean(name, known));
}

bool Logs::contains(std::string_view name) const {
  for (const auto& [key, value] : *this)
    if (key == name) return true;
  return false;
}

}  // namespace isochron
