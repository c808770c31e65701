// Logs written or flushed too often.
#include <fmt/core.h>

#include <algorithm>

#include "isochron/diagnose/profile_view.h"
#include "isochron/diagnose/rules.h"
#include "isochron/diagnose/whole_run.h"
#include "isochron/timeline/sample_keys.h"

namespace isochron::rules {

void disk_logging(const Case& patient, std::vector<Finding>& findings) {
  if (patient.empty() || written_per_epoch(patient).steady) return;  // what grows is a cause of its own
  const bool healthy = patient.shape.symptom == Symptom::healthy;
  const double logged = patient.phase_total(Phase::log);
  const auto more = patient.explained_by({Phase::log});
  const TracedShare traced = largest_share(patient.run, Phase::log);
  Finding finding{Cause::disk_logging};
  finding.confidence = 0.88;
  if (is_overall(patient, logged, 0.2)) {
    finding.overall = true;
    finding.seconds = logged;
    finding.summary = fmt::format("{} of the time goes into writing logs", percent_text(logged / patient.total));
  } else if (!healthy && more && *more > 0.2 * patient.shape.extra_total) {
    finding.seconds = *more;
    finding.summary = fmt::format("slow epochs spend {} more on writing logs", time_text(*more));
  } else if (is_overall(patient, traced.share * patient.total, 0.2)) {
    finding.overall = true;
    finding.seconds = traced.share * patient.total;
    finding.summary = fmt::format("{} of each step goes into writing logs", percent_text(traced.share));
    finding.evidence.push_back(fmt::format("the trace ({}) shows {} of writing logs in each step",
                                           traced.profile->source, time_text(traced.per_step)));
  } else {
    return;
  }
  if (logged > 0)
    finding.evidence.push_back(
        fmt::format("{} of {} in epochs were spent writing logs", time_text(logged), time_text(patient.total)));
  if (const auto calls = patient.growth(sample_key::write_calls, 0.0, 1e18))
    finding.evidence.push_back(
        fmt::format("{:.0f} write calls, {:.0f} a second", *calls, *calls / std::max(patient.total, 1e-9)));
  for (std::string& line : patient.spans_text({Phase::log})) finding.evidence.push_back(std::move(line));
  findings.push_back(std::move(finding));
}

}  // namespace isochron::rules
