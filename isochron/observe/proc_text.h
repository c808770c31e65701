// The texts of /proc, parsed: pure functions from file contents to numbers, so they can be tested
// without a process. Counters stay in the kernel's units here; process_reading.h turns them into
// seconds and bytes.
//
//   auto stat = parse_process_stat(read_small_file("/proc/self/stat"));
//   double rss_kb = value_after(status_text, "VmRSS:").value_or(0);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace isochron::observe {

// The whole of a small kernel file, or empty when it can't be read (the process has gone, no permission).
std::string read_small_file(const std::string& path, size_t limit = 1 << 16);

// A kernel file that is read again and again: kept open, which saves most of a reading's cost.
class ProcFile {
 public:
  ProcFile() = default;
  explicit ProcFile(const std::string& path);
  ~ProcFile();
  ProcFile(ProcFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ProcFile& operator=(ProcFile&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  // Its text now (up to 8 KB), valid until the next call of any ProcFile in this thread; empty when gone.
  std::string_view read() const;

 private:
  int fd_ = -1;
};

// /proc/PID/stat and /proc/PID/task/TID/stat.
struct ProcessStat {
  int pid = 0;
  std::string name;  // up to 15 characters, may contain spaces and brackets
  char state = '?';
  int parent = 0;
  int group = 0;
  int64_t minor_faults = 0;
  int64_t major_faults = 0;
  int64_t user_ticks = 0;
  int64_t system_ticks = 0;
  int threads = 0;
  int64_t start_ticks = 0;
  int64_t rss_pages = 0;
};
std::optional<ProcessStat> parse_process_stat(std::string_view text);

// The number that follows `key` ("VmSwap:", "read_bytes:", "nr_throttled"): keys stand at line starts.
std::optional<int64_t> value_after(std::string_view text, std::string_view key);

// The first line of /proc/stat, in ticks summed over all CPUs. `busy` leaves idle and iowait out.
struct MachineTicks {
  int64_t busy = 0;
  int64_t idle = 0;
  int64_t iowait = 0;
  int64_t steal = 0;
};
std::optional<MachineTicks> parse_machine_ticks(std::string_view text);

// Total stall of a /proc/pressure file in seconds; `line` is "some" or "full".
std::optional<double> parse_pressure_total(std::string_view text, std::string_view line);

// Mean of the "cpu MHz" lines of /proc/cpuinfo.
std::optional<double> parse_cpu_mhz(std::string_view text);

// The path of this process in the hierarchy of `controller` ("" is the unified one), from /proc/PID/cgroup.
std::optional<std::string> parse_cgroup_path(std::string_view text, std::string_view controller);

// The words of a NUL-separated command line.
std::vector<std::string> split_command_line(std::string_view text);

}  // namespace isochron::observe
