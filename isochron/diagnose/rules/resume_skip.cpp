// Batches read and thrown away until the place where an earlier run stopped.
#include <fmt/core.h>

#include <algorithm>

#include "isochron/diagnose/rules.h"

namespace isochron::rules {

void resume_skip(const Case& patient, std::vector<Finding>& findings) {
  if (patient.shape.symptom != Symptom::slow_first || patient.empty()) return;
  const auto resumed = patient.loads(), skipping = patient.facts("resume.skip");
  const int first = patient.epoch(0).index;
  if (resumed.empty() && skipping.empty()) return;
  Finding finding{Cause::resume_skip};
  if (!skipping.empty()) {
    finding.seconds = 0.9 * patient.shape.extra_total;
    finding.confidence = 0.9;
    finding.evidence.push_back(fmt::format("\"{}\" ({})", skipping.front()->value, skipping.front()->source));
  }
  if (!resumed.empty())
    finding.evidence.push_back(
        fmt::format("the run was resumed: \"{}\" ({})", resumed.front()->value, resumed.front()->source));
  if (first > 1) finding.evidence.push_back(fmt::format("the first epoch shown is number {}", first));
  if (const auto step = patient.number("events.first-step"))
    finding.evidence.push_back(fmt::format("the first step in the event files is number {:.0f}", *step));
  const auto waited = patient.explained_by({Phase::input});
  if (waited && *waited > 0.3 * patient.shape.extra_total) {
    finding.seconds = *waited;
    finding.confidence = 0.88;
    finding.evidence.push_back(fmt::format("it waited {} longer for data than later epochs", time_text(*waited)));
  }
  if (finding.seconds == 0) {
    // Resumed in the middle, and the first epoch is the slow one: likely, not proven.
    if (resumed.empty() || first <= 1 || patient.tensorflow()) return;
    finding.seconds = 0.6 * patient.shape.extra_total;
    finding.confidence = 0.45;
  }
  finding.summary = "after resuming, the first epoch reads and skips the batches that were done before";
  findings.push_back(std::move(finding));
}

}  // namespace isochron::rules
