#include "isochron/base/cgroup.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <vector>

namespace isochron {
namespace {

// Kernels write "no limit" of v1 memory as a page-rounded INT64_MAX.
constexpr int64_t kNoLimit = int64_t{1} << 60;

std::optional<std::string> first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

std::optional<int64_t> read_number(const std::string& path) {
  const auto line = first_line(path);
  if (!line) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(line->data(), line->data() + line->size(), value);
  if (error != std::errc() || end != line->data() + line->size()) return std::nullopt;
  return value;
}

// A key of memory.stat, e.g. "inactive_file 4096".
int64_t read_stat(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string name;
  int64_t value = 0;
  while (file >> name >> value)
    if (name == key) return value;
  return 0;
}

struct Groups {
  std::vector<std::string> v1, v2;  // folders from this process's group up to the mount's root
};

// `mount` + `path` and all its parents. Inside a container the path of /proc/self/cgroup may be the host's and not
// exist under the mount; missing folders simply hold no files.
std::vector<std::string> upwards(const std::string& mount, std::string path) {
  std::vector<std::string> folders;
  while (!path.empty() && path != "/") {
    folders.push_back(mount + path);
    path.resize(path.rfind('/'));
  }
  folders.push_back(mount);
  return folders;
}

Groups groups_of(const std::string& root, const std::string& controller) {
  Groups groups;
  std::ifstream file(root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {  // "4:memory:/a/b" or "0::/a/b"
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string path = line.substr(second + 1);
    std::stringstream names(line.substr(first + 1, second - first - 1));
    const std::string base = root + "/sys/fs/cgroup";
    if (first + 1 == second) {
      for (const char* mount : {"", "/unified"})
        for (std::string& folder : upwards(base + mount, path)) groups.v2.push_back(std::move(folder));
      continue;
    }
    for (std::string name; std::getline(names, name, ',');)
      if (name == controller)
        for (std::string& folder : upwards(base + "/" + controller, path)) groups.v1.push_back(std::move(folder));
  }
  return groups;
}

}  // namespace

std::optional<double> cgroup_cpu_limit(const std::string& root) {
  std::optional<double> limit;
  const auto tighten = [&](int64_t quota, int64_t period) {
    if (quota <= 0 || period <= 0) return;
    const double cpus = static_cast<double>(quota) / static_cast<double>(period);
    limit = limit ? std::min(*limit, cpus) : cpus;
  };
  const Groups groups = groups_of(root, "cpu");
  for (const std::string& folder : groups.v2)
    if (const auto line = first_line(folder + "/cpu.max")) {  // "max 100000" or "150000 100000"
      int64_t quota = 0, period = 0;
      if (std::stringstream(*line) >> quota >> period) tighten(quota, period);
    }
  for (const std::string& folder : groups.v1) {
    const auto quota = read_number(folder + "/cpu.cfs_quota_us"), period = read_number(folder + "/cpu.cfs_period_us");
    if (quota && period) tighten(*quota, *period);
  }
  return limit;
}

std::optional<CgroupMemory> cgroup_memory(const std::string& root) {
  std::optional<CgroupMemory> tightest;
  const auto consider = [&](const std::string& folder, const char* limit_file, const char* used_file,
                            const char* reclaimable) {
    const auto limit = read_number(folder + limit_file), used = read_number(folder + used_file);
    if (!limit || !used || *limit >= kNoLimit) return;
    const CgroupMemory here{*limit, std::max<int64_t>(0, *used - read_stat(folder + "/memory.stat", reclaimable))};
    if (!tightest || here.limit_bytes - here.used_bytes < tightest->limit_bytes - tightest->used_bytes) tightest = here;
  };
  const Groups groups = groups_of(root, "memory");
  for (const std::string& folder : groups.v2) consider(folder, "/memory.max", "/memory.current", "inactive_file");
  for (const std::string& folder : groups.v1)
    consider(folder, "/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file");
  return tightest;
}

}  // namespace isochron
