#include "isochron/diagnose/diagnose.h"

#include <fmt/core.h>

#include <algorithm>

#include "isochron/diagnose/fixes.h"
#include "isochron/diagnose/judge.h"
#include "isochron/diagnose/own_time.h"
#include "isochron/diagnose/rules.h"
#include "isochron/diagnose/steps_as_epochs.h"
#include "isochron/diagnose/wording.h"

namespace isochron {
namespace {

// On a machine that others keep busy the run's own time tells more, if it tells anything for certain.
std::vector<Verdict> diagnose_epochs(const RunRecord& run, const EpochUnit& unit = {}) {
  constexpr double kCertain = 0.7, kMost = 0.5;  // confidence, and share of the extra time
  std::vector<Verdict> verdicts = judge(run, unit);
  const Verdict& first = verdicts.front();
  if (first.symptom == Symptom::died || first.symptom == Symptom::stuck) return verdicts;
  const auto own = in_own_time(run);
  if (!own) return verdicts;
  std::vector<Verdict> alone = judge(*own, unit);
  const Verdict& answer = alone.front();
  const bool found = answer.cause != Cause::none && answer.cause != Cause::unknown;
  if (!found || answer.confidence < kCertain || answer.share < kMost) return verdicts;
  // The cause is certain anyway; what shape short epochs would have had is not. Noise makes a shape uneven, and puts a
  // step into a trend, not the other way round.
  const bool clearer = (first.symptom == Symptom::uneven && answer.symptom != Symptom::uneven) ||
                       (first.symptom == Symptom::slower_later && answer.symptom == Symptom::slowing);
  if (answer.cause == first.cause && !clearer) return verdicts;
  alone.front().summary = "without the waits for cores that other programs used, " + alone.front().summary;
  return alone;
}

std::vector<Verdict> diagnose_log_steps(const StepParts& parts) {
  std::vector<Verdict> verdicts = diagnose_epochs(parts.run, parts.unit);
  verdicts.front().evidence.push_back(
      fmt::format("this run counts steps, not epochs: {} readings of step times{}", parts.readings,
                  parts.together > 1 ? fmt::format(", of which each {} were taken together", parts.together) : ""));
  return verdicts;
}

// Steps so few that they take the same time may still grow: by the same number of nodes or elements each.
std::vector<Verdict> growth_of_traced(const StepParts& parts) {
  constexpr double kCertain = 0.9;
  Case patient(parts.run, parts.unit);
  patient.shape.symptom = Symptom::slowing;
  patient.shape.extra_total = patient.total;
  std::vector<Finding> findings;
  rules::memory_graph_growth(patient, findings);
  rules::memory_leak(patient, findings);
  std::erase_if(findings, [](const Finding& finding) { return finding.confidence < kCertain; });
  if (findings.empty() || patient.total <= 0) return {};
  Finding& found = findings.front();
  return {{Symptom::slowing, found.cause, std::min(1.0, found.seconds / patient.total), found.confidence,
           fmt::format("{} steps of about {}; {}", parts.readings, time_text(patient.shape.usual), found.summary),
           std::move(found.evidence), fix_for(found.cause, parts.run.framework)}};
}

std::vector<Verdict> diagnose_traced_steps(const StepParts& parts) {
  std::vector<Verdict> verdicts = diagnose_epochs(parts.run, parts.unit);
  // Single steps differ; without a reason for it that is no complaint.
  if (verdicts.front().cause == Cause::unknown && verdicts.front().symptom != Symptom::slow_overall)
    verdicts = {healthy_verdict(Case(parts.run, {.word = "step", .traced = true}))};
  if (verdicts.front().cause == Cause::none && parts.together == 1)
    if (auto growing = growth_of_traced(parts); !growing.empty()) verdicts = std::move(growing);
  verdicts.front().evidence.push_back(fmt::format(
      "a trace shows steps, here {} of them; add the run's log for an answer about epochs", parts.readings));
  return verdicts;
}

}  // namespace

std::vector<Verdict> diagnose(const RunRecord& run) {
  if (!run.epochs.empty() || run.open_epoch) return diagnose_epochs(run);
  if (const auto parts = parts_of_log(run)) return diagnose_log_steps(*parts);
  if (const auto parts = parts_of_traces(run)) return diagnose_traced_steps(*parts);
  return diagnose_epochs(run);
}

}  // namespace isochron
