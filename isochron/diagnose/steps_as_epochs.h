// A run whose epochs nobody counted: its steps, so many of them together, take the place of epochs.
//
//   if (const auto parts = parts_of_log(run)) verdicts = judge(parts->run, parts->unit);
#pragma once

#include <optional>

#include "isochron/diagnose/case.h"
#include "isochron/timeline/run_record.h"

namespace isochron {

struct StepParts {
  RunRecord run;  // with a part in the place of each epoch
  EpochUnit unit;
  size_t readings = 0;  // steps whose time is known
  size_t together = 1;  // so many of them are one part
};

// By the step times that a log or event files tell; nullopt where they are too few to judge by.
std::optional<StepParts> parts_of_log(const RunRecord& run);
// By the steps that traces show, the earliest trace first; nullopt where there are none.
std::optional<StepParts> parts_of_traces(const RunRecord& run);

}  // namespace isochron
