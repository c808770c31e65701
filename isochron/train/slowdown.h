// Whether later epochs of a run took longer than earlier ones, and why.
#pragma once

#include <string>

#include "isochron/timeline/run_record.h"

namespace isochron {

// A sentence naming the cause (diagnose/), also noted among the record's facts as "slowdown"; empty when there was none
// to speak of. Costs nothing but a look at the epochs' lengths then.
std::string note_slowdown(RunRecord& run);

}  // namespace isochron
