#include "isochron/observe/stack_scan.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "isochron/observe/elf_symbols.h"

namespace isochron::observe {
namespace {

int always_less(const void*, const void*) {
  while (true) pause();
}

TEST(StackScan, StackPointersOfTheKernelsFormats) {
  EXPECT_EQ(sleeping_stack_pointer("202 0x7f 0x80 0x0 0x0 0x0 0x0 0x7ffcb93b06c8 0x7f892ef672ad\n"), 0x7ffcb93b06c8u);
  EXPECT_EQ(sleeping_stack_pointer("-1 0x7ffcb93b06c8 0x7f892ef672ad\n"), 0x7ffcb93b06c8u);
  EXPECT_FALSE(sleeping_stack_pointer("running\n"));
  EXPECT_FALSE(sleeping_stack_pointer(""));
}

TEST(StackScan, SeesThroughWhichFunctionASleeperWasCalled) {
  const int pid = fork();
  if (pid == 0) {
    int numbers[64] = {};
    std::qsort(numbers, 64, sizeof(int), always_less);  // sleeps inside the first comparison
    _exit(0);
  }
  usleep(100000);
  auto scanner = StackScanner::find(pid, "libc.so.6", {"qsort_r", "printf"});
  ASSERT_TRUE(scanner);
  EXPECT_EQ(scanner->look(), (std::set<std::string>{"qsort_r"}));
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

volatile sig_atomic_t woken = 0;

int less_when_woken(const void*, const void*) {
  while (!woken) usleep(1000000);
  return 0;
}

TEST(StackScan, ALongSleepersAwakeningIsSeenAFewLooksLater) {
  const int pid = fork();
  if (pid == 0) {
    signal(SIGUSR1, [](int) { woken = 1; });
    int numbers[2] = {};
    std::qsort(numbers, 2, sizeof(int), less_when_woken);
    while (true) pause();
  }
  usleep(100000);
  auto scanner = StackScanner::find(pid, "libc.so.6", {"qsort_r"});
  ASSERT_TRUE(scanner);
  const std::set<std::string> sleeps{"qsort_r"};
  for (int i = 0; i < 60; ++i) EXPECT_EQ(scanner->look(), sleeps);
  kill(pid, SIGUSR1);
  usleep(100000);
  int looks = 0;
  while (looks < 10 && scanner->look() == sleeps) ++looks;
  EXPECT_LT(looks, 5);
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

TEST(StackScan, SymbolsAreFoundWhereTheLoaderPutThem) {
  for (const MappedFile& file : mapped_files(getpid())) {
    if (file.path.find("libc.so.6") == std::string::npos) continue;
    const auto symbols = exported_symbols(file, {"qsort", "no_such_function"});
    ASSERT_EQ(symbols.size(), 1u);
    EXPECT_EQ(symbols.at("qsort").begin, reinterpret_cast<uint64_t>(&std::qsort));
    return;
  }
  FAIL() << "no C library is mapped";
}

TEST(StackScan, WithoutTheLibraryThereIsNoScanner) {
  EXPECT_FALSE(StackScanner::find(getpid(), "libtensorflow_cc.so", {"x"}));
  EXPECT_FALSE(StackScanner::find(getpid(), "libc.so.6", {"no_such_function"}));
}

}  // namespace
}  // namespace isochron::observe
