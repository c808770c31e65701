// Files written in full, and longer each time.
#include <fmt/core.h>

#include <algorithm>

#include "isochron/diagnose/profile_view.h"
#include "isochron/diagnose/rules.h"
#include "isochron/diagnose/whole_run.h"
#include "isochron/timeline/sample_keys.h"

namespace isochron::rules {
namespace {

constexpr double kOverall = 0.2;  // share of all time spent writing from which that is the answer by itself

}  // namespace

void disk_temp_growth(const Case& patient, std::vector<Finding>& findings) {
  const Growth growth = written_per_epoch(patient);
  if (!growth.steady) return;
  const bool lasting = patient.shape.symptom == Symptom::slowing || patient.shape.symptom == Symptom::slower_later;
  const double logged = patient.phase_total(Phase::log);
  Finding finding{Cause::disk_temp_growth, 0.8 * patient.shape.extra_total, 0.82};
  if (is_overall(patient, logged, kOverall)) {  // the growth itself may be hidden by other things that vary
    finding.overall = true;
    finding.seconds = logged;
    finding.confidence = 0.9;
  } else if (!lasting) {
    return;
  } else if (const auto seconds = patient.explained_by({Phase::log, Phase::checkpoint})) {
    finding.seconds = *seconds;
    finding.confidence = *seconds > 0.3 * patient.shape.extra_total ? 0.92 : 0.5;
    // A callback that writes files of many megabytes does little else.
    constexpr double kMuchWritten = 10e6;
    const auto called = patient.explained_by({Phase::log, Phase::checkpoint, Phase::callback});
    if (growth.last > kMuchWritten && *called > 0.3 * patient.shape.extra_total) {
      finding.seconds = *called;
      finding.confidence = 0.93;
    }
  }
  finding.evidence.push_back(fmt::format("each epoch writes more than the one before: {} at first, {} at last",
                                         bytes_text(growth.first), bytes_text(growth.last)));
  for (const Fact* fact : patient.facts("written_file")) {
    finding.evidence.push_back(fact->value);
    break;  // the largest stands first
  }
  for (std::string& line : patient.spans_text({Phase::log, Phase::checkpoint}))
    finding.evidence.push_back(std::move(line));
  finding.summary = fmt::format("what is written per epoch grows, to {}", bytes_text(growth.last));
  findings.push_back(std::move(finding));
}

}  // namespace isochron::rules
