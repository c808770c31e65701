// Other programs on the same cores.
#include <fmt/core.h>

#include <algorithm>

#include "isochron/diagnose/rules.h"
#include "isochron/timeline/sample_keys.h"

namespace isochron::rules {

void machine_contention(const Case& patient, std::vector<Finding>& findings) {
  if (patient.shape.symptom == Symptom::healthy || !patient.watched()) return;
  const auto cores = [&](size_t i) -> std::optional<double> {
    const auto used = patient.growth(sample_key::other_cpu_seconds, i);
    return used ? std::optional<double>(*used / std::max(patient.epoch(i).seconds, 1e-9)) : std::nullopt;
  };
  const auto delayed = [&](size_t i) -> std::optional<double> {
    const auto delay = patient.growth(sample_key::run_delay_seconds, i);
    return delay ? std::optional<double>(*delay / std::max(patient.epoch(i).seconds, 1e-9)) : std::nullopt;
  };
  const double available = patient.highest(sample_key::cpus, 0, 1e18).value_or(2);
  double slow_cores = 0, slow_delay = 0;
  const auto slow = patient.slow_epochs();
  for (const size_t i : slow) {
    slow_cores += cores(i).value_or(0) / static_cast<double>(slow.size());
    slow_delay += delayed(i).value_or(0) / static_cast<double>(slow.size());
  }
  const double usual_cores = patient.usually(cores).value_or(0), usual_delay = patient.usually(delayed).value_or(0);
  const double more = slow_cores - usual_cores;
  if (more < 0.2 * available && slow_delay < usual_delay + 0.3) return;
  if (more < 0.1 * available) return;  // waiting for a core that nobody else uses is a quota's doing
  // Its own CPU time per epoch must not have grown as much: then it would be doing more itself.
  const auto own = [&](size_t i) { return patient.growth(sample_key::cpu_seconds, i); };
  const double grown = patient.explained(own);
  Finding finding{Cause::machine_contention, std::max(0.0, patient.shape.extra_total - 0.5 * grown),
                  more > 0.4 * available ? 0.92 : 0.75};
  finding.summary =
      fmt::format("other programs used {:.1f} of {:.0f} cores while epochs were slow", slow_cores, available);
  finding.evidence.push_back(
      fmt::format("others used {:.1f} cores in slow epochs, {:.1f} in the usual ones", slow_cores, usual_cores));
  if (slow_delay > 0)
    finding.evidence.push_back(
        fmt::format("its threads waited for a core {:.1f} s per second, usually {:.1f}", slow_delay, usual_delay));
  for (const Fact* fact : patient.facts("other_process")) finding.evidence.push_back(fact->value);
  findings.push_back(std::move(finding));
}

}  // namespace isochron::rules
