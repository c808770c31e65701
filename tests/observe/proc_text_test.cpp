#include "isochron/observe/proc_text.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "isochron/observe/elf_symbols.h"
#include "isochron/observe/float_probe.h"

namespace isochron::observe {

TEST(ProcText, StatSurvivesBracketsAndSpacesInTheName) {
  const auto stat = parse_process_stat(
      "4242 (a) b (c)) S 17 4240 3538 0 -1 4194304 127 0 9 0 250 50 0 0 20 0 12 0 103324 3133440 381 184467440737 1");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->pid, 4242);
  EXPECT_EQ(stat->name, "a) b (c)");
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->parent, 17);
  EXPECT_EQ(stat->minor_faults, 127);
  EXPECT_EQ(stat->major_faults, 9);
  EXPECT_EQ(stat->user_ticks, 250);
  EXPECT_EQ(stat->system_ticks, 50);
  EXPECT_EQ(stat->threads, 12);
  EXPECT_EQ(stat->start_ticks, 103324);
  EXPECT_EQ(stat->rss_pages, 381);
}

TEST(ProcText, NonsenseIsRefused) {
  EXPECT_FALSE(parse_process_stat(""));
  EXPECT_FALSE(parse_process_stat(")("));
  EXPECT_FALSE(parse_process_stat("12 (cut off)"));
  EXPECT_FALSE(parse_machine_ticks("intr 5"));
  EXPECT_FALSE(parse_pressure_total("some avg10=0.00", "some"));
  EXPECT_FALSE(value_after("VmRSS: many kB", "VmRSS:"));
}

TEST(ProcText, KeysCountOnlyAtLineStarts) {
  const char text[] = "nonvoluntary_ctxt_switches:\t7\nvoluntary_ctxt_switches:\t3\n";
  EXPECT_EQ(value_after(text, "voluntary_ctxt_switches:"), 3);
  EXPECT_EQ(value_after(text, "nonvoluntary_ctxt_switches:"), 7);
  EXPECT_FALSE(value_after(text, "ctxt_switches:"));
}

TEST(ProcText, MachineTicksLeaveWaitingOut) {
  const auto ticks = parse_machine_ticks("cpu  100 5 50 1000 30 2 3 8 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n");
  ASSERT_TRUE(ticks);
  EXPECT_EQ(ticks->busy, 160);
  EXPECT_EQ(ticks->idle, 1000);
  EXPECT_EQ(ticks->iowait, 30);
  EXPECT_EQ(ticks->steal, 8);
}

TEST(ProcText, PressureIsInSeconds) {
  const char text[] =
      "some avg10=0.00 avg60=0.56 avg300=1.26 total=15948563\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=2000000\n";
  EXPECT_DOUBLE_EQ(*parse_pressure_total(text, "some"), 15.948563);
  EXPECT_DOUBLE_EQ(*parse_pressure_total(text, "full"), 2.0);
}

TEST(ProcText, CgroupPathsOfBothVersions) {
  const char text[] = "5:devices:/\n4:memory:/job/7\n3:cpu,cpuacct:/ml\n0::/user.slice\n";
  EXPECT_EQ(parse_cgroup_path(text, "memory"), "/job/7");
  EXPECT_EQ(parse_cgroup_path(text, "cpu"), "/ml");
  EXPECT_EQ(parse_cgroup_path(text, ""), "/user.slice");
  EXPECT_FALSE(parse_cgroup_path(text, "io"));
}

TEST(ProcText, CommandLineKeepsEmptyWords) {
  using std::literals::operator""sv;
  EXPECT_EQ(split_command_line("python\0-c\0\0x y\0"sv), (std::vector<std::string>{"python", "-c", "", "x y"}));
}

TEST(ProcText, MappedFilesAreListedOnceAtTheirLowestAddress) {
  const auto files = parse_mapped_files(
      "7f00-7f10 r--p 00001000 fe:00 12   /usr/lib/libpython3.11.so.1.0\n"
      "7f10-7f20 r-xp 00002000 fe:00 12   /usr/lib/libpython3.11.so.1.0\n"
      "8000-9000 rw-p 00000000 00:00 0    [heap]\n"
      "9000-a000 r--p 00000000 fe:00 13   /a b/c\n");
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].start, 0x7f00u);
  EXPECT_EQ(files[0].offset, 0x1000u);
  EXPECT_EQ(files[1].path, "/a b/c");
}

TEST(FloatProbe, TakesMemoryThatIsWrittenAndNoFileOrStack) {
  const auto ranges = written_ranges(
      "5581a0000000-5581a0400000 rw-p 00000000 00:00 0                          [heap]\n"
      "7f3a40000000-7f3a44000000 rw-p 00000000 00:00 0 \n"
      "7f3a50000000-7f3a54000000 ---p 00000000 00:00 0 \n"
      "7f3a60000000-7f3a64000000 rw-p 00000000 08:01 1234                       /lib/libtorch.so\n"
      "7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0                          [stack]\n"
      "nonsense\n");
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].begin, 0x5581a0000000u);
  EXPECT_EQ(ranges[1].end, 0x7f3a44000000u);
}

TEST(FloatProbe, SeesNumbersBecomeTiny) {
  std::vector<float> numbers(16 << 20, 1.0f);
  FloatProbe probe(getpid());
  const auto before = probe.subnormal_share(1e9);
  ASSERT_TRUE(before);
  std::fill(numbers.begin(), numbers.end(), 2e-41f);
  const auto after = probe.subnormal_share(1e9);
  ASSERT_TRUE(after);
  EXPECT_GT(*after, *before + 0.2);
}

TEST(FloatProbe, LooksForOtherPlacesWhenMemoryGrowsAndNowAndThen) {
  std::vector<float> numbers(16 << 20, 1.0f);
  FloatProbe probe(getpid());
  for (int look = 0; look < 4; ++look) probe.subnormal_share(1e9 + 1e6 * look);
  EXPECT_EQ(probe.searches(), 1);
  const std::vector<float> more(64 << 20, 2e-41f);
  const auto grown = probe.subnormal_share(1.25e9);
  EXPECT_EQ(probe.searches(), 2);
  ASSERT_TRUE(grown);
  EXPECT_GT(*grown, 0.5);
  for (int look = 0; look < 8; ++look) probe.subnormal_share(1.25e9);
  EXPECT_EQ(probe.searches(), 3);
}

}  // namespace isochron::observe
