// Instructions and cycles of a process and all it starts, where kernel and machine permit (bare metal,
// perf_event_paranoid <= 2). Instructions per cycle tell slow arithmetic (denormals) and memory stalls
// from more work.
#pragma once

#include <optional>
#include <string>

namespace isochron::observe {

class HardwareCounters {
 public:
  HardwareCounters() = default;
  ~HardwareCounters();
  HardwareCounters(const HardwareCounters&) = delete;
  HardwareCounters& operator=(const HardwareCounters&) = delete;

  // Counts from now on; for a child, call before it runs exec. False with a reason when refused.
  bool attach(int pid);
  const std::string& why_not() const { return why_not_; }

  struct Reading {
    double instructions = 0;
    double cycles = 0;
  };
  std::optional<Reading> read() const;

 private:
  int instructions_ = -1;
  int cycles_ = -1;
  std::string why_not_ = "not attached";
};

}  // namespace isochron::observe
