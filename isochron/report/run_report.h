// A whole run as one page: epochs as stacked phases, the first one explained, steps and memory over time, input stages,
// callbacks, verdicts.
//
//   write_file("run.html", run_html(run));        // opens without a network, light or dark, on a phone too
#pragma once

#include <string>

#include "isochron/timeline/run_record.h"

namespace isochron {

std::string run_html(const RunRecord& run);

}  // namespace isochron
