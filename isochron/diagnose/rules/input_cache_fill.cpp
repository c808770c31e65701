// cache(): every example is prepared in the first epoch and read from the cache afterwards.
#include <fmt/core.h>

#include <algorithm>

#include "isochron/diagnose/profile_view.h"
#include "isochron/diagnose/rules.h"
#include "isochron/diagnose/whole_run.h"
#include "isochron/timeline/sample_keys.h"

namespace isochron::rules {
namespace {

constexpr double kFilledFirst = 0.7;  // share of the input that came before the first step: of a buffer, not a cache

// Watched: input that cost CPU time in the first epoch, all along it, and nothing afterwards. Whatever it computed was
// kept. (What comes from the disk costs little CPU, and what fills up first comes before the first step.)
bool by_computing(const Case& patient, std::vector<Finding>& findings) {
  const auto waited = patient.explained_by({Phase::input});
  const double extra = patient.shape.extra_total;
  if (!patient.watched() || !waited || *waited < 0.5 * extra || !patient.loads().empty()) return false;
  // On a busy machine wanting a core counts like having one.
  const auto busy = [&](size_t i) -> std::optional<double> {
    const auto cpu = patient.growth(sample_key::cpu_seconds, i), computed = computed_seconds(patient, i);
    if (!cpu || !computed) return std::nullopt;
    const double delay = patient.growth(sample_key::run_delay_seconds, i).value_or(0);
    return *computed * (1 + delay / std::max(*cpu, 1e-3));
  };
  const auto usual = patient.usually(busy), first = busy(0);
  if (!usual || !first || *first - *usual < 0.4 * extra) return false;
  const double read = patient.growth(sample_key::read_bytes, size_t{0}).value_or(0);
  if (patient.growth(sample_key::children_started, size_t{0}).value_or(0) > 0) return false;
  if (patient.phase_total(Phase::input, 1) > 0.3 * *waited) return false;
  const InputLead lead = input_lead(patient, 0);
  if (lead.seconds > kFilledFirst * *waited && lead.store != "cache") return false;
  Finding finding{Cause::input_cache_fill, *waited, lead.store == "cache" ? 0.85 : 0.75};
  finding.summary =
      fmt::format("the first epoch computed its input for {}, later ones have it ready", time_text(*waited));
  finding.evidence.push_back(fmt::format(
      "{} were spent on input in the first epoch beyond later ones, with {} more of computing and {} read from storage",
      time_text(*waited), time_text(*first - *usual), bytes_text(read)));
  for (std::string& line : patient.spans_text({Phase::input})) finding.evidence.push_back(std::move(line));
  findings.push_back(std::move(finding));
  return true;
}

}  // namespace

void input_cache_fill(const Case& patient, std::vector<Finding>& findings) {
  const bool slow_first = patient.shape.symptom == Symptom::slow_first;
  const bool by_trace_alone = patient.unit.traced;
  if (!slow_first && !by_trace_alone) return;
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
    finding.summary = "the first epoch filled the dataset's cache, and prepared every example for it";
    finding.evidence.push_back(
        fmt::format("the trace shows the stage behind the cache at work: {} calls of {}", calls, stage));
    if (by_trace_alone) {  // which shows no epochs, but caches are filled in the first
      finding.overall = is_overall(patient, waited, 0.3);
      if (finding.overall) finding.seconds = std::min(waited, patient.total);
      finding.summary = "these steps fill the dataset's cache, from which later epochs read";
    } else {
      finding.evidence.push_back(
          fmt::format("later epochs, {:.1f}x as fast, read from the cache", patient.shape.ratio));
    }
    finding.evidence.push_back(
        fmt::format("steps waited {} of {} for their batches", time_text(waited), time_text(all)));
    findings.push_back(std::move(finding));
    return;
  }
  if (!slow_first) return;
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
  } else if (by_computing(patient, findings)) {
    return;
  } else if (!notices.empty()) {
    Finding finding{Cause::input_cache_fill, 0.5 * extra, 0.6};
    finding.summary = "the first epoch filled the dataset's cache";
    finding.evidence.push_back(fmt::format("\"{}\" ({})", notices.front()->value, notices.front()->source));
    findings.push_back(std::move(finding));
  }
}

}  // namespace isochron::rules
