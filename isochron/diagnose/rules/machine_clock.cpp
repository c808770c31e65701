// A clock that jumped: time that was never spent.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "isochron/diagnose/rules.h"
#include "isochron/timeline/sample_keys.h"

namespace isochron::rules {

void machine_clock(const Case& patient, std::vector<Finding>& findings) {
  if (patient.shape.symptom == Symptom::healthy) return;
  const auto jump = [&](size_t i) { return patient.growth(sample_key::wall_minus_monotonic, i); };
  double seconds = 0;
  for (const size_t i : patient.slow_epochs()) seconds += std::clamp(jump(i).value_or(0), 0.0, patient.shape.extra[i]);
  // By the log: one epoch is long by its stamps, while its steps are as fast as ever.
  if (seconds < 0.3 * patient.shape.extra_total) return;
  Finding finding{Cause::machine_clock, seconds, 0.9};
  finding.summary = fmt::format("the clock was set forward by {}; the time was not spent", time_text(seconds));
  finding.evidence.push_back(fmt::format("the wall clock moved {} more than the steady clock within {}",
                                         time_text(seconds), patient.epochs_text(patient.slow_epochs())));
  findings.push_back(std::move(finding));
}

}  // namespace isochron::rules
