#include "isochron/readers/scan.h"

#include <gtest/gtest.h>

#include "isochron/readers/timestamp.h"

namespace isochron {
namespace {

double duration(std::string_view text) {
  Scanner scan(text);
  const auto time = scan.duration();
  return time ? time->value : -1;
}

TEST(Scanner, Durations) {
  EXPECT_DOUBLE_EQ(duration("36s"), 36);
  EXPECT_DOUBLE_EQ(duration("92ms/step"), 0.092);
  EXPECT_DOUBLE_EQ(duration("10754ms"), 10.754);
  EXPECT_DOUBLE_EQ(duration("1h 2m 3.5s"), 3723.5);
  EXPECT_DOUBLE_EQ(duration("1h2m"), 3720);
  EXPECT_DOUBLE_EQ(duration("02:17"), 137);
  EXPECT_DOUBLE_EQ(duration("1:30:29"), 5429);
  EXPECT_DOUBLE_EQ(duration("1 day, 1:32:11"), 91931);
  EXPECT_DOUBLE_EQ(duration("5 minutes and 12.25 seconds"), 312.25);
  EXPECT_DOUBLE_EQ(duration("0.123 hours."), 442.8);
  EXPECT_DOUBLE_EQ(duration("2'08\""), 128);
  EXPECT_DOUBLE_EQ(duration("80.5\","), 80.5);
  EXPECT_DOUBLE_EQ(duration("PT1M30.5S"), 90.5);
  EXPECT_DOUBLE_EQ(duration("5 steps"), -1);
  EXPECT_DOUBLE_EQ(duration("5"), -1);
  EXPECT_DOUBLE_EQ(duration("5.66G"), -1);
  EXPECT_DOUBLE_EQ(duration("12:61"), -1);
}

TEST(Scanner, DurationsKnowTheirPrecision) {
  Scanner seconds("3.50s");
  EXPECT_NEAR(seconds.duration()->width(), 0.01, 1e-12);
  Scanner clock("0:12");
  EXPECT_DOUBLE_EQ(clock.duration()->high, 13);
  Scanner both("5 minutes 12.3 s");
  EXPECT_NEAR(both.duration()->width(), 0.1, 1e-9);
}

double stamp(std::string_view line) {
  const auto found = find_timestamp(line);
  return found ? found->seconds : -1;
}

TEST(Timestamp, Forms) {
  EXPECT_DOUBLE_EQ(stamp("2021-07-29 15:03:44,746:INFO: x"), 1627571024.746);
  EXPECT_DOUBLE_EQ(stamp("[2021-07-29T15:03:44Z] x"), 1627571024);
  EXPECT_DOUBLE_EQ(stamp("07/29/2021 15:03:44 - INFO - x"), 1627571024);
  EXPECT_DOUBLE_EQ(stamp("[host] 2021/07/29 15:03:44 x"), 1627571024);
  EXPECT_DOUBLE_EQ(stamp("I0000 00:00:1627571024.025680   17008 cpu.cc:1] x"), 1627571024.02568);
  EXPECT_DOUBLE_EQ(stamp("1627571024.25 step 3"), 1627571024.25);
  EXPECT_DOUBLE_EQ(stamp("[22:11:01] epoch 1"), 22 * 3600 + 11 * 60 + 1);
  EXPECT_DOUBLE_EQ(stamp("[08/19 07:12:44 d2.utils.events]: x"), stamp("I0819 07:12:44.000 1 x] y"));
  EXPECT_DOUBLE_EQ(stamp("epoch 1 took 00:12:44"), -1);
  EXPECT_DOUBLE_EQ(stamp("9999-99-99 99:99:99 x"), -1);
}

TEST(Timestamp, ClockPassesMidnightAndLeavesOutNonsense) {
  StampClock clock;
  const auto at = [&](const char* line) { return clock.unfold(*find_timestamp(line)); };
  const double before = *at("[23:59:50] a");
  EXPECT_DOUBLE_EQ(*at("[00:00:10] b") - before, 20);
  StampClock dates;
  const auto date = [&](const char* line) { return dates.unfold(*find_timestamp(line)); };
  const double first = *date("2021-07-29 15:00:00 a");
  EXPECT_FALSE(date("2199-07-29 15:00:00 b"));
  EXPECT_DOUBLE_EQ(*date("2021-07-29 15:00:05 c") - first, 5);
}

}  // namespace
}  // namespace isochron
