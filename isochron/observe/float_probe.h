// Whether the numbers a process computes with have become too small for the CPU's fast path.
//
//   subnormal_share(pid);     // 0.02: two of a hundred places hold nothing but subnormal floats
//
// Looks at two thousand places spread evenly over the memory the process has written, 64 bytes each, and counts those
// that are full of 32-bit floats below 1e-38. Small integers look alike, so that only the change from one look to a
// later one means something. Pages that are not in memory are left alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace isochron::observe {

// Empty when the memory can't be read. Takes about 2 ms.
std::optional<double> subnormal_share(int pid);

struct MemoryRange {
  uint64_t begin = 0, end = 0;
};
// Private writable memory that is no file and no stack, from the text of /proc/PID/maps.
std::vector<MemoryRange> written_ranges(std::string_view maps);

}  // namespace isochron::observe
