#include "isochron/base/seconds_text.h"

#include <fmt/core.h>

#include <cmath>

namespace isochron {

TimeUnit unit_for(double seconds) {
  const double size = std::fabs(seconds);
  if (size < 1e-4) return {"us", 1e6};
  if (size < 1) return {"ms", 1e3};
  return {"s", 1};
}

std::string seconds_text(double seconds) {
  const TimeUnit unit = unit_for(seconds);
  const double value = seconds * unit.per_second, size = std::fabs(value);
  return fmt::format("{:.{}f} {}", value, size < 10 ? 2 : size < 100 ? 1 : 0, unit.name);
}

}  // namespace isochron
