// Loader workers started anew: every epoch waits for them before its first batch.
#include <fmt/core.h>

#include <algorithm>

#include "isochron/diagnose/profile_view.h"
#include "isochron/diagnose/rules.h"
#include "isochron/diagnose/whole_run.h"
#include "isochron/timeline/sample_keys.h"

namespace isochron::rules {

void input_worker_start(const Case& patient, std::vector<Finding>& findings) {
  if (patient.empty() || patient.total <= 0) return;
  const bool first_only = patient.shape.symptom == Symptom::slow_first;
  Finding finding{Cause::input_worker_start};
  const FirstWaits waits = first_waits(patient);
  if (waits.in_every_epoch() && !patient.tensorflow()) {
    finding.seconds = waits.seconds;
    finding.overall = true;
    finding.confidence = 0.6;
    finding.evidence.push_back(fmt::format("every epoch waits {} before its first step, {} of its time",
                                           time_text(waits.average()), percent_text(waits.seconds / patient.total)));
  }
  for (const Profile& profile : patient.run.profiles) {
    const auto late = late_batches(profile);
    if (!late) continue;
    const double wait = late->seconds;
    finding.evidence.push_back(fmt::format(
        "the trace waits {} for the first batch of its loader workers{}, then {} per batch", time_text(wait),
        late->steps.size() > 1 ? fmt::format(", {} times", late->steps.size()) : "", time_text(late->usual)));
    finding.confidence = 0.9;
    const bool anew = late->steps.size() > 1 || *late->steps.begin() > 0;  // the trace goes on into another epoch
    if (patient.unit.traced ? patient.shape.symptom != Symptom::healthy : first_only && !anew) {
      finding.overall = false;
      finding.seconds = std::min(wait * static_cast<double>(late->steps.size()), patient.shape.extra_total);
    } else if (!finding.overall) {
      finding.overall = true;
      finding.seconds = std::min(wait, 0.95 * patient.shape.usual) * static_cast<double>(patient.epochs().size());
    }
    break;
  }
  if (patient.watched()) {
    size_t starts = 0;
    for (size_t i = 1; i < patient.epochs().size(); ++i)
      if (patient.growth(sample_key::children_started, i).value_or(0) >= 1) ++starts;
    const double input = patient.phase_total(Phase::input);
    if (starts >= 1 && starts * 5 >= (patient.epochs().size() - 1) * 4 &&
        (finding.seconds > 0 || input > 0.2 * patient.total)) {
      finding.evidence.push_back(
          fmt::format("new worker processes appear in {} of {} later epochs", starts, patient.epochs().size() - 1));
      finding.confidence = 0.92;
      if (finding.seconds == 0) {
        finding.seconds = input;
        finding.overall = true;
      }
    }
  }
  // Watched: what the stacks of trainer and workers say.
  if (const double seconds = starting_workers(patient); is_overall(patient, seconds, 0.3)) {
    finding.overall = true;
    finding.seconds = std::max(finding.overall ? finding.seconds : 0, seconds);
    finding.confidence = 0.93;
    finding.evidence.push_back(fmt::format("{} of {} in epochs passed while loader workers started", time_text(seconds),
                                           time_text(patient.total)));
  } else if (first_only && seconds > 0.5 * patient.shape.extra_total) {
    finding.overall = false;
    finding.seconds = std::min(seconds, patient.shape.extra_total);
    finding.confidence = 0.85;
    finding.evidence.push_back(
        fmt::format("{} of the first epoch passed while loader workers started", time_text(seconds)));
  }
  if (finding.seconds <= 0 || finding.evidence.empty()) return;
  finding.summary =
      finding.overall
          ? fmt::format("each epoch waits about {} for its loader workers to start",
                        time_text(finding.seconds / static_cast<double>(patient.epochs().size())))
          : fmt::format("{} waited {} for loader workers to start",
                        patient.unit.traced ? "the slow steps" : "the first epoch", time_text(finding.seconds));
  findings.push_back(std::move(finding));
}

}  // namespace isochron::rules
