#include "isochron/tensor/shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_matcher.h"

namespace isochron {
namespace {

TEST(Shape, ScalarsVectorsAndRankEight) {
  EXPECT_EQ(Shape().elements(), 1);
  EXPECT_EQ(to_string(Shape()), "()");
  EXPECT_EQ(to_string(Shape{3}), "(3,)");
  const Shape eight{1, 2, 3, 1, 2, 1, 1, 4};
  EXPECT_EQ(eight.rank(), 8);
  EXPECT_EQ(eight.elements(), 48);
  EXPECT_EQ(eight[-1], 4);
  EXPECT_EQ(eight.elements(1, 3), 6);
  EXPECT_EQ((Shape{2, 0, 3}).elements(), 0);
}

TEST(Shape, RefusesWhatIsNoShape) {
  EXPECT_THAT([] { Shape({1, 1, 1, 1, 1, 1, 1, 1, 1}); }, error<ShapeError>("rank must be at most 8, got 9 axes"));
  EXPECT_THAT([] { Shape({2, -1}); }, error<ShapeError>("extents must not be negative, got (2, -1)"));
  EXPECT_THAT(
      [] {
        Shape({int64_t{1} << 40, int64_t{1} << 40});
      },
      error<ShapeError>("more elements than can be addressed"));
  EXPECT_THAT([] { Shape({int64_t{1} << 61}); }, error<ShapeError>("more elements than can be addressed"));
  // As NumPy: the product of any axes, such as a stride, must fit.
  EXPECT_THAT(
      [] {
        Shape({int64_t{1} << 40, 0, int64_t{1} << 40});
      },
      error<ShapeError>("more elements than can be addressed"));
  EXPECT_EQ((Shape{int64_t{1} << 40, 0}).elements(), 0);
}

TEST(Shape, WithInsertErase) {
  const Shape s{2, 3};
  EXPECT_EQ(s.with(-1, 5), (Shape{2, 5}));
  EXPECT_EQ(s.insert(2, 7), (Shape{2, 3, 7}));
  EXPECT_EQ(s.erase(-2), (Shape{3}));
  EXPECT_EQ((Shape{2, 3, 4}).erase(1), (Shape{2, 4}));
  EXPECT_EQ((Shape{2, 3, 4}).erase(0).elements(), 12);
  EXPECT_EQ((Shape{0, 3}).erase(0).elements(), 3);
}

TEST(Shape, BroadcastsAsNumPyDoes) {
  EXPECT_EQ(broadcast("add", {32, 1}, {10}), (Shape{32, 10}));
  EXPECT_EQ(broadcast("add", {}, {2, 3}), (Shape{2, 3}));
  EXPECT_EQ(broadcast("add", {0, 1}, {1, 4}), (Shape{0, 4}));
  EXPECT_THAT(
      [] {
        broadcast("add", {2, 3}, {2});
      },
      error<ShapeError>(
          "[add] shapes must broadcast together (equal extents, or 1), got (2, 3) and (2,): axis -1 has 3 and 2"));
  EXPECT_TRUE(broadcasts_to({1, 3}, {4, 2, 3}));
  EXPECT_FALSE(broadcasts_to({2, 3}, {3}));
}

TEST(Shape, AxesCountFromEitherEnd) {
  EXPECT_EQ(normalize_axis("sum", -1, 3), 2);
  EXPECT_EQ(normalize_axis("sum", 0, 3), 0);
  EXPECT_THAT([] { normalize_axis("sum", 3, 3); }, error<IndexError>("[sum] axis must be in [-3, 3), got 3"));
  for (const int axis : {2, -3})
    EXPECT_THAT([&] { (void)Shape({4, 5})[axis]; }, error<IndexError>("[shape] axis must be in [-2, 2) for (4, 5)"));
}

}  // namespace
}  // namespace isochron
