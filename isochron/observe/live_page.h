// The page LiveServer shows: one HTML text with its own style and script, nothing loaded from elsewhere.
#pragma once

#include <string>

#include "isochron/timeline/run_record.h"

namespace isochron::observe {

// Asks /state once a second and draws epochs by phase, resource curves and the current verdict.
std::string live_page();

// What the page draws, as JSON: epochs, phases, thinned-out curves, the verdict. `verdict` and `detail`
// are shown as they are.
std::string live_state(const RunRecord& run, const std::string& command, const std::string& doing,
                       const std::string& verdict, const std::vector<std::string>& detail);

}  // namespace isochron::observe
