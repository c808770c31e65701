// The machine around a watched process: who else computes, what stalls, which limits throttle.
//
//   Machine machine(child_pid, {"/data/out", "/tmp"});
//   MachineReading now = machine.read();
//
// Counters grow from an arbitrary start; differences count. A value the kernel does not offer (no
// pressure files, no cgroup, no cpufreq) stays empty.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isochron/observe/proc_text.h"

namespace isochron::observe {

struct MachineReading {
  double busy_seconds = 0;  // of all CPUs together, by everyone
  double idle_seconds = 0;
  double iowait_seconds = 0;
  double steal_seconds = 0;  // taken by the hypervisor
  double load = 0;           // runnable and uninterruptible, 1-minute average
  double memory_total_bytes = 0;
  double memory_available_bytes = 0;
  double swap_used_bytes = 0;
  double swap_in_pages = 0;  // counters
  double swap_out_pages = 0;
  std::optional<double> cpu_pressure_seconds;  // some task waited for a CPU
  std::optional<double> io_pressure_seconds;
  std::optional<double> memory_pressure_seconds;
  std::optional<double> throttled_seconds;  // by the CPU quota of its cgroup or of one above it
  std::optional<double> throttled_periods;
  std::optional<double> cpu_quota_cores;  // tightest CPU quota above the process
  std::optional<double> memory_limit_bytes;
  std::optional<double> memory_group_bytes;  // what the limited group uses now
  std::optional<double> cpu_mhz;
  std::map<std::string, double> free_disk_bytes;  // by folder given
};

class Machine {
 public:
  // `pid` names the cgroups to look at; `folders` the file systems whose free space counts.
  Machine(int pid, std::vector<std::string> folders);
  MachineReading read();
  int cpus() const { return cpus_; }

 private:
  void find_cgroups();
  void read_cgroups(MachineReading& out);

  int cpus_;
  int reads_ = 0;
  std::vector<std::string> folders_;
  ProcFile membership_;  // in control groups
  std::string known_membership_;
  struct CpuGroup {
    ProcFile stat, max, quota, period;  // the last two of cgroup v1, `max` of v2
  };
  struct MemoryGroup {
    ProcFile limit, usage;
  };
  std::vector<CpuGroup> cpu_groups_;  // innermost first
  std::vector<MemoryGroup> memory_groups_;
  std::optional<double> mhz_;
  ProcFile stat_{"/proc/stat"}, memory_{"/proc/meminfo"}, vmstat_{"/proc/vmstat"}, load_{"/proc/loadavg"};
  ProcFile cpu_pressure_{"/proc/pressure/cpu"}, io_pressure_{"/proc/pressure/io"},
      memory_pressure_{"/proc/pressure/memory"};
};

// A process outside the tree that keeps CPUs busy.
struct BusyStranger {
  int pid = 0;
  std::string command;
  double cores = 0;  // CPUs used between the two looks
};

// Finds who else computes: call twice or more, some seconds apart. Costs a read per process of the
// machine, so only worth calling when the machine's load says that there is someone.
class StrangerFinder {
 public:
  // The busiest first, those under 5 % of a CPU left out; empty at the first call.
  std::vector<BusyStranger> look(double now, const std::vector<int>& tree);

 private:
  double last_time_ = -1;
  std::map<int, double> last_cpu_;
};

}  // namespace isochron::observe
