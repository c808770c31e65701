#include "isochron/base/thread_clock.h"

#include <cstdio>

#include "isochron/base/files.h"

namespace isochron {

int64_t run_delay_ns(int thread_id) {
  char path[48] = "/proc/self/schedstat", text[64];
  if (thread_id != 0) std::snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", thread_id);
  long long ran = 0, delayed = 0;
  return read_short_file(path, text) > 0 && std::sscanf(text, "%lld %lld", &ran, &delayed) == 2 ? delayed : 0;
}

}  // namespace isochron
