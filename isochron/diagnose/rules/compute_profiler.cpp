// A profiler left running.
#include <fmt/core.h>

#include <algorithm>

#include "isochron/diagnose/rules.h"

namespace isochron::rules {

void compute_profiler(const Case& patient, std::vector<Finding>& findings) {
  if (patient.shape.symptom == Symptom::healthy || patient.empty()) return;
  // Epochs a profiler was on from beginning to end, by the lines it leaves in the log.
  std::vector<int> covered;
  const Fact *start = nullptr, *first = nullptr, *stop = nullptr;
  const auto cover = [&](int from, int until) {
    for (const Epoch& epoch : patient.epochs())
      if (epoch.index >= from && epoch.index < until) covered.push_back(epoch.index);
  };
  for (const Fact& fact : patient.run.facts) {
    if (fact.key == "profiler.start" && !start) start = &fact;
    if (fact.key != "profiler.stop" || !start) continue;
    const size_t before = covered.size();
    cover(start->epoch, fact.epoch);
    if (covered.size() > before && !first) {
      first = start;
      stop = &fact;
    }
    start = nullptr;
  }
  if (start) {
    cover(start->epoch, patient.epochs().back().index + 1);
    if (!first) first = start;
  }
  if (!first || covered.empty() || patient.slow_among(covered).empty()) return;
  // In the first epoch other things happen once, too.
  const bool at_start = patient.shape.symptom == Symptom::slow_first;
  Finding finding{Cause::compute_profiler, (at_start ? 0.25 : 0.95) * patient.shape.extra_total, at_start ? 0.5 : 0.92};
  finding.summary = fmt::format("a profiler runs in the slow epochs, which take {:.1f}x as long", patient.shape.ratio);
  finding.evidence.push_back(
      fmt::format("a profiler was started before or in epoch {} ({}) and {}", std::max(first->epoch, 1), first->source,
                  stop ? fmt::format("stopped only after epoch {} ({})", stop->epoch - 1, stop->source)
                       : std::string("never stopped")));
  findings.push_back(std::move(finding));
}

}  // namespace isochron::rules
