#include "isochron/train/rehearsal.h"

#include <gtest/gtest.h>

namespace isochron {
namespace {

int64_t now_ns = 0;
int64_t fake_clock() { return now_ns; }
void pass(double seconds) { now_ns += static_cast<int64_t>(seconds * 1e9); }

// A training as fit tells of it: the rehearsal may end it after any step.
struct FakeFit {
  int epochs, steps;
  double first_step, step, beside;
  void run(Rehearsal& rehearsal) const {
    bool enough = false;
    for (int e = 0; e < epochs && !enough; ++e) {
      rehearsal.epoch_begins();
      pass(beside / 2);
      rehearsal.steps_begin();
      for (int s = 0; s < steps && !enough; ++s) {
        pass(e == 0 && s == 0 ? first_step : step);
        enough = rehearsal.step_done();
      }
      pass(beside / 2);
      rehearsal.epoch_ends();
    }
    rehearsal.training_ends();
  }
};

TEST(MiddleOf, LiesBetweenTheSpeeds) {
  EXPECT_EQ(middle_of({}), 0);
  EXPECT_DOUBLE_EQ(middle_of({2}), 2);
  // 1/s and 1/1.5 s have the mean 5/6 s.
  EXPECT_DOUBLE_EQ(middle_of({1, 1, 1, 1, 1, 1, 1, 1.5, 1.5, 1.5}), 1.2);
  // One of ten is an accident, and more than 1.8x is not the machine's own speed.
  EXPECT_DOUBLE_EQ(middle_of({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 9}), 1);
  EXPECT_DOUBLE_EQ(middle_of({1, 9}), 2 * 1.8 / 2.8);
}

TEST(Rehearsal, ShortTrainingsAreRepeated) {
  const FakeFit fit{.epochs = 5, .steps = 10, .first_step = 0.1, .step = 1e-3, .beside = 2e-3};
  now_ns = 0;
  Rehearsal rehearsal(10, fake_clock);
  int trainings = 0;
  for (; !rehearsal.over(); ++trainings) fit.run(rehearsal);
  // One takes 0.159 s; the one under way when ten times that is over is cut short.
  EXPECT_EQ(trainings, 10);
  EXPECT_NEAR(rehearsal.epoch_seconds(), 0.012, 1e-9);
  EXPECT_NEAR(rehearsal.step_seconds(), 1e-3, 1e-9);
}

TEST(Rehearsal, MeetsTheMiddleOfTwoSpeeds) {
  FakeFit fit{.epochs = 4, .steps = 5, .first_step = 1e-3, .step = 1e-3, .beside = 0};
  now_ns = 0;
  Rehearsal rehearsal(5, fake_clock);
  for (int i = 0; !rehearsal.over(); ++i) {
    fit.step = i % 3 == 2 ? 1.5e-3 : 1e-3;
    fit.run(rehearsal);
  }
  EXPECT_NEAR(rehearsal.epoch_seconds(), 5 * 1.2e-3, 1e-9);
}

TEST(Rehearsal, OfVeryShortTrainingsTheLastOnesCount) {
  FakeFit fit{.epochs = 4, .steps = 1, .first_step = 2e-4, .step = 2e-4, .beside = 0};
  now_ns = 0;
  Rehearsal rehearsal(1, fake_clock);
  for (; !rehearsal.over(); fit.run(rehearsal))
    if (now_ns > 50'000'000) fit.step = 1e-4;
  EXPECT_NEAR(rehearsal.epoch_seconds(), 1e-4, 1e-9);
}

TEST(Rehearsal, ALongEpochIsJudgedByItsSteps) {
  const FakeFit fit{.epochs = 100, .steps = 100'000, .first_step = 0.5, .step = 0.02, .beside = 0.3};
  now_ns = 0;
  Rehearsal rehearsal(100'000.5, fake_clock);
  fit.run(rehearsal);
  EXPECT_TRUE(rehearsal.over());
  EXPECT_LT(now_ns, 3'000'000'000);
  EXPECT_NEAR(rehearsal.step_seconds(), 0.02, 1e-9);
  EXPECT_NEAR(rehearsal.epoch_seconds(), 100'000.5 * 0.02 + 0.3, 1e-3);
}

TEST(Rehearsal, SlowStepsAreSeenMoreThanOnce) {
  const FakeFit fit{.epochs = 2, .steps = 10, .first_step = 60, .step = 30, .beside = 0};
  now_ns = 0;
  Rehearsal rehearsal(0, fake_clock);
  fit.run(rehearsal);
  EXPECT_EQ(now_ns, 150'000'000'000);  // three after the first
  EXPECT_NEAR(rehearsal.step_seconds(), 30, 1e-9);
  EXPECT_EQ(rehearsal.epoch_seconds(), 0);
}

}  // namespace
}  // namespace isochron
