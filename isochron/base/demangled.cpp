#include "isochron/base/demangled.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace isochron {

std::string demangled(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(symbol, nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 ? text.get() : symbol;
}

std::string class_name_of(const std::type_info& type) {
  const std::string name = demangled(type.name()), plain = name.substr(0, name.find('<'));
  const size_t colon = plain.rfind("::");
  return colon == std::string::npos ? plain : plain.substr(colon + 2);
}

}  // namespace isochron
