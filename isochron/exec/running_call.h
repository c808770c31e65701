// The call a plan is at on its first thread, for those who watch from another thread.
#pragma once

#include <cstdint>

namespace isochron {

struct RunningCall {
  const char* op = nullptr;  // null: no plan is running
  int32_t index = 0, calls = 0;
};
RunningCall running_call();

}  // namespace isochron
