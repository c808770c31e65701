// Other programs on the same cores.
#include <fmt/core.h>

#include <algorithm>

#include "isochron/diagnose/rules.h"
#include "isochron/diagnose/whole_run.h"
#include "isochron/timeline/sample_keys.h"

namespace isochron::rules {
void machine_contention(const Case& patient, std::vector<Finding>& findings) {
  if (patient.shape.symptom == Symptom::healthy || !patient.watched()) return;
  const auto cores = [&](size_t i) -> std::optional<double> {
    const auto used = patient.growth(sample_key::other_cpu_seconds, i);
    return used ? std::optional<double>(*used / std::max(patient.epoch(i).seconds, 1e-9)) : std::nullopt;
  };
  const auto still = [&](size_t i) { return standing_still(patient, i); };
  const double available = patient.highest(sample_key::cpus, 0, 1e18).value_or(2);
  const auto known_cores = patient.usually(cores);
  if (!known_cores) return;  // nobody looked then: the others may have been there all the time
  const double usual_cores = *known_cores, usual_still = patient.usually(still).value_or(0);
  const auto slow = patient.slow_epochs();
  double slow_cores = 0, slow_still = 0, seconds = 0;
  for (const size_t i : slow) {
    slow_cores += cores(i).value_or(0) / static_cast<double>(slow.size());
    slow_still += still(i).value_or(0) / static_cast<double>(slow.size());
    // With as much standing still as usual, the epoch would have taken so much less.
    const double epoch = patient.epoch(i).seconds;
    seconds += std::clamp(epoch - epoch * (1 - still(i).value_or(0)) / (1 - usual_still), 0.0, patient.shape.extra[i]);
  }
  // Waiting for a core that nobody else uses is a quota's doing. Where all cores are taken as it is, more programs that
  // want them show only in longer waits.
  const double more = slow_cores - usual_cores;
  const bool crowded = slow_cores > 0.7 * available && slow_still > usual_still + 0.05;
  if (more < 0.1 * available && !crowded) return;
  if (!patient.usually(still) && more > 0.2 * available) {
    // The kernel does not count delays. What the others took, less what the run itself did more, stands for them.
    const double grown = patient.explained([&](size_t i) { return patient.growth(sample_key::cpu_seconds, i); });
    seconds = std::max(0.0, patient.shape.extra_total - grown);
  }
  if (seconds < 0.1 * patient.shape.extra_total) return;
  Finding finding{Cause::machine_contention, seconds, more > 0.4 * available ? 0.92 : 0.75};
  finding.summary =
      fmt::format("other programs used {:.1f} of {:.0f} cores while epochs were slow", slow_cores, available);
  finding.evidence.push_back(
      fmt::format("others used {:.1f} cores in slow epochs, {:.1f} in the usual ones", slow_cores, usual_cores));
  if (slow_still > 0)
    finding.evidence.push_back(fmt::format("its threads stood still for want of a core {} of the time, usually {}",
                                           percent_text(slow_still), percent_text(usual_still)));
  constexpr size_t kMostNamed = 3;
  const auto others = patient.facts("other_process");
  for (size_t i = 0; i < std::min(others.size(), kMostNamed); ++i) finding.evidence.push_back(others[i]->value);
  findings.push_back(std::move(finding));
}

}  // namespace isochron::rules
