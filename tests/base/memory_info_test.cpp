#include "isochron/base/memory_info.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

#include <cstring>

namespace isochron {
namespace {

constexpr int64_t kMegabyte = 1 << 20;

TEST(MemoryInfo, ResidentMemoryFollowsWhatIsTouched) {
  const int64_t before = resident_bytes();
  EXPECT_GT(before, kMegabyte / 4);
  constexpr size_t kSize = 64 * kMegabyte;
  void* block = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(block, MAP_FAILED);
  std::memset(block, 1, kSize);
  EXPECT_GE(resident_bytes(), before + 60 * kMegabyte);
  munmap(block, kSize);
  EXPECT_LT(resident_bytes(), before + 32 * kMegabyte);
  EXPECT_GE(peak_resident_bytes(), before + 60 * kMegabyte);
}

TEST(MemoryInfo, ExactResidentMemoryCountsEveryPage) {
  constexpr size_t kPages = 100, kPage = 4096;
  void* block = mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(block, MAP_FAILED);
  exact_resident_bytes();
  const int64_t before = exact_resident_bytes();
  std::memset(block, 1, kPages * kPage);
  EXPECT_EQ(exact_resident_bytes() - before, static_cast<int64_t>(kPages * kPage));
  munmap(block, kPages * kPage);
  EXPECT_EQ(exact_resident_bytes(), before);
}

TEST(MemoryInfo, AvailableMemoryIsWithinTheMachine) {
  struct sysinfo machine {};
  ASSERT_EQ(sysinfo(&machine), 0);
  EXPECT_GT(available_memory_bytes(), 0);
  EXPECT_LE(available_memory_bytes(), static_cast<int64_t>(machine.totalram) * machine.mem_unit);
}

}  // namespace
}  // namespace isochron
