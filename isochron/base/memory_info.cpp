#include "isochron/base/memory_info.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "isochron/base/cgroup.h"
#include "isochron/base/files.h"

namespace isochron {
namespace {

// A line such as "VmHWM:     1234 kB", in bytes; 0 when it is missing.
int64_t kilobytes_line(const char* path, const char* key) {
  char text[8192];
  read_short_file(path, text);
  const char* line = std::strstr(text, key);
  return line ? std::atoll(line + std::strlen(key)) * 1024 : 0;
}

}  // namespace

int64_t resident_bytes() {
  char text[256];
  read_short_file("/proc/self/statm", text);
  const char* second = std::strchr(text, ' ');
  return second ? std::atoll(second) * sysconf(_SC_PAGESIZE) : 0;
}

int64_t exact_resident_bytes() {
  const int64_t exact = kilobytes_line("/proc/self/smaps_rollup", "Rss:");
  return exact > 0 ? exact : resident_bytes();
}

int64_t private_resident_bytes() { return kilobytes_line("/proc/self/status", "RssAnon:"); }

int64_t peak_resident_bytes() { return kilobytes_line("/proc/self/status", "VmHWM:"); }

AvailableMemory available_memory() {
  AvailableMemory available{kilobytes_line("/proc/meminfo", "MemAvailable:"), false};
  if (available.bytes == 0) available.bytes = sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);
  if (const auto group = cgroup_memory()) {
    const int64_t left = std::max<int64_t>(0, group->limit_bytes - group->used_bytes);
    if (left < available.bytes) available = {left, true};
  }
  return available;
}

}  // namespace isochron
