// Limits that a container or a service manager sets on this process (Linux control groups, v1 and v2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace isochron {

// The tightest limit from this process's group up to the root, or nothing where none is set.
// `root` stands before every path read ("" is the machine itself; tests pass a folder).
std::optional<double> cgroup_cpu_limit(const std::string& root = "");  // CPUs, e.g. 1.5

struct CgroupMemory {
  int64_t limit_bytes = 0;
  int64_t used_bytes = 0;  // without page cache that can be dropped
};
std::optional<CgroupMemory> cgroup_memory(const std::string& root = "");

}  // namespace isochron
