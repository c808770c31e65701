// Durations for people.
#pragma once

#include <string>

namespace isochron {

// "0.42 ms", "18.5 s", "730 us": three digits that count.
std::string seconds_text(double seconds);

// The unit for a table whose typical value is `seconds`.
struct TimeUnit {
  const char* name;
  double per_second;
};
TimeUnit unit_for(double seconds);

}  // namespace isochron
