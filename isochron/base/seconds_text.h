// Durations, sizes and counts for people.
#pragma once

#include <cstdint>
#include <string>

namespace isochron {

// "0.42 ms", "18.5 s", "730 us": three digits that count.
std::string seconds_text(double seconds);

// "160 GB", "23.4 GB", "512 MB", "3 kB", in powers of a thousand.
std::string bytes_text(double bytes);
inline std::string bytes_text(int64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

// "101,770".
std::string count_text(int64_t count);

// The unit for a table whose typical value is `seconds`.
struct TimeUnit {
  const char* name;
  double per_second;
};
TimeUnit unit_for(double seconds);

}  // namespace isochron
