// The text of the error that f throws, for tests.
#pragma once

#include <string>

#include "isochron/base/error.h"

namespace isochron {

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace isochron
