#include "isochron/observe/hardware_counters.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace isochron::observe {
namespace {

int open_counter(int pid, uint64_t event) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.config = event;
  attributes.inherit = 1;
  attributes.exclude_kernel = 1;  // what unprivileged users may count
  attributes.exclude_hv = 1;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(syscall(SYS_perf_event_open, &attributes, pid, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

std::optional<double> count_of(int fd) {
  uint64_t values[3];  // count, time enabled, time running: counters may share the hardware in turns
  if (fd < 0 || read(fd, values, sizeof values) != sizeof values || values[2] == 0) return std::nullopt;
  return static_cast<double>(values[0]) * static_cast<double>(values[1]) / static_cast<double>(values[2]);
}

}  // namespace

HardwareCounters::~HardwareCounters() {
  if (instructions_ >= 0) close(instructions_);
  if (cycles_ >= 0) close(cycles_);
}

bool HardwareCounters::attach(int pid) {
  instructions_ = open_counter(pid, PERF_COUNT_HW_INSTRUCTIONS);
  if (instructions_ < 0) {
    why_not_ = errno == EACCES || errno == EPERM ? "not permitted (kernel.perf_event_paranoid)"
                                                 : "this machine has none (often so in virtual machines)";
    return false;
  }
  cycles_ = open_counter(pid, PERF_COUNT_HW_CPU_CYCLES);
  return true;
}

std::optional<HardwareCounters::Reading> HardwareCounters::read() const {
  const auto instructions = count_of(instructions_), cycles = count_of(cycles_);
  if (!instructions || !cycles) return std::nullopt;
  return Reading{*instructions, *cycles};
}

}  // namespace isochron::observe
