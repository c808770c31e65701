#include "isochron/diagnose/verdict.h"

#include <array>

namespace isochron {
namespace {

constexpr std::array<std::string_view, kSymptomCount> kSymptoms = {"healthy", "slow-first",   "slowing", "slower-later",
                                                                   "uneven",  "slow-overall", "stuck",   "died"};

constexpr std::array<std::string_view, kCauseCount> kCauses = {"none",
                                                               "unknown",
                                                               "startup.import",
                                                               "startup.graph",
                                                               "startup.init",
                                                               "input.cold-read",
                                                               "input.shuffle-fill",
                                                               "input.cache-fill",
                                                               "input.worker-start",
                                                               "input.bound",
                                                               "compute.retrace",
                                                               "compute.more-work",
                                                               "compute.denormals",
                                                               "compute.profiler",
                                                               "memory.graph-growth",
                                                               "memory.leak",
                                                               "memory.swap",
                                                               "memory.oversized",
                                                               "disk.checkpoint",
                                                               "disk.temp-growth",
                                                               "disk.full",
                                                               "disk.logging",
                                                               "machine.contention",
                                                               "machine.throttled",
                                                               "machine.clock",
                                                               "wait.worker",
                                                               "wait.lock",
                                                               "wait.io",
                                                               "wait.peer",
                                                               "resume.skip",
                                                               "train.validation",
                                                               "train.callback"};

template <class Id, size_t N>
std::optional<Id> find(const std::array<std::string_view, N>& names, std::string_view name) {
  for (size_t i = 0; i < N; ++i)
    if (names[i] == name) return static_cast<Id>(i);
  return std::nullopt;
}

}  // namespace

std::string_view name_of(Symptom symptom) { return kSymptoms[static_cast<size_t>(symptom)]; }
std::string_view name_of(Cause cause) { return kCauses[static_cast<size_t>(cause)]; }
std::string_view tag_of(const Verdict& verdict) {
  return verdict.undecided() ? "too little to judge by" : name_of(verdict.symptom);
}
std::optional<Symptom> symptom_from_name(std::string_view name) { return find<Symptom>(kSymptoms, name); }
std::optional<Cause> cause_from_name(std::string_view name) { return find<Cause>(kCauses, name); }

}  // namespace isochron
