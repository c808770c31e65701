#include "isochron/timeline/process_reading.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "isochron/base/files.h"
#include "isochron/base/kept_files.h"
#include "isochron/base/memory_info.h"
#include "isochron/base/thread_clock.h"

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
  now.write_chars = value_after(io, "\nwchar: ");
  return now;
}

void read_surroundings(ProcessReading& now) {
  char text[1024];
  if (read_short_file("/proc/stat", text) > 0) {
    // cpu  user nice system idle iowait irq softirq steal
    double ticks[8] = {};
    if (std::sscanf(text, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &ticks[0], &ticks[1], &ticks[2], &ticks[3], &ticks[4],
                    &ticks[5], &ticks[6], &ticks[7]) == 8) {
      const auto per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
      now.steal_seconds = ticks[7] / per_second;
      now.other_cpu_seconds = (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]) / per_second - now.cpu_seconds;
    }
  }
  now.run_delay_seconds = static_cast<double>(run_delay_ns()) * 1e-9;
  if (DIR* folder = opendir("/proc/self/fd")) {
    now.open_files = -3;  // ".", "..", and this one
    while (readdir(folder)) ++now.open_files;
    closedir(folder);
  }
  const KeptFiles kept = kept_files();
  now.output_files = static_cast<double>(kept.files);
  now.output_bytes = static_cast<double>(kept.bytes);
}

}  // namespace isochron
