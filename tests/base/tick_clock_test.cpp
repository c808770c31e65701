#include "isochron/base/tick_clock.h"

#include <gtest/gtest.h>
#include <time.h>

#include <cstdlib>
#include <utility>

#include "isochron/base/clock.h"

namespace isochron {
namespace {

// A machine whose time passes only when told to, with a counter of three ticks a nanosecond.
struct Machine {
  static inline int64_t now = 0;
  static inline uint64_t counter = 0;
  static inline int asked = 0;
  static inline bool reliable = true;
  static inline int64_t interruption = 0;  // behind the next reading of the clock

  static uint64_t ticks() { return counter; }
  static int64_t ns() {
    ++asked;
    const int64_t read = now;
    pass(std::exchange(interruption, 0));
    return read;
  }
  static bool trusted() { return reliable; }

  static void pass(int64_t ns, double ticks_a_ns = 3) {
    now += ns;
    counter += static_cast<uint64_t>(static_cast<double>(ns) * ticks_a_ns);
  }
};

constexpr int64_t kMs = 1'000'000;

class TickClockTest : public ::testing::Test {
 protected:
  TickClockTest() {
    Machine::now = 5'000 * kMs;
    Machine::counter = uint64_t{1} << 50;
    Machine::reliable = true;
  }
  // Looks every 10 us for so long, and expects it to be right.
  void run(int64_t ns, double ticks_a_ns = 3, int64_t error = 10) {
    for (int64_t passed = 0; passed < ns; passed += 10'000) {
      Machine::pass(10'000, ticks_a_ns);
      EXPECT_LE(std::abs(look() - Machine::now), error);
    }
  }
  int64_t look() {
    const int64_t told = clock_.now_ns();
    EXPECT_GE(told, last_);
    return last_ = told;
  }
  // How often the kernel is asked in 100 looks.
  int asks() {
    const int before = Machine::asked;
    run(1 * kMs);
    return Machine::asked - before;
  }

  TickClock<Machine> clock_;
  int64_t last_ = 0;
};

TEST_F(TickClockTest, AsksTheKernelSeldomOnceTicksAreKnown) {
  run(5 * kMs);
  EXPECT_GE(asks(), 100);  // nobody knows yet how long a tick is
  run(30 * kMs);
  EXPECT_LE(asks(), 4);
}

TEST_F(TickClockTest, IsRightAfterSleepingLong) {
  run(50 * kMs);
  Machine::pass(3'600'000 * kMs);
  EXPECT_EQ(look(), Machine::now);
  run(50 * kMs);
}

TEST_F(TickClockTest, IsRightWhenOthersGetTheCpuWhileItLooks) {
  run(50 * kMs);
  for (int i = 0; i < 20; ++i) {
    Machine::interruption = 7 * kMs;
    while (Machine::interruption != 0) Machine::pass(10'000), look();
    run(1 * kMs);
  }
}

TEST_F(TickClockTest, OutlivesACounterThatGoesBack) {
  run(50 * kMs);
  Machine::counter = 17;
  // What was told may have been the end of a window; it waits there.
  EXPECT_LE(look() - Machine::now, 10 * kMs);
  for (int i = 0; i < 1000; ++i) Machine::pass(10'000), look();
  run(50 * kMs);
  EXPECT_LE(asks(), 4);
}

TEST_F(TickClockTest, OutlivesACounterThatJumpsAhead) {
  run(50 * kMs);
  Machine::counter += uint64_t{1} << 40;
  EXPECT_LE(look() - Machine::now, 10 * kMs);
  for (int i = 0; i < 1000; ++i) Machine::pass(10'000), look();
  run(50 * kMs);
  EXPECT_LE(asks(), 4);
}

TEST_F(TickClockTest, OutlivesACounterThatStandsStill) {
  run(50 * kMs);
  Machine::pass(1'000 * kMs, 0);  // the counter slept with the machine, the clock did not
  run(5 * kMs, 3, 1'000 * kMs);   // which shows at the next look
  for (int i = 0; i < 1000; ++i) Machine::pass(10'000), look();
  run(50 * kMs);
}

TEST_F(TickClockTest, FollowsAnotherPace) {
  run(50 * kMs);
  for (int i = 0; i < 3000; ++i) Machine::pass(10'000, 2), look();  // a slower host
  run(50 * kMs, 2);
  const int before = Machine::asked;
  run(1 * kMs, 2);
  EXPECT_LE(Machine::asked - before, 4);
}

TEST_F(TickClockTest, GoesByTheKernelAloneWhereTicksAreNotTrusted) {
  Machine::reliable = false;
  run(50 * kMs);
  EXPECT_GE(asks(), 100);
}

TEST(Clock, IsTheKernelsMonotonicClock) {
  const auto kernel_ns = [] {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  };
  // The kernel may run its clock a two-thousandth faster or slower than ticks, for the 10 ms between two looks.
  constexpr int64_t kSlew = 10 * kMs / 2000 + 1000;
  const int64_t begin = kernel_ns();
  int64_t last = 0;
  while (kernel_ns() - begin < 100 * kMs) {
    const int64_t before = kernel_ns(), told = monotonic_ns(), after = kernel_ns();
    EXPECT_GE(told, before - kSlew);
    EXPECT_LE(told, after + kSlew);
    EXPECT_GE(told, last);
    last = told;
  }
}

}  // namespace
}  // namespace isochron
