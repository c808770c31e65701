#include "isochron/timeline/process_reading.h"

#include <sys/resource.h>

#include <cstdlib>
#include <cstring>

#include "isochron/base/files.h"
#include "isochron/base/memory_info.h"

namespace isochron {
namespace {

double seconds_of(const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; }

double value_after(const char* text, const char* key) {
  const char* at = std::strstr(text, key);
  return at ? static_cast<double>(std::atoll(at + std::strlen(key))) : 0;
}

}  // namespace

ProcessReading read_this_process() {
  ProcessReading now;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  now.system_seconds = seconds_of(usage.ru_stime);
  now.cpu_seconds = seconds_of(usage.ru_utime) + now.system_seconds;
  now.major_faults = static_cast<double>(usage.ru_majflt);
  now.minor_faults = static_cast<double>(usage.ru_minflt);
  now.voluntary_switches = static_cast<double>(usage.ru_nvcsw);
  now.involuntary_switches = static_cast<double>(usage.ru_nivcsw);
  now.rss_bytes = static_cast<double>(resident_bytes());
  char io[512];
  read_short_file("/proc/self/io", io);
  now.read_bytes = value_after(io, "\nread_bytes: ");
  now.write_bytes = value_after(io, "\nwrite_bytes: ");
  return now;
}

}  // namespace isochron
