#include "isochron/base/small_vector.h"

#include <gtest/gtest.h>

#include <string>

namespace isochron {
namespace {

TEST(SmallVector, TakesItsOwnElementsWhileItGrows) {
  SmallVector<std::string, 2> items{"the first, longer than a string keeps inside", "second"};
  items.push_back(items[0]);
  items.emplace_back(items[0]);
  items.emplace_back(items[0]);  // the second time that it grows
  for (const size_t i : {2, 3, 4}) EXPECT_EQ(items[i], items[0]);
  EXPECT_EQ(items.size(), 5u);
  EXPECT_EQ(items[0], "the first, longer than a string keeps inside");
}

TEST(SmallVector, MovesWhatItIsGiven) {
  SmallVector<std::unique_ptr<int>, 1> items;
  items.push_back(std::make_unique<int>(1));
  items.push_back(std::make_unique<int>(2));
  EXPECT_EQ(*items.emplace_back(new int(3)), 3);
  const SmallVector<std::unique_ptr<int>, 1> moved = std::move(items);
  ASSERT_EQ(moved.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(*moved[i], static_cast<int>(i) + 1);
}

}  // namespace
}  // namespace isochron
