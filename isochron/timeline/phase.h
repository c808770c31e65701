// What a slice of time was spent on: one of a closed set.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace isochron {

enum class Phase : uint8_t {
  start,
  build,
  trace,
  compile,
  init,
  allocate,
  input,
  forward,
  backward,
  update,
  metrics,
  callback,
  checkpoint,
  log,
  validate,
  sync,
  other,
};
inline constexpr int kPhaseCount = static_cast<int>(Phase::other) + 1;

std::string_view name_of(Phase phase);
std::optional<Phase> phase_from_name(std::string_view name);

// Seconds by phase.
using PhaseSeconds = std::array<double, kPhaseCount>;

}  // namespace isochron
