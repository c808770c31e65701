// RunRecord -> verdicts. Knows nothing of where the record came from.
//
//   std::vector<Verdict> verdicts = diagnose(run);
//   if (verdicts.front().symptom != Symptom::healthy) …
//
// Never empty: the first verdict is the answer, the others are smaller causes of the same symptom. A healthy
// run gives one verdict, {healthy, none}. What no evidence explains is a verdict of cause `unknown` with its
// share, whose `fix` says which evidence would settle it. Deterministic; takes milliseconds.
#pragma once

#include <vector>

#include "isochron/diagnose/verdict.h"
#include "isochron/timeline/run_record.h"

namespace isochron {

std::vector<Verdict> diagnose(const RunRecord& run);

}  // namespace isochron
