#include "isochron/base/cgroup.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "isochron/base/files.h"

namespace isochron {
namespace {

// A folder that stands for the machine's root.
class Cgroup : public ::testing::Test {
 protected:
  TempFolder folder;
  const std::string& root = folder.path();
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  }
};

TEST_F(Cgroup, NoFilesNoLimit) {
  EXPECT_EQ(cgroup_cpu_limit(root), std::nullopt);
  EXPECT_FALSE(cgroup_memory(root));
}

TEST_F(Cgroup, V2TakesTheTightestOfGroupAndParents) {
  write("/proc/self/cgroup", "0::/slice/job\n");
  write("/sys/fs/cgroup/slice/job/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/slice/cpu.max", "150000 100000\n");
  write("/sys/fs/cgroup/slice/job/memory.max", "1000\n");
  write("/sys/fs/cgroup/slice/job/memory.current", "700\n");
  write("/sys/fs/cgroup/slice/job/memory.stat", "anon 500\ninactive_file 200\n");
  write("/sys/fs/cgroup/slice/memory.max", "max\n");
  write("/sys/fs/cgroup/slice/memory.current", "5000\n");
  EXPECT_EQ(cgroup_cpu_limit(root), 1.5);
  const auto memory = cgroup_memory(root);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->limit_bytes, 1000);
  EXPECT_EQ(memory->used_bytes, 500);
}

TEST_F(Cgroup, V1WithSharedControllersAndTheHostsPath) {
  write("/proc/self/cgroup", "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/\n");
  write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");  // inside a container the group is the mount's root
  write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "4096\n");
  write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1024\n");
  EXPECT_EQ(cgroup_cpu_limit(root), 2.0);
  const auto memory = cgroup_memory(root);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->limit_bytes, 4096);
  EXPECT_EQ(memory->used_bytes, 1024);
}

TEST_F(Cgroup, UnlimitedAndDamagedFilesCountAsNoLimit) {
  write("/proc/self/cgroup", "nonsense\n5:cpu:/\n4:memory:/\n0::/x\n");
  write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1024\n");
  write("/sys/fs/cgroup/x/cpu.max", "garbage\n");
  write("/sys/fs/cgroup/x/memory.max", "12oo\n");
  EXPECT_EQ(cgroup_cpu_limit(root), std::nullopt);
  EXPECT_FALSE(cgroup_memory(root));
}

}  // namespace
}  // namespace isochron
