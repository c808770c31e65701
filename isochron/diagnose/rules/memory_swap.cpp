// Memory written out to disk and read back.
#include <fmt/core.h>

#include <algorithm>

#include "isochron/diagnose/rules.h"
#include "isochron/timeline/sample_keys.h"

namespace isochron::rules {

void memory_swap(const Case& patient, std::vector<Finding>& findings) {
  if (!patient.watched() || patient.empty()) return;
  const auto traffic = [&](size_t i) -> std::optional<double> {
    const auto in = patient.growth(sample_key::swap_in_bytes, i), out = patient.growth(sample_key::swap_out_bytes, i);
    return in || out ? std::optional<double>(in.value_or(0) + out.value_or(0)) : std::nullopt;
  };
  double all = 0, most = 0;
  for (size_t i = 0; i < patient.epochs().size(); ++i) {
    all += traffic(i).value_or(0);
    most = std::max(most, traffic(i).value_or(0));
  }
  const double swapped = patient.highest(sample_key::swap_bytes, 0, 1e18).value_or(0);
  if (most < 50e6 || swapped < 10e6) return;
  Finding finding{Cause::memory_swap};
  finding.evidence.push_back(
      fmt::format("{} went to and from swap, up to {} in one epoch; {} of the run's memory were out at once",
                  bytes_text(all), bytes_text(most), bytes_text(swapped)));
  if (const auto faults = patient.growth(sample_key::major_faults, 0.0, 1e18))
    finding.evidence.push_back(fmt::format("{:.0f} page faults had to wait for the disk", *faults));
  finding.confidence = 0.9;
  finding.overall = patient.shape.symptom == Symptom::healthy;
  finding.seconds = finding.overall ? 0.6 * patient.total : 0.85 * patient.shape.extra_total;
  finding.summary = "the run does not fit into memory and waits for swap";
  findings.push_back(std::move(finding));
}

}  // namespace isochron::rules
