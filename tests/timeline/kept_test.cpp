#include "isochron/timeline/kept.h"

#include <gtest/gtest.h>

#include <vector>

namespace isochron {
namespace {

template <class Kept>
std::vector<int> items(const Kept& kept) {
  std::vector<int> all;
  kept.for_each([&](int item) { all.push_back(item); });
  return all;
}

TEST(FirstAndLast, KeepsBothEndsInOrder) {
  FirstAndLast<int> kept(2, 3);
  EXPECT_EQ(items(kept), (std::vector<int>{}));
  kept.add(1);
  EXPECT_EQ(items(kept), (std::vector<int>{1}));
  for (int i = 2; i <= 4; ++i) kept.add(i);
  EXPECT_EQ(items(kept), (std::vector<int>{1, 2, 3, 4}));
  for (int i = 5; i <= 9; ++i) kept.add(i);
  EXPECT_EQ(items(kept), (std::vector<int>{1, 2, 7, 8, 9}));
  EXPECT_EQ(kept.total(), 9u);
}

TEST(Thinned, KeepsAllThenEverySecondThenEveryFourth) {
  Thinned<int> kept(2, 6);
  for (int i = 0; i < 6; ++i) kept.add(i);
  EXPECT_EQ(items(kept), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  kept.add(6);  // full: every second from item 2 on
  EXPECT_EQ(items(kept), (std::vector<int>{0, 1, 2, 4, 6}));
  kept.add(7);  // not kept for good, but the last one always shows
  EXPECT_EQ(items(kept), (std::vector<int>{0, 1, 2, 4, 6, 7}));
  for (int i = 8; i <= 10; ++i) kept.add(i);
  EXPECT_EQ(items(kept), (std::vector<int>{0, 1, 2, 6, 10}));
  EXPECT_EQ(kept.total(), 11u);
  EXPECT_EQ(kept.stride(), 4u);
}

TEST(Thinned, EvenlySpacedAndBoundedForLongStreams) {
  Thinned<int> kept(10, 100);
  for (int i = 0; i < 1'000'003; ++i) kept.add(i);
  const std::vector<int> all = items(kept);
  EXPECT_LE(all.size(), 101u);
  EXPECT_GE(all.size(), 50u);
  EXPECT_EQ(all.back(), 1'000'002);
  const int stride = static_cast<int>(kept.stride());
  for (size_t i = 11; i + 1 < all.size(); ++i) EXPECT_EQ(all[i] - all[i - 1], stride);
}

}  // namespace
}  // namespace isochron
