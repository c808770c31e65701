#include "isochron/diagnose/epoch_shape.h"

#include <gtest/gtest.h>

namespace isochron {
namespace {

TEST(EpochShape, EvenEpochsAreHealthy) {
  EXPECT_EQ(shape_of({8.0, 7.7, 8.1, 8.5, 8.2}).symptom, Symptom::healthy);
  EXPECT_EQ(shape_of({9.7, 8.2, 8.4, 8.4, 9.4}).symptom, Symptom::healthy);  // 15 % of start-up is ordinary
  EXPECT_EQ(shape_of({4.3, 4.5, 4.0, 4.1, 4.3, 4.8, 5.1}).symptom, Symptom::healthy);
  EXPECT_EQ(shape_of({}).symptom, Symptom::healthy);
  EXPECT_EQ(shape_of({5}).symptom, Symptom::healthy);
}

TEST(EpochShape, RoundedTimesDoNotMakeUnevenEpochs) {
  EXPECT_EQ(shape_of({2, 1, 2, 1, 2, 2, 1}, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}).symptom, Symptom::healthy);
}

// A scheduler's noise in short epochs, and a few of many.
TEST(EpochShape, ShortEpochsThatVaryAreHealthy) {
  EXPECT_EQ(shape_of({0.53, 0.51, 0.51, 0.73, 0.6}).symptom, Symptom::healthy);
  EXPECT_EQ(shape_of({0.24, 0.23, 0.24, 0.28, 0.23, 0.3, 0.35}).symptom, Symptom::healthy);
  std::vector<double> many(100, 0.31);
  for (const size_t i : {7, 23, 24, 33, 60}) many[i] = 0.53;
  EXPECT_EQ(shape_of(many).symptom, Symptom::healthy);
  many.resize(12);  // one of twelve at twice its time is no noise
  many[7] = 0.9;
  EXPECT_EQ(shape_of(many).symptom, Symptom::uneven);
}

TEST(EpochShape, SlowFirstEpoch) {
  const EpochShape shape = shape_of({16.6, 0.32, 0.33, 0.35, 0.39});
  EXPECT_EQ(shape.symptom, Symptom::slow_first);
  EXPECT_NEAR(shape.usual, 0.33, 0.03);
  EXPECT_NEAR(shape.extra_total, 16.3, 0.1);
  EXPECT_TRUE(shape.slow(0));
  EXPECT_FALSE(shape.slow(1));
  EXPECT_EQ(shape_of({9, 3}).symptom, Symptom::slow_first);
}

TEST(EpochShape, GrowingEpochsAreSlowing) {
  EXPECT_EQ(shape_of({0.59, 1.31, 2.0, 2.59, 3.42, 4.29}).symptom, Symptom::slowing);
  EXPECT_EQ(shape_of({0.53, 0.79, 1.08, 1.54, 2.26, 3.67}).symptom, Symptom::slowing);  // faster than a line
  EXPECT_EQ(shape_of({1.27, 1.31, 1.76, 2.03, 2.04, 2.63, 2.73, 3.14}).symptom, Symptom::slowing);
  EXPECT_EQ(shape_of({1.11, 2.69, 4.95, 6.4, 8.1, 10.2, 6.6}).symptom, Symptom::slowing);  // and a quieter machine
}

TEST(EpochShape, StepUpIsSlowerLater) {
  const EpochShape shape = shape_of({1.6, 1.53, 1.66, 4.7, 5.27, 6.74, 5.85});
  EXPECT_EQ(shape.symptom, Symptom::slower_later);
  EXPECT_EQ(shape.change, 3u);
  EXPECT_NEAR(shape.usual, 1.6, 0.05);
}

// "Why was the first epoch 90 s and the later ones 2 to 5 minutes?" Nothing that happens at the start explains that.
TEST(EpochShape, ShorterFirstEpochIsNoSlowStart) {
  for (const std::vector<double>& seconds :
       {std::vector<double>{90, 150, 300, 290}, {90, 121, 305, 180, 240}, {90, 200}}) {
    const EpochShape shape = shape_of(seconds);
    EXPECT_TRUE(shape.symptom == Symptom::slower_later || shape.symptom == Symptom::slowing);
    EXPECT_FALSE(shape.first_is_slow);
    EXPECT_FALSE(shape.slow(0));
  }
}

TEST(EpochShape, SomeLongEpochsAreUneven) {
  const EpochShape shape = shape_of({1.83, 1.85, 5.74, 1.56, 1.57, 4.72});
  EXPECT_EQ(shape.symptom, Symptom::uneven);
  EXPECT_TRUE(shape.slow(2) && shape.slow(5));
  EXPECT_FALSE(shape.slow(1) || shape.slow(3));
  EXPECT_EQ(shape_of({1.78, 2.14, 0.9, 1.95, 0.89, 2.37, 1.03, 2.39}).symptom, Symptom::uneven);
}

TEST(EpochShape, SlowStartBesideALaterStepIsKnown) {
  const EpochShape shape = shape_of({2.74, 1.27, 1.26, 3.89, 3.68, 4.11, 4.01});
  EXPECT_EQ(shape.symptom, Symptom::slower_later);
  EXPECT_TRUE(shape.first_is_slow);
  EXPECT_EQ(shape.change, 3u);
}

}  // namespace
}  // namespace isochron
