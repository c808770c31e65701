#include "isochron/base/flat_map.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <unordered_map>

namespace isochron::test {
namespace {

TEST(FlatMap, FindsWhatWasPutInAndKeepsItsOrder) {
  FlatMap<int64_t, std::string> map;
  EXPECT_EQ(map.find(1), nullptr);
  EXPECT_TRUE(map.try_emplace(7, "seven").second);
  EXPECT_TRUE(map.try_emplace(-1, "minus").second);
  const auto [value, fresh] = map.try_emplace(7, "other");
  EXPECT_FALSE(fresh);
  EXPECT_EQ(*value, "seven");
  map[7] += "!";
  EXPECT_EQ(*map.find(7), "seven!");
  EXPECT_EQ(map[0], "");
  ASSERT_EQ(map.size(), 3u);
  EXPECT_EQ(map.begin()->first, 7);
  EXPECT_EQ((map.end() - 1)->first, 0);
}

// Keys that differ in high bits alone, as addresses of large objects do, and many of them.
TEST(FlatMap, AgreesWithTheStandardMap) {
  for (const size_t reserved : {0u, 1u, 5000u}) {
    FlatMap<uint64_t, size_t> map;
    map.reserve(reserved);
    std::unordered_map<uint64_t, size_t> expected;
    for (size_t i = 0; i < 5000; ++i) {
      const uint64_t key = (i * i % 4001) << (i % 3 * 20);
      EXPECT_EQ(map.try_emplace(key, i).second, expected.emplace(key, i).second);
    }
    ASSERT_EQ(map.size(), expected.size());
    for (const auto& [key, value] : expected) {
      ASSERT_NE(map.find(key), nullptr);
      EXPECT_EQ(*map.find(key), value);
    }
    EXPECT_EQ(map.find(uint64_t{1} << 63), nullptr);
  }
}

struct SameHash {
  uint64_t operator()(int) const { return 3; }
};

TEST(FlatMap, TellsKeysOfOneHashApart) {
  FlatMap<int, int, SameHash> map;
  for (int i = 0; i < 100; ++i) map[i] = -i;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(*map.find(i), -i);
  EXPECT_EQ(map.find(100), nullptr);
}

struct Refuses {
  explicit Refuses(int value) {
    if (value < 0) throw std::invalid_argument("negative");
  }
};

TEST(FlatMap, IsAsItWasWhenAValueCanNotBeMade) {
  FlatMap<int, Refuses> map;
  map.try_emplace(1, 1);
  EXPECT_THROW(map.try_emplace(2, -1), std::invalid_argument);
  EXPECT_EQ(map.size(), 1u);
  EXPECT_EQ(map.find(2), nullptr);
  EXPECT_TRUE(map.try_emplace(2, 5).second);
  EXPECT_NE(map.find(2), nullptr);
}

}  // namespace
}  // namespace isochron::test
