#include "isochron/observe/process_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "isochron/base/clock.h"

namespace isochron::observe {
namespace {

// A child that runs `body` and then waits to be killed.
class Helper {
 public:
  template <class F>
  explicit Helper(F body) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    pid_ = fork();
    if (pid_ == 0) {
      body();
      [[maybe_unused]] ssize_t n = write(ready[1], "x", 1);
      while (true) pause();
    }
    char byte;
    [[maybe_unused]] ssize_t n = read(ready[0], &byte, 1);
    close(ready[0]);
    close(ready[1]);
  }
  ~Helper() { end(); }
  int pid() const { return pid_; }
  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  int pid_;
};

void burn(double seconds) {
  timespec used{};
  do {
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  } while (static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9 < seconds);
}

TEST(ProcessTree, CountsCpuAndMemoryOfADescendant) {
  const size_t megabytes = 40;
  Helper helper([&] {
    burn(0.2);
    volatile char* memory = new char[megabytes << 20];
    for (size_t i = 0; i < megabytes << 20; i += 4096) memory[i] = 1;
  });
  ProcessTree tree(getpid());
  tree.update(0, ProcessTree::Detail::threads);
  ASSERT_TRUE(tree.contains(helper.pid()));
  const ProcessReading& process = tree.alive().at(helper.pid());
  EXPECT_EQ(process.parent, getpid());
  EXPECT_GE(process.counters.cpu_seconds, 0.19);
  EXPECT_GE(process.rss_bytes, static_cast<double>(megabytes << 20));
  ASSERT_EQ(process.thread_list.size(), 1u);
  EXPECT_GE(process.thread_list[0].cpu_seconds, 0.19);
}

TEST(ProcessTree, WhatEndedProcessesUsedStaysInTheTotals) {
  Helper helper([] { burn(0.2); });
  ProcessTree tree(helper.pid());
  tree.update(1, ProcessTree::Detail::processes);
  const double before = tree.totals().cpu_seconds;
  EXPECT_GE(before, 0.19);
  const int pid = helper.pid();
  helper.end();
  tree.update(2, ProcessTree::Detail::processes);
  EXPECT_TRUE(tree.alive().empty());
  EXPECT_GE(tree.totals().cpu_seconds, before);
  const auto events = tree.take_events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, ProcessEvent::Kind::started);
  EXPECT_EQ(events[1].kind, ProcessEvent::Kind::ended);
  EXPECT_EQ(events[1].process.pid, pid);
  EXPECT_EQ(events[1].time, 2);
}

TEST(ProcessTree, CountsWhatIsWritten) {
  Helper helper([] {
    const int fd = open("/dev/null", O_WRONLY);
    const std::string block(1 << 20, 'x');
    for (int i = 0; i < 3; ++i) [[maybe_unused]] ssize_t n = write(fd, block.data(), block.size());
  });
  ProcessTree tree(helper.pid());
  tree.update(0, ProcessTree::Detail::processes);
  EXPECT_GE(tree.totals().write_chars, 3 << 20);
  EXPECT_LT(tree.totals().write_chars, 4 << 20);
}

}  // namespace
}  // namespace isochron::observe
