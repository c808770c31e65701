// Names of symbols and types as they were written.
#pragma once

#include <string>
#include <typeinfo>

namespace isochron {

// "isochron::CSVLogger" of "N8isochron9CSVLoggerE"; what is no such symbol stays as it is.
std::string demangled(const char* symbol);
// "CSVLogger": a class without its namespaces and template arguments.
std::string class_name_of(const std::type_info& type);

}  // namespace isochron
