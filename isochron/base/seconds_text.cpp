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

std::string bytes_text(double bytes) {
  const auto in = [&](double unit, const char* name) {
    return fmt::format("{:.{}f} {}", bytes / unit, bytes < 9.95 * unit ? 1 : 0, name);
  };
  if (bytes >= 999.5e9) return in(1e12, "TB");
  if (bytes >= 999.5e6) return in(1e9, "GB");
  if (bytes >= 999.5e3) return fmt::format("{:.0f} MB", bytes / 1e6);
  return fmt::format("{:.0f} kB", bytes / 1e3);
}

std::string count_text(int64_t count) {
  std::string text = std::to_string(count);
  for (auto at = static_cast<int64_t>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<size_t>(at), ",");
  return text;
}

}  // namespace isochron
