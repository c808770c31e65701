#include "isochron/exec/workspace.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>
#include <set>

#include "isochron/base/error.h"
#include "isochron/base/prefault.h"

namespace isochron::test {
namespace {

TEST(Workspace, GrowsInFewStepsHoweverLittleIsMissing) {
  release_workspace();
  constexpr size_t kPage = 4096, kFirst = 64 * kPage;
  workspace(kFirst);
  EXPECT_EQ(workspace_bytes(), kFirst);
  std::set<size_t> sizes;
  for (size_t pages = 1; pages <= 64; ++pages) {
    std::byte* block = workspace(kFirst + pages * kPage);
    EXPECT_GE(workspace_bytes(), kFirst + pages * kPage);
    block[workspace_bytes() - 1] = std::byte{1};
    sizes.insert(workspace_bytes());
  }
  EXPECT_LE(sizes.size(), 4u);
  // What is far larger is as large as was asked for.
  workspace(1000 * kPage);
  EXPECT_EQ(workspace_bytes(), 1000 * kPage);
  release_workspace();
  EXPECT_EQ(workspace_bytes(), 0u);
}

TEST(Workspace, ABlockThatComesPresentStaysOne) {
  constexpr size_t kMegabyte = size_t{1} << 20;
  release_workspace();
  workspace(60 * kMegabyte);
  workspace(61 * kMegabyte);
  EXPECT_EQ(workspace_bytes(), kMostPresentBytes);
  release_workspace();
}

// Room to grow is welcome, not a condition.
TEST(Workspace, TakesWhatItNeedsWhereThereIsNoMore) {
  constexpr size_t kMegabyte = size_t{1} << 20;
  release_workspace();
  workspace(400 * kMegabyte);
  size_t pages_in_use = 0;
  std::ifstream("/proc/self/statm") >> pages_in_use;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  const rlimit tight{pages_in_use * 4096 + 60 * kMegabyte, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &tight), 0);
  EXPECT_NO_THROW(workspace(410 * kMegabyte));
  EXPECT_EQ(workspace_bytes(), 410 * kMegabyte);
  EXPECT_THROW(workspace(600 * kMegabyte), MemoryError);
  EXPECT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_NO_THROW(workspace(600 * kMegabyte));
  release_workspace();
}

}  // namespace
}  // namespace isochron::test
