// Fewer CPU cycles than before: a control group's quota, a hypervisor, heat.
#include <fmt/core.h>

#include <algorithm>

#include "isochron/diagnose/rules.h"
#include "isochron/diagnose/whole_run.h"
#include "isochron/timeline/sample_keys.h"

namespace isochron::rules {

void machine_throttled(const Case& patient, std::vector<Finding>& findings) {
  if (!patient.watched() || patient.empty()) return;
  Finding finding{Cause::machine_throttled};
  const double extra = patient.shape.extra_total;
  const auto throttled = [&](size_t i) { return patient.growth(sample_key::throttled_seconds, i); };
  double all = 0;
  for (size_t i = 0; i < patient.epochs().size(); ++i) all += throttled(i).value_or(0);
  if (is_overall(patient, all, 0.3)) {
    finding.overall = true;
    finding.seconds = std::min(all, 0.8 * patient.total);
  } else if (patient.shape.symptom != Symptom::healthy) {
    const double seconds = patient.explained(throttled);
    if (seconds > 0.1 * extra) finding.seconds = std::max(seconds, 0.85 * extra);
  }
  if (finding.seconds > 0) {
    finding.confidence = 0.93;
    finding.evidence.push_back(fmt::format("its control group was throttled for {}, {} of it in slow epochs",
                                           time_text(all), time_text(patient.explained(throttled))));
    if (const auto quota = patient.average(sample_key::quota_cpus, 0, 1e18))
      finding.evidence.push_back(fmt::format("the quota is {:.2f} cores on average over the run", *quota));
    finding.summary = "the CPU quota of its control group holds it back";
    findings.push_back(std::move(finding));
    return;
  }
  const auto slow = patient.slow_epochs();
  if (slow.empty()) return;
  const auto stolen = [&](size_t i) { return patient.growth(sample_key::steal_seconds, i); };
  const double steal = patient.explained(stolen);
  const auto clock = [&](size_t i) { return patient.average(sample_key::mhz, i); };
  const auto usual_clock = patient.usually(clock), slow_clock = clock(slow.back());
  if (steal > 0.3 * extra) {
    finding.seconds = steal;
    finding.confidence = 0.85;
    finding.summary = "the hypervisor takes the cores away";
    finding.evidence.push_back(
        fmt::format("{} were stolen by other virtual machines in slow epochs", time_text(steal)));
  } else if (usual_clock && slow_clock && *slow_clock < 0.75 * *usual_clock) {
    finding.seconds = extra * std::min(1.0, (*usual_clock / *slow_clock - 1) / std::max(patient.shape.ratio - 1, 0.01));
    finding.confidence = 0.8;
    finding.summary = "the CPU runs at a lower frequency";
    finding.evidence.push_back(fmt::format("{:.0f} MHz in slow epochs, {:.0f} MHz before", *slow_clock, *usual_clock));
  } else {
    return;
  }
  findings.push_back(std::move(finding));
}

}  // namespace isochron::rules
