#include "isochron/base/terminal.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace isochron {

bool is_full_terminal(int fd) {
  const char* kind = std::getenv("TERM");
  return isatty(fd) && !(kind && std::string_view(kind) == "dumb");
}

}  // namespace isochron
