// What to do about each cause, in the words of the framework at hand.
#pragma once

#include <string>
#include <string_view>

#include "isochron/diagnose/verdict.h"

namespace isochron {

// `framework` as in RunRecord; "" gives advice for any.
std::string fix_for(Cause cause, std::string_view framework);

// Which evidence would settle it, when a record does not tell the cause. `watched`: it comes from `isochron watch`.
std::string how_to_find_out(Symptom symptom, std::string_view framework, bool watched);

}  // namespace isochron
