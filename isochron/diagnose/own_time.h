// A run on a machine that others keep busy, told in its own time: without the waits of its threads for a core.
//
//   if (const auto own = in_own_time(run)) verdicts = diagnose(*own);
//
// Everything the record knows by time moves with it, so rules see a run as it would have been alone.
#pragma once

#include <optional>

#include "isochron/timeline/run_record.h"

namespace isochron {

// nullopt where nobody looked, or where the machine was the run's own at least in its usual epochs: what others did to
// single epochs then is the story itself.
std::optional<RunRecord> in_own_time(const RunRecord& run);

}  // namespace isochron
