// cache(): every example is prepared in the first epoch and read from the cache afterwards.
#include <fmt/core.h>

#include <algorithm>

#include "isochron/diagnose/profile_view.h"
#include "isochron/diagnose/rules.h"

namespace isochron::rules {

void input_cache_fill(const Case& patient, std::vector<Finding>& findings) {
  if (patient.shape.symptom != Symptom::slow_first) return;
  const double extra = patient.shape.extra_total;
  const auto notices = patient.facts("input.cache");
  for (const Profile& profile : patient.run.profiles) {
    // "…::MemoryCacheImpl::ParallelMapV2": the cache still asks the stage behind it, so it is being filled.
    double filling = 0;
    int64_t calls = 0;
    std::string stage;
    for (const ProfileOp& op : profile.ops) {
      const size_t cache = op.name.find("Cache");
      if (op.phase != Phase::input || cache == std::string::npos || op.name.find("::", cache) == std::string::npos)
        continue;
      if (stage.empty() || op_seconds(op) > filling) stage = op.name;
      filling = std::max(filling, op_seconds(op));
      calls += op_count(op);
    }
    const double waited = phase_total(profile, Phase::input), all = steps_total(profile);
    if (calls < 2 || std::max(filling, waited) < 0.3 * all) continue;
    Finding finding{Cause::input_cache_fill, 0.85 * extra, 0.88};
    finding.summary = fmt::format("the first epoch filled the dataset's cache, and prepared every example for it");
    finding.evidence.push_back(
        fmt::format("the trace shows the stage behind the cache at work: {} calls of {}; later epochs, {:.1f}x as "
                    "fast, read from the cache",
                    calls, stage, patient.shape.ratio));
    finding.evidence.push_back(
        fmt::format("steps waited {} of {} for their batches", time_text(waited), time_text(all)));
    findings.push_back(std::move(finding));
    return;
  }
  // Watched: the first epoch waits for input and computes; later ones neither read nor compute as much.
  if (const auto seconds = patient.explained_by({Phase::input});
      seconds && *seconds > 0.3 * extra && !patient.facts("dataset.cache").empty()) {
    Finding finding{Cause::input_cache_fill, *seconds, 0.85};
    finding.summary =
        fmt::format("the first epoch waited {} for data while it filled the dataset's cache", time_text(*seconds));
    finding.evidence.push_back(
        fmt::format("{} of waiting for input in the first epoch beyond later ones", time_text(*seconds)));
    finding.evidence.push_back(fmt::format("\"{}\" ({})", patient.facts("dataset.cache").front()->value,
                                           patient.facts("dataset.cache").front()->source));
    findings.push_back(std::move(finding));
  } else if (!notices.empty()) {
    Finding finding{Cause::input_cache_fill, 0.5 * extra, 0.6};
    finding.summary = "the first epoch filled the dataset's cache";
    finding.evidence.push_back(fmt::format("\"{}\" ({})", notices.front()->value, notices.front()->source));
    findings.push_back(std::move(finding));
  }
}

}  // namespace isochron::rules
