// Validation, in some epochs or in all.
#include <fmt/core.h>

#include <algorithm>

#include "isochron/diagnose/rules.h"
#include "isochron/diagnose/whole_run.h"

namespace isochron::rules {

void train_validation(const Case& patient, std::vector<Finding>& findings) {
  if (patient.empty()) return;
  const bool healthy = patient.shape.symptom == Symptom::healthy;
  const auto seconds_of = [&](size_t i) -> std::optional<double> {
    if (patient.epoch(i).validation_seconds) return patient.epoch(i).validation_seconds;
    if (const auto phase = patient.phase(i, Phase::validate)) return phase;
    return std::nullopt;
  };
  double all = 0, longest = 0;
  bool known = false;
  for (size_t i = 0; i < patient.epochs().size(); ++i)
    if (const auto seconds = seconds_of(i)) {
      known = known || *seconds > 0;  // stacks that never show it do not say that there was none
      all += *seconds;
      longest = std::max(longest, *seconds);
    }
  Finding finding{Cause::train_validation};
  if (known && is_overall(patient, all, 0.5)) {
    finding.overall = true;
    finding.seconds = all;
    finding.confidence = 0.85;
    finding.summary = fmt::format("{} of the time is validation", percent_text(all / patient.total));
    finding.evidence.push_back(
        fmt::format("{} of {} in epochs were validation", time_text(all), time_text(patient.total)));
  } else if (known && !healthy) {
    const double base = patient.usually(seconds_of).value_or(0);
    double sum = 0;
    for (const size_t i : patient.slow_epochs())
      sum += std::clamp(seconds_of(i).value_or(0) - base, 0.0, patient.shape.extra[i]);
    if (sum < 0.1 * patient.shape.extra_total) return;
    finding.seconds = sum;
    finding.confidence = 0.93;
    finding.summary = fmt::format("validation makes the slow epochs slow: up to {} of one", time_text(longest));
    finding.evidence.push_back(fmt::format("validation took up to {} in {}, {} in the others", time_text(longest),
                                           patient.epochs_text(patient.slow_epochs()), time_text(base)));
  } else if (!known && !healthy) {
    auto [name, epochs] = validated_when_slow(patient);
    if (name.empty()) epochs = patient.slow_with_fact("validation");
    if (epochs.empty()) return;
    if (name.empty()) name = fmt::format("\"{}\"", patient.facts("validation").front()->value);
    finding.seconds = 0.85 * patient.extra_of(epochs);
    finding.confidence = 0.75;
    const bool all_slow = epochs.size() == patient.slow_epochs().size();
    finding.summary = fmt::format("{} epochs are those with a validation", all_slow ? "the slow" : "most slow");
    finding.evidence.push_back(fmt::format("{} stands in the log in {} {}", name, patient.epochs_text(epochs),
                                           all_slow ? "only, and these are the slow ones" : "and these are slow"));
  } else {
    return;
  }
  findings.push_back(std::move(finding));
}

}  // namespace isochron::rules
