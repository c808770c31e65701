// From the findings of all rules to verdicts: which shape of the epochs is the story, what explains it, what is left.
#pragma once

#include <vector>

#include "isochron/diagnose/case.h"
#include "isochron/diagnose/verdict.h"

namespace isochron {

// Never empty; the first verdict is the answer.
std::vector<Verdict> judge(const RunRecord& run, const EpochUnit& unit = {});

}  // namespace isochron
