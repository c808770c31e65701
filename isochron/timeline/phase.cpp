#include "isochron/timeline/phase.h"

namespace isochron {
namespace {
constexpr std::array<std::string_view, kPhaseCount> kNames = {
    "start",  "build",   "trace",    "compile",    "init", "allocate", "input", "forward", "backward",
    "update", "metrics", "callback", "checkpoint", "log",  "validate", "sync",  "other"};
}  // namespace

std::string_view name_of(Phase phase) { return kNames[static_cast<size_t>(phase)]; }

std::optional<Phase> phase_from_name(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Phase>(i);
  return std::nullopt;
}

}  // namespace isochron
