#include "isochron/base/error.h"

#include <dlfcn.h>
#include <execinfo.h>

#include "isochron/base/demangled.h"

namespace isochron {
namespace {

std::string stack_of_this_thread() {
  void* frames[32];
  const int count = backtrace(frames, 32);
  std::string text;
  for (int i = 2; i < count; ++i) {
    Dl_info info{};
    if (!dladdr(frames[i], &info) || !info.dli_sname) continue;
    text += "\n    " + demangled(info.dli_sname);
  }
  return text;
}

}  // namespace

InternalError::InternalError(const char* expectation, const char* file, int line, const std::string& detail)
    : std::logic_error(
          fmt::format("internal error: expected {} at {}:{}{}{}; this is a bug in Isochron, please report it{}",
                      expectation, file, line, detail.empty() ? "" : ": ", detail, stack_of_this_thread())) {}

}  // namespace isochron
