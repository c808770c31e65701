#include "isochron/exec/team_choice.h"

#include <gtest/gtest.h>

namespace isochron {
namespace {

constexpr int kLook = 5;  // runs with fewer threads, now and then

// Runs of a plan on a simulated machine of 2 CPUs: its time by number of threads, and a clock.
struct Machine {
  double alone_us = 200, together_us = 115;
  int64_t now = 0;
  int64_t runs_alone = 0, runs_together = 0;

  void run(TeamChoice& choice, int runs) {
    for (int i = 0; i < runs; ++i) {
      const int threads = choice.threads(2, now);
      (threads == 1 ? runs_alone : runs_together)++;
      const auto duration = static_cast<int64_t>((threads == 1 ? alone_us : together_us) * 1e3);
      now += duration;
      choice.ran(duration, now);
    }
  }
  void forget() { runs_alone = runs_together = 0; }
};

TEST(TeamChoice, AFreeMachineUsesAllThreads) {
  TeamChoice choice;
  Machine machine;
  machine.run(choice, 10000);
  EXPECT_LE(machine.runs_alone, 3 * kLook) << "but for a look or three";
}

TEST(TeamChoice, LongRunsAreNotSpentOnLooks) {
  TeamChoice choice;
  Machine machine{.alone_us = 20000, .together_us = 11500};
  machine.run(choice, 10000);
  EXPECT_EQ(machine.runs_alone, 0);
}

TEST(TeamChoice, AMachineCrowdedFromTheStartIsLeftToOneThread) {
  TeamChoice choice;
  Machine machine{.alone_us = 55, .together_us = 520};
  machine.run(choice, 100);
  machine.forget();
  machine.run(choice, 1000);
  EXPECT_LT(machine.runs_together, 20);
}

TEST(TeamChoice, ACrowdedMachineIsLeftToOneThreadAndTakenBackWhenFree) {
  TeamChoice choice;
  Machine machine;
  machine.run(choice, 100);
  machine.together_us = 3000;
  machine.run(choice, 20);
  EXPECT_GT(machine.runs_alone, 0) << "tried at once";
  machine.forget();
  machine.run(choice, 10000);
  EXPECT_LT(machine.runs_together, 30) << "tried ever more rarely while it fails";
  machine.together_us = 115;
  machine.run(choice, 10000);
  machine.forget();
  machine.run(choice, 1000);
  EXPECT_LE(machine.runs_alone, kLook) << "back to all threads";
}

TEST(TeamChoice, OneSlowRunChangesNothing) {
  TeamChoice choice;
  Machine machine;
  for (int i = 0; i < 100; ++i) {
    machine.together_us = 115;
    machine.run(choice, 50);
    machine.together_us = 1000;
    machine.run(choice, 1);
  }
  EXPECT_LE(machine.runs_alone, 3 * kLook);
}

TEST(TeamChoice, ASlowStartOrALongPauseChangesNothing) {
  TeamChoice choice;
  Machine machine;
  machine.together_us = 2000;
  machine.run(choice, 3);
  machine.together_us = 115;
  machine.run(choice, 50);
  machine.together_us = 40000;
  machine.run(choice, 1);
  machine.together_us = 115;
  machine.run(choice, 50);
  EXPECT_LE(machine.runs_alone, kLook);
}

TEST(TeamChoice, FewerThreadsThatAreNoFasterAreNotKept) {
  TeamChoice choice;
  Machine machine;
  machine.run(choice, 100);
  machine.together_us = 1000;
  machine.alone_us = 2000;
  machine.forget();
  machine.run(choice, 5000);
  EXPECT_LT(machine.runs_alone, 60);
}

TEST(TeamChoice, ANewSizeOfTheTeamStartsAfresh) {
  TeamChoice choice;
  EXPECT_EQ(choice.threads(8, 0), 8);
  choice.ran(1000, 1000);
  EXPECT_EQ(choice.threads(3, 2000), 3);
  EXPECT_EQ(choice.threads(1, 3000), 1);
}

TEST(TeamChoice, LargeTeamsAreHalvedStepByStep) {
  TeamChoice choice;
  int64_t now = 0;
  // Every thread above 2 meets another process.
  const auto run = [&](bool crowded) {
    const int threads = choice.threads(8, now);
    const int64_t duration = 800'000 / threads * (crowded && threads > 2 ? 20 : 1);
    now += duration;
    choice.ran(duration, now);
    return threads;
  };
  for (int i = 0; i < 50; ++i) run(false);
  for (int i = 0; i < 2000; ++i) run(true);
  int at_two = 0;
  for (int i = 0; i < 100; ++i) at_two += run(true) == 2;
  EXPECT_GT(at_two, 80);
}

}  // namespace
}  // namespace isochron
