#include "cli/data_folder.h"

#include <unistd.h>

#include <cstdlib>

#include "isochron/base/error.h"

namespace isochron::cli {

std::string data_folder(const std::string& given) {
  if (!given.empty()) return given;
  if (const char* set = std::getenv("ISOCHRON_DATA")) return set;
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self);
  const std::string command(self, length > 0 ? static_cast<size_t>(length) : 0);
  const std::string bin = command.substr(0, command.rfind('/'));
  for (const std::string& place : {bin + "/../share/isochron/data", bin + "/../../data", std::string("data")})
    if (access((place + "/digits.csv.gz").c_str(), R_OK) == 0) return place;
  fail<FileError>("data", "the bundled data were not found; name their folder in ISOCHRON_DATA");
}

}  // namespace isochron::cli
