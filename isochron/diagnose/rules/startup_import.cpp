// Libraries loaded inside the first epoch.
#include <fmt/core.h>

#include "isochron/diagnose/rules.h"

namespace isochron::rules {

void startup_import(const Case& patient, std::vector<Finding>& findings) {
  if (patient.shape.symptom != Symptom::slow_first) return;
  const auto seconds = patient.explained_by({Phase::start});
  if (!seconds || *seconds < 0.1 * patient.shape.extra_total) return;
  Finding finding{Cause::startup_import, *seconds, 0.9};
  finding.summary = fmt::format("loading libraries took {} of the first epoch", time_text(*seconds));
  finding.evidence.push_back(
      fmt::format("{} of the first epoch were spent importing, later epochs import nothing", time_text(*seconds)));
  for (std::string& line : patient.spans_text({Phase::start})) finding.evidence.push_back(std::move(line));
  findings.push_back(std::move(finding));
}

}  // namespace isochron::rules
