#include "isochron/base/error.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <cstdlib>

namespace isochron {
namespace {

std::string stack_of_this_thread() {
  void* frames[32];
  const int count = backtrace(frames, 32);
  std::string text;
  for (int i = 2; i < count; ++i) {
    Dl_info info{};
    if (!dladdr(frames[i], &info) || !info.dli_sname) continue;
    int status = 0;
    char* readable = abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status);
    text += fmt::format("\n    {}", status == 0 ? readable : info.dli_sname);
    std::free(readable);
  }
  return text;
}

}  // namespace

InternalError::InternalError(const char* expectation, const char* file, int line, const std::string& detail)
    : std::logic_error(
          fmt::format("internal error: expected {} at {}:{}{}{}; this is a bug in Isochron, please report it{}",
                      expectation, file, line, detail.empty() ? "" : ": ", detail, stack_of_this_thread())) {}

}  // namespace isochron
