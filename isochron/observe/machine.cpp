#include "isochron/observe/machine.h"

#include <fmt/core.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "isochron/observe/proc_text.h"
#include "isochron/observe/process_tree.h"

namespace isochron::observe {
namespace {

constexpr int kSlowReadEvery = 20;  // cpuinfo is dear to read on big machines
constexpr double kNoLimit = 1e18;   // cgroup v1 says "no limit" with a huge number

double ticks(int64_t count) {
  static const double per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  return static_cast<double>(count) / per_second;
}

// `path` and all its parents up to and including the mount itself, those of them with such a file.
std::vector<std::string> levels(const std::string& mount, std::string path, const char* file) {
  std::vector<std::string> out;
  while (true) {
    const std::string folder = mount + (path == "/" ? "" : path);
    if (access((folder + "/" + file).c_str(), R_OK) == 0) out.push_back(folder + "/");
    if (path.size() <= 1) return out;
    path.resize(std::max<size_t>(path.rfind('/'), 1));
  }
}

std::optional<double> first_number(std::string_view view) {
  const std::string text(view);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str()) return std::nullopt;
  return value;
}

void keep_least(std::optional<double>& target, double value) { target = std::min(target.value_or(value), value); }

std::optional<double> quota_of(const ProcFile& max, const ProcFile& quota_file, const ProcFile& period_file) {
  if (const std::string v2(max.read()); !v2.empty() && v2[0] != 'm') {
    double quota = 0, period = 0;
    if (std::sscanf(v2.c_str(), "%lf %lf", &quota, &period) == 2 && period > 0) return quota / period;
  }
  const auto quota = first_number(quota_file.read());
  if (!quota || *quota <= 0) return std::nullopt;
  const auto period = first_number(period_file.read());
  if (!period || *period <= 0) return std::nullopt;
  return *quota / *period;
}

}  // namespace

Machine::Machine(int pid, std::vector<std::string> folders)
    : cpus_(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))),
      folders_(std::move(folders)),
      membership_(fmt::format("/proc/{}/cgroup", pid)) {}

// Launchers put themselves into a group right after they have been started.
void Machine::find_cgroups() {
  const std::string text(membership_.read());
  if (text.empty() || text == known_membership_) return;  // empty: it has ended
  known_membership_ = text;
  cpu_groups_.clear();
  memory_groups_.clear();
  const auto unified = parse_cgroup_path(text, "");
  std::vector<std::string> folders;
  if (const auto path = parse_cgroup_path(text, "cpu")) {
    folders = levels("/sys/fs/cgroup/cpu", *path, "cpu.stat");
    if (folders.empty()) folders = levels("/sys/fs/cgroup/cpu,cpuacct", *path, "cpu.stat");
  } else if (unified) {
    folders = levels("/sys/fs/cgroup", *unified, "cpu.stat");
  }
  for (const std::string& folder : folders)
    cpu_groups_.push_back({ProcFile(folder + "cpu.stat"), ProcFile(folder + "cpu.max"),
                           ProcFile(folder + "cpu.cfs_quota_us"), ProcFile(folder + "cpu.cfs_period_us")});
  if (const auto path = parse_cgroup_path(text, "memory")) {
    for (const std::string& folder : levels("/sys/fs/cgroup/memory", *path, "memory.limit_in_bytes"))
      memory_groups_.push_back(
          {ProcFile(folder + "memory.limit_in_bytes"), ProcFile(folder + "memory.usage_in_bytes")});
  } else if (unified) {
    for (const std::string& folder : levels("/sys/fs/cgroup", *unified, "memory.max"))
      memory_groups_.push_back({ProcFile(folder + "memory.max"), ProcFile(folder + "memory.current")});
  }
}

void Machine::read_cgroups(MachineReading& out) {
  for (const CpuGroup& group : cpu_groups_) {
    const std::string_view stat = group.stat.read();
    if (const auto periods = value_after(stat, "nr_throttled"))
      out.throttled_periods = out.throttled_periods.value_or(0) + static_cast<double>(*periods);
    if (const auto ns = value_after(stat, "throttled_time"))
      out.throttled_seconds = out.throttled_seconds.value_or(0) + static_cast<double>(*ns) * 1e-9;
    else if (const auto us = value_after(stat, "throttled_usec"))
      out.throttled_seconds = out.throttled_seconds.value_or(0) + static_cast<double>(*us) * 1e-6;
    if (const auto cores = quota_of(group.max, group.quota, group.period)) keep_least(out.cpu_quota_cores, *cores);
  }
  for (const MemoryGroup& group : memory_groups_) {
    const auto limit = first_number(group.limit.read());
    if (!limit || *limit > kNoLimit || (out.memory_limit_bytes && *out.memory_limit_bytes <= *limit)) continue;
    out.memory_limit_bytes = limit;
    out.memory_group_bytes = first_number(group.usage.read());
  }
}

MachineReading Machine::read() {
  MachineReading out;
  if (const auto all = parse_machine_ticks(stat_.read())) {
    out.busy_seconds = ticks(all->busy);
    out.idle_seconds = ticks(all->idle);
    out.iowait_seconds = ticks(all->iowait);
    out.steal_seconds = ticks(all->steal);
  }
  out.load = first_number(load_.read()).value_or(0);
  const std::string_view memory = memory_.read();
  const auto kilobytes = [&](const char* key) {
    return static_cast<double>(value_after(memory, key).value_or(0)) * 1024;
  };
  out.memory_total_bytes = kilobytes("MemTotal:");
  out.memory_available_bytes = kilobytes("MemAvailable:");
  out.swap_used_bytes = kilobytes("SwapTotal:") - kilobytes("SwapFree:");
  const std::string_view vmstat = vmstat_.read();
  out.swap_in_pages = static_cast<double>(value_after(vmstat, "pswpin").value_or(0));
  out.swap_out_pages = static_cast<double>(value_after(vmstat, "pswpout").value_or(0));
  out.cpu_pressure_seconds = parse_pressure_total(cpu_pressure_.read(), "some");
  out.io_pressure_seconds = parse_pressure_total(io_pressure_.read(), "some");
  out.memory_pressure_seconds = parse_pressure_total(memory_pressure_.read(), "some");
  if (reads_++ % kSlowReadEvery == 0) mhz_ = parse_cpu_mhz(read_small_file("/proc/cpuinfo", 1 << 20));
  out.cpu_mhz = mhz_;
  find_cgroups();
  read_cgroups(out);
  for (const std::string& folder : folders_) {
    struct statvfs disk {};
    if (statvfs(folder.c_str(), &disk) == 0)
      out.free_disk_bytes[folder] = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
  }
  return out;
}

std::vector<BusyStranger> StrangerFinder::look(double now, const std::vector<int>& tree) {
  const std::set<int> members(tree.begin(), tree.end());
  std::map<int, double> cpu;
  std::vector<BusyStranger> found;
  for (const int pid : list_process_ids()) {
    if (members.contains(pid) || pid == getpid()) continue;
    const auto stat = parse_process_stat(read_small_file(fmt::format("/proc/{}/stat", pid), 1024));
    if (!stat) continue;
    cpu[pid] = ticks(stat->user_ticks + stat->system_ticks);
    if (last_time_ < 0 || now <= last_time_) continue;
    const auto earlier = last_cpu_.find(pid);
    const double cores = (cpu[pid] - (earlier == last_cpu_.end() ? 0 : earlier->second)) / (now - last_time_);
    if (cores < 0.05) continue;
    std::string command;
    for (const std::string& word : split_command_line(read_small_file(fmt::format("/proc/{}/cmdline", pid), 512)))
      command += (command.empty() ? "" : " ") + word;
    if (command.empty()) command = "[" + stat->name + "]";
    found.push_back({pid, command.substr(0, 80), cores});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.cores > b.cores; });
  last_cpu_ = std::move(cpu);
  last_time_ = now;
  return found;
}

}  // namespace isochron::observe
