// A quick look at this process, for the timeline's samples.
#pragma once

#include <cmath>
#include <cstdint>

namespace isochron {

struct ProcessReading {
  int64_t time_ns = 0;
  double cpu_seconds = 0, system_seconds = 0;
  double major_faults = 0, minor_faults = 0;
  double voluntary_switches = 0, involuntary_switches = 0;
  double rss_bytes = 0;
  double read_bytes = 0, write_bytes = 0, write_chars = 0;
  // What takes longer to find out; NaN where it was not asked.
  double open_files = std::nan(""), output_files = std::nan(""), output_bytes = std::nan("");
  double other_cpu_seconds = std::nan(""), steal_seconds = std::nan(""), run_delay_seconds = std::nan("");
};

// Allocates nothing; about 20 us. `time_ns` is left to the caller.
ProcessReading read_this_process();
// The machine, descriptors and files kept: about 200 us.
void read_surroundings(ProcessReading& reading);

}  // namespace isochron
