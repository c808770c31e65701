#include "isochron/data/files/slabs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace isochron::data {
namespace {

bool holds(const Storage& storage, int value) {
  return std::all_of(storage.data(), storage.data() + storage.bytes(),
                     [&](std::byte b) { return b == std::byte(value); });
}

TEST(Slabs, SlicesKeepWhatIsWrittenWhenTheRestIsGivenBack) {
  // Within a block, over its end, and too large for one.
  const size_t sizes[] = {1, 64, 4097, 900'000, 900'000, 900'000, 900'000, 900'000, 30'000'000, 5};
  std::vector<Storage> slices;
  {
    Slabs slabs;
    for (const size_t bytes : sizes) {
      slices.push_back(slabs.take(bytes));
      EXPECT_EQ(slices.back().bytes(), bytes);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(slices.back().data()) % 64, 0u);
      std::memset(slices.back().data(), static_cast<int>(slices.size()), bytes);
    }
  }
  for (size_t i = 0; i < slices.size(); ++i) EXPECT_TRUE(holds(slices[i], static_cast<int>(i) + 1)) << i;
}

TEST(Slabs, ABlockGoesWithItsLastSlice) {
  const int64_t before = allocation_counts().live_bytes;
  Storage slice;
  {
    Slabs slabs;
    slice = slabs.take(100);
    EXPECT_GT(allocation_counts().live_bytes, before);
  }
  EXPECT_GT(allocation_counts().live_bytes, before);
  slice = {};
  EXPECT_EQ(allocation_counts().live_bytes, before);
}

}  // namespace
}  // namespace isochron::data
