// Whether the numbers a process computes with have become too small for the CPU's fast path.
//
//   FloatProbe probe(pid);
//   probe.subnormal_share(resident_bytes);  // 0.02: two of a hundred places hold nothing but subnormal floats
//
// Looks at two thousand places spread evenly over the memory the process has written, 64 bytes each, and counts those
// that are full of 32-bit floats below 1e-38. Small integers look alike, so that only the change from one look to a
// later one means something. Pages that are not in memory are left alone. Which places these are is found out anew
// when the process holds more or less memory than then, and every few looks.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace isochron::observe {

class FloatProbe {
 public:
  explicit FloatProbe(int pid) : pid_(pid) {}

  // Empty when the memory can't be read. Takes about 2 ms, and several times as long when it looks for places.
  std::optional<double> subnormal_share(double resident_bytes);
  int pid() const { return pid_; }
  int searches() const { return searches_; }  // for places, so far

 private:
  void choose_places();

  int pid_;
  std::vector<uint64_t> places_;
  double bytes_then_ = -1;  // in memory when places were chosen
  int looks_since_ = 0;
  int searches_ = 0;
};

struct MemoryRange {
  uint64_t begin = 0, end = 0;
};
// Private writable memory that is no file and no stack, from the text of /proc/PID/maps.
std::vector<MemoryRange> written_ranges(std::string_view maps);

}  // namespace isochron::observe
