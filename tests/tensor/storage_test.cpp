#include "isochron/tensor/storage.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "isochron/base/error.h"

namespace isochron {
namespace {

TEST(Storage, FreedBlocksAreHandedOutAgain) {
  release_pooled_memory();
  const std::byte* first = nullptr;
  {
    const Storage s = Storage::allocate(10'000);
    first = s.data();
  }
  const AllocationCounts before = allocation_counts();
  EXPECT_GE(before.pooled_bytes, 10'000);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Storage::allocate(10'000).data(), first);
  const AllocationCounts after = allocation_counts();
  EXPECT_EQ(after.system_allocations, before.system_allocations);
  EXPECT_EQ(after.live_bytes, before.live_bytes);
  release_pooled_memory();
  EXPECT_EQ(allocation_counts().pooled_bytes, 0);
}

TEST(Storage, CountsWhatIsHeld) {
  const int64_t before = allocation_counts().live_bytes;
  const Storage a = Storage::allocate(1 << 20);
  const Storage shared = a;
  EXPECT_EQ(allocation_counts().live_bytes - before, 1 << 20);
  EXPECT_FALSE(a.unique());
  EXPECT_TRUE(a.same(shared));
}

TEST(Storage, IsAlignedAtEverySize) {
  for (size_t bytes : {0, 1, 63, 64, 65, 1000, 4097, 1'000'003}) {
    const Storage s = Storage::allocate(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(s.data()) % 64, 0u) << bytes;
    EXPECT_EQ(s.bytes(), bytes);
  }
}

#if !defined(__SANITIZE_ADDRESS__)  // whose allocator chooses the places
// Weights and their moments are walked over side by side: at equal places of their pages they drive each other out of
// the caches.
TEST(Storage, LargeBlocksBeginAtDifferentPlacesOfAPage) {
  std::vector<Storage> blocks;
  std::set<uintptr_t> places;
  for (int i = 0; i < 4; ++i) {
    blocks.push_back(Storage::allocate((3 << 20) + 512 * 1024));
    std::memset(blocks.back().data(), i, blocks.back().bytes());
    places.insert(reinterpret_cast<uintptr_t>(blocks.back().data()) % 4096);
  }
  EXPECT_EQ(places.size(), 4u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(static_cast<int>(blocks[static_cast<size_t>(i)].data()[0]), i);
    EXPECT_EQ(static_cast<int>(blocks[static_cast<size_t>(i)].data()[blocks[0].bytes() - 1]), i);
  }
}
#endif

TEST(Storage, KeepsABoundedAmount) {
  release_pooled_memory();
  std::vector<Storage> many;
  for (int i = 0; i < 40; ++i) many.push_back(Storage::allocate(4 << 20));
  many.clear();
  EXPECT_LE(allocation_counts().pooled_bytes, 64 << 20);
}

TEST(Storage, WrappedMemoryIsGivenBackOnce) {
  int freed = 0;
  char memory[16];
  {
    const Storage s = Storage::wrap(memory, sizeof memory, [&] { ++freed; });
    const Storage t = s;
    EXPECT_EQ(static_cast<const void*>(t.data()), memory);
    EXPECT_EQ(freed, 0);
  }
  EXPECT_EQ(freed, 1);
}

TEST(Storage, MoreThanTheMachineHasIsAMemoryError) {
  EXPECT_THROW(Storage::allocate(size_t{1} << 60), MemoryError);
  EXPECT_NO_THROW(Storage::allocate(64));
}

TEST(Storage, ManyThreadsMayAllocateAndFree) {
  const int64_t before = allocation_counts().live_bytes;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      std::vector<Storage> held;
      for (size_t i = 0; i < 2000; ++i) {
        held.push_back(Storage::allocate(64 * (1 + i % 7)));
        *held.back().data() = static_cast<std::byte>(t);
        if (i % 3 == 0) held.erase(held.begin());
      }
      for (const Storage& s : held) EXPECT_EQ(*s.data(), static_cast<std::byte>(t));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allocation_counts().live_bytes, before);
}

}  // namespace
}  // namespace isochron
