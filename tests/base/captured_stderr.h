// What was written to standard error since testing::internal::CaptureStderr(), lines of the log included, which a
// thread of its own writes.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "isochron/base/log.h"

namespace isochron {

inline std::string captured_stderr() {
  log_flush();
  return testing::internal::GetCapturedStderr();
}

}  // namespace isochron
