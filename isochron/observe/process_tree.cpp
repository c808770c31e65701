#include "isochron/observe/process_tree.h"

#include <dirent.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "isochron/observe/proc_text.h"

namespace isochron::observe {
namespace {

constexpr size_t kMaxThreadsRead = 128;  // per process; a bound on the cost of one update
constexpr int kSearchAnyway = 5;         // searches left out at most; not every kernel tells its newest pid

double ticks_to_seconds(int64_t ticks) {
  static const double per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  return static_cast<double>(ticks) / per_second;
}

void set_if(double& target, const std::optional<int64_t>& value, double scale = 1) {
  if (value) target = static_cast<double>(*value) * scale;
}

// Run time and run-queue delay in seconds, from a schedstat file; false where the kernel has none.
bool read_schedstat(const ProcFile& file, double& run, double& delay) {
  const std::string text(file.read());
  unsigned long long run_ns = 0, delay_ns = 0;
  if (std::sscanf(text.c_str(), "%llu %llu", &run_ns, &delay_ns) != 2) return false;
  run = static_cast<double>(run_ns) * 1e-9;
  delay = static_cast<double>(delay_ns) * 1e-9;
  return true;
}

}  // namespace

ProcessCounters& ProcessCounters::operator+=(const ProcessCounters& other) {
  cpu_seconds += other.cpu_seconds;
  system_seconds += other.system_seconds;
  run_delay_seconds += other.run_delay_seconds;
  minor_faults += other.minor_faults;
  major_faults += other.major_faults;
  read_bytes += other.read_bytes;
  write_bytes += other.write_bytes;
  read_chars += other.read_chars;
  write_chars += other.write_chars;
  read_calls += other.read_calls;
  write_calls += other.write_calls;
  voluntary_switches += other.voluntary_switches;
  involuntary_switches += other.involuntary_switches;
  return *this;
}

std::vector<int> list_numeric_entries(const std::string& directory) {
  std::vector<int> ids;
  DIR* dir = opendir(directory.c_str());
  if (!dir) return ids;
  while (const dirent* entry = readdir(dir))
    if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9') ids.push_back(std::atoi(entry->d_name));
  closedir(dir);
  return ids;
}

std::vector<int> list_process_ids() { return list_numeric_entries("/proc"); }

void ProcessTree::update(double now, Detail detail) {
  if (detail != Detail::known && anyone_started()) find_members(now);
  for (auto it = alive_.begin(); it != alive_.end();) {
    const int64_t started = it->second.start_ticks;
    if (read_process(it->second, detail) && it->second.start_ticks == started) {
      ++it;
      continue;
    }
    files_.erase(it->first);
    ended_ += it->second.counters;
    events_.push_back({ProcessEvent::Kind::ended, now, std::move(it->second)});
    it = alive_.erase(it);
  }
}

// The last word of /proc/loadavg is the newest pid, threads included.
bool ProcessTree::anyone_started() {
  const std::string_view text = load_.read();
  const size_t last = text.rfind(' ');
  const int64_t newest = last == std::string_view::npos ? -1 : std::atoll(std::string(text.substr(last + 1)).c_str());
  if (newest > 0 && newest == newest_pid_ && ++unsearched_ <= kSearchAnyway) return false;
  newest_pid_ = newest;
  unsearched_ = 0;
  return true;
}

void ProcessTree::find_members(double now) {
  std::unordered_set<int> strangers;
  // A child has mostly, but not always, a higher pid than its parent: repeat until nothing is added.
  std::vector<int> unknown;
  for (const int pid : list_process_ids()) {
    if (strangers_.contains(pid))
      strangers.insert(pid);
    else if (!alive_.contains(pid))
      unknown.push_back(pid);
  }
  for (bool grown = true; grown && !unknown.empty();) {
    grown = false;
    std::vector<int> left;
    for (const int pid : unknown) {
      const auto stat = parse_process_stat(read_small_file(fmt::format("/proc/{}/stat", pid), 1024));
      if (!stat) continue;
      if (pid != root_ && !alive_.contains(stat->parent)) {
        left.push_back(pid);
        continue;
      }
      ProcessReading process{.pid = pid, .parent = stat->parent, .start_ticks = stat->start_ticks, .first_seen = now};
      process.name = stat->name;
      process.command = split_command_line(read_small_file(fmt::format("/proc/{}/cmdline", pid), 8192));
      events_.push_back({ProcessEvent::Kind::started, now, process});
      alive_.emplace(pid, std::move(process));
      grown = true;
    }
    unknown = std::move(left);
  }
  strangers.insert(unknown.begin(), unknown.end());
  strangers_ = std::move(strangers);
}

bool ProcessTree::read_process(ProcessReading& process, Detail detail) {
  const std::string folder = fmt::format("/proc/{}", process.pid);
  auto [found, added] = files_.try_emplace(process.pid);
  ProcessFiles& files = found->second;
  if (added) {
    files.stat = ProcFile(folder + "/stat");
    files.status = ProcFile(folder + "/status");
    files.io = ProcFile(folder + "/io");
  }
  const auto stat = parse_process_stat(files.stat.read());
  if (!stat || stat->state == 'Z' || stat->state == 'X') return false;
  static const double page = static_cast<double>(sysconf(_SC_PAGESIZE));
  ProcessCounters& counters = process.counters;
  process.name = stat->name;
  process.state = stat->state;
  process.parent = stat->parent;
  process.start_ticks = stat->start_ticks;
  process.threads = stat->threads;
  process.rss_bytes = static_cast<double>(stat->rss_pages) * page;
  counters.cpu_seconds = ticks_to_seconds(stat->user_ticks + stat->system_ticks);
  counters.system_seconds = ticks_to_seconds(stat->system_ticks);
  counters.minor_faults = static_cast<double>(stat->minor_faults);
  counters.major_faults = static_cast<double>(stat->major_faults);
  if (detail == Detail::threads || added) {
    const std::string_view status = files.status.read();
    set_if(process.anonymous_bytes, value_after(status, "RssAnon:"), 1024);
    set_if(process.swap_bytes, value_after(status, "VmSwap:"), 1024);
    set_if(counters.voluntary_switches, value_after(status, "voluntary_ctxt_switches:"));
    set_if(counters.involuntary_switches, value_after(status, "nonvoluntary_ctxt_switches:"));
  }
  const std::string_view io = files.io.read();
  set_if(counters.read_chars, value_after(io, "rchar:"));
  set_if(counters.write_chars, value_after(io, "wchar:"));
  set_if(counters.read_calls, value_after(io, "syscr:"));
  set_if(counters.write_calls, value_after(io, "syscw:"));
  set_if(counters.read_bytes, value_after(io, "read_bytes:"));
  set_if(counters.write_bytes, value_after(io, "write_bytes:"));
  // exec replaces name and command line while pid and start time stay.
  if (process.command.empty() || files.named_at_command != process.name) {
    process.command = split_command_line(read_small_file(folder + "/cmdline", 8192));
    files.named_at_command = process.name;
  }
  if (detail == Detail::threads) read_threads(process);
  return true;
}

void ProcessTree::read_threads(ProcessReading& process) {
  std::vector<int> tids = list_numeric_entries(fmt::format("/proc/{}/task", process.pid));
  if (tids.size() > kMaxThreadsRead) tids.resize(kMaxThreadsRead);
  std::map<int, ThreadReading> earlier;
  for (ThreadReading& thread : process.thread_list) earlier.emplace(thread.tid, std::move(thread));
  process.thread_list.clear();
  auto& files = files_.at(process.pid).threads;
  std::erase_if(files, [&](const auto& item) { return std::find(tids.begin(), tids.end(), item.first) == tids.end(); });
  for (const int tid : tids) {
    auto [file, added] = files.try_emplace(tid);
    if (added) {
      const std::string folder = fmt::format("/proc/{}/task/{}", process.pid, tid);
      file->second = {ProcFile(folder + "/stat"), ProcFile(folder + "/schedstat")};
    }
    double run = 0, delay = 0;
    const bool scheduled = read_schedstat(file->second.schedstat, run, delay);
    const auto before = earlier.find(tid);
    if (scheduled && before != earlier.end() && before->second.state == 'S' && before->second.cpu_seconds == run) {
      process.thread_list.push_back(std::move(before->second));  // it has slept since
      continue;
    }
    const auto stat = parse_process_stat(file->second.stat.read());
    if (!stat) continue;
    ThreadReading thread{.tid = tid, .name = stat->name, .state = stat->state};
    thread.cpu_seconds = ticks_to_seconds(stat->user_ticks + stat->system_ticks);
    if (scheduled) {
      thread.cpu_seconds = run;
      thread.run_delay_seconds = delay;
      // Threads come and go, so the sum is kept by increments and never falls.
      process.counters.run_delay_seconds += delay - (before == earlier.end() ? 0 : before->second.run_delay_seconds);
    }
    process.thread_list.push_back(std::move(thread));
  }
}

ProcessCounters ProcessTree::totals() const {
  ProcessCounters sum = ended_;
  for (const auto& [pid, process] : alive_) sum += process.counters;
  return sum;
}

std::vector<ProcessEvent> ProcessTree::take_events() { return std::exchange(events_, {}); }

}  // namespace isochron::observe
