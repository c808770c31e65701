// A profiler left running.
#include <fmt/core.h>

#include <algorithm>

#include "isochron/diagnose/rules.h"

namespace isochron::rules {

void compute_profiler(const Case& patient, std::vector<Finding>& findings) {
  if (patient.shape.symptom == Symptom::healthy || patient.empty()) return;
  const auto position = [&](const Fact& fact) {
    size_t at = 0;
    while (at < patient.epochs().size() && patient.epoch(at).index < fact.epoch) ++at;
    return at;
  };
  const Fact* start = nullptr;
  for (const Fact& fact : patient.run.facts) {
    if (fact.key == "profiler.start") start = &fact;
    if (fact.key != "profiler.stop" || !start) continue;
    const size_t from = position(*start), to = position(fact);
    start = nullptr;
    if (to < from + 2 || from != patient.shape.change || patient.shape.symptom == Symptom::slow_first) continue;
    Finding finding{Cause::compute_profiler, 0.95 * patient.shape.extra_total, 0.92};
    finding.summary = fmt::format("a profiler runs from epoch {} on, and epochs take {:.1f}x as long",
                                  patient.epoch(from).index, patient.shape.ratio);
    finding.evidence.push_back(fmt::format(
        "a profiler was started before epoch {} and stopped only after epoch {} ({})", patient.epoch(from).index,
        patient.epoch(std::min(to, patient.epochs().size()) - 1).index, fact.source));
    findings.push_back(std::move(finding));
    return;
  }
  if (start && position(*start) == patient.shape.change && patient.shape.symptom != Symptom::slow_first &&
      position(*start) < patient.epochs().size()) {
    Finding finding{Cause::compute_profiler, 0.95 * patient.shape.extra_total, 0.9};
    finding.summary = fmt::format("a profiler runs from epoch {} on, and epochs take {:.1f}x as long",
                                  patient.epoch(patient.shape.change).index, patient.shape.ratio);
    finding.evidence.push_back(fmt::format("a profiler was started before epoch {} and never stopped ({})",
                                           patient.epoch(patient.shape.change).index, start->source));
    findings.push_back(std::move(finding));
  }
}

}  // namespace isochron::rules
