// Steps that pass in no operation of the framework: Python code of the loop, whatever it does.
#include <fmt/core.h>

#include "isochron/diagnose/profile_view.h"
#include "isochron/diagnose/rules.h"

namespace isochron::rules {

void outside_operations(const Case& patient, std::vector<Finding>& findings) {
  const TracedShare outside = outside_of_operations(patient.run);
  if (!outside.profile || keras_runs_steps(*outside.profile)) return;  // of Keras' own loop it is known whose code runs
  Finding finding{Cause::unknown, outside.share * patient.total, 0.5};
  finding.overall = true;
  finding.summary = fmt::format("{} of a step passes in no operation of the framework: in Python code of the loop",
                                percent_text(outside.share));
  finding.evidence.push_back(
      fmt::format("the trace ({}) shows {} of each step outside of all operations: logging, metrics, data made by "
                  "Python or NumPy",
                  outside.profile->source, time_text(outside.per_step)));
  findings.push_back(std::move(finding));
}

}  // namespace isochron::rules
