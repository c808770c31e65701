#include "isochron/exec/workspace.h"

#include <gtest/gtest.h>

#include <set>

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

}  // namespace
}  // namespace isochron::test
