#include "isochron/observe/process_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace isochron::observe {
namespace {

constexpr size_t kPage = 4096;

class PagedMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    void* pages = mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(pages, MAP_FAILED);
    bytes_ = static_cast<uint8_t*>(pages);
  }
  void TearDown() override { munmap(bytes_, 4 * kPage); }

  uint64_t& word(size_t page) { return *reinterpret_cast<uint64_t*>(bytes_ + page * kPage); }
  uint64_t read(size_t page) { return memory_.pointer(reinterpret_cast<uint64_t>(&word(page))); }

  uint8_t* bytes_ = nullptr;
  PagedMemory memory_{getpid()};
};

TEST_F(PagedMemoryTest, HoldsWhatWasThereWhenItWasRenewed) {
  word(0) = 1;
  EXPECT_EQ(read(0), 1u);
  word(0) = 2;
  EXPECT_EQ(read(0), 1u);
  memory_.renew();
  EXPECT_EQ(read(0), 2u);
}

TEST_F(PagedMemoryTest, FetchesThePagesOfTheLastLookAndNoOthers) {
  for (size_t page = 0; page < 3; ++page) read(page);
  memory_.renew();
  EXPECT_EQ(memory_.fetched(), 3u);
  word(2) = 5;  // after it was fetched
  EXPECT_EQ(read(2), 0u);
  memory_.renew();
  EXPECT_EQ(memory_.fetched(), 1u);
  EXPECT_EQ(read(2), 5u);
}

TEST_F(PagedMemoryTest, APageThatHasGoneIsTheOnlyOneMissing) {
  for (size_t page = 0; page < 3; ++page) word(page) = page + 1, read(page);
  ASSERT_EQ(mprotect(bytes_ + kPage, kPage, PROT_NONE), 0);
  memory_.renew();
  EXPECT_EQ(read(0), 1u);
  EXPECT_EQ(read(1), 0u);
  EXPECT_EQ(read(2), 3u);
}

}  // namespace
}  // namespace isochron::observe
