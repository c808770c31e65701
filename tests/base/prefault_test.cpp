#include "isochron/base/prefault.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "isochron/base/threads.h"

namespace isochron {
namespace {

constexpr size_t kPage = 4096, kBytes = 64 * kPage;

size_t present_pages(void* begin, size_t bytes) {
  std::vector<unsigned char> present(bytes / kPage);
  EXPECT_EQ(mincore(begin, bytes, present.data()), 0);
  size_t count = 0;
  for (unsigned char page : present) count += page & 1;
  return count;
}

bool becomes_present(void* begin, size_t bytes) {
  for (int i = 0; i < 2000; ++i) {
    if (present_pages(begin, bytes) == bytes / kPage) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

void* fresh_pages() {
  void* block = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(block, MAP_FAILED);
  return block;
}

TEST(Prefault, PagesBecomePresentAndKeepTheirContents) {
  if (available_cpus() == 1) return;  // nothing is promised then
  auto* block = static_cast<char*>(fresh_pages());
  block[5 * kPage + 7] = 'x';
  prefault(block, kBytes);
  EXPECT_TRUE(becomes_present(block, kBytes));
  for (size_t i = 0; i < kBytes; ++i) ASSERT_EQ(block[i], i == 5 * kPage + 7 ? 'x' : 0);
  munmap(block, kBytes);
}

TEST(Prefault, MergedPagesKeepTheirContents) {
  constexpr size_t kHuge = size_t{2} << 20, kLong = 2 * kHuge + 3 * kPage;
  auto* block = static_cast<unsigned char*>(map_pages(kLong));
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % kHuge, 0u);
  for (size_t i = 0; i < kLong; i += 61) block[i] = static_cast<unsigned char>(i % 251);
  for (int round = 0; round < 3; ++round) {
    merge_pages(block, kLong);
    merge_pages(block + kPage, kHuge);  // holds no whole huge page
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    for (size_t i = 0; i < kLong; ++i) ASSERT_EQ(block[i], i % 61 ? 0 : i % 251) << i;
  }
  unmap_pages(block, kLong);
  merge_pages(block, kLong);  // it is gone
}

TEST(Prefault, NothingOfAVeryLargeBlockIsTakenBeforeItIsTouched) {
  constexpr size_t kLong = size_t{96} << 20;
  void* block = map_pages(kLong);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(present_pages(block, kLong), 0u);
  unmap_pages(block, kLong);
}

TEST(Prefault, MemoryThatIsGoneDoesNoHarm) {
  for (int i = 0; i < 200; ++i) {
    void* block = fresh_pages();
    prefault(block, kBytes);
    munmap(block, kBytes);
  }
  prefault(nullptr, 0);
  prefault(nullptr, kBytes);
}

TEST(Prefault, AChildHasItsOwnHelper) {
  if (available_cpus() == 1) return;
  void* block = fresh_pages();
  prefault(block, kBytes);
  EXPECT_TRUE(becomes_present(block, kBytes));
  const pid_t child = fork();
  if (child == 0) {
    void* own = fresh_pages();
    prefault(own, kBytes);
    _exit(becomes_present(own, kBytes) ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  munmap(block, kBytes);
}

TEST(ReservedPages, AreHandedOutZeroedAndGivenBackPieceByPiece) {
  reserve_pages(3 * kBytes);
  auto* a = static_cast<char*>(map_pages(kBytes));
  auto* b = static_cast<char*>(map_pages(kBytes));
  ASSERT_EQ(b, a + kBytes) << "both from the reserve";
  auto* large = static_cast<char*>(map_pages(2 * kBytes));
  EXPECT_TRUE(large + 2 * kBytes <= a || large >= a + 3 * kBytes) << "more than is left comes from the system";
  for (char* block : {a, b}) {
    for (size_t i = 0; i < kBytes; ++i) ASSERT_EQ(block[i], 0);
    std::memset(block, 1, kBytes);
  }
  unmap_pages(a, kBytes);
  EXPECT_EQ(b[0], 1);
  unmap_pages(b, kBytes);
  unmap_pages(large, 2 * kBytes);
  EXPECT_EQ(map_pages(size_t{1} << 60), nullptr);
}

}  // namespace
}  // namespace isochron
