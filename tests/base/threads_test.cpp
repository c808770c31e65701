#include "isochron/base/threads.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>

#include <atomic>
#include <cfloat>
#include <cstdlib>
#include <thread>
#include <vector>

#include "isochron/base/clock.h"
#include "isochron/base/error.h"
#include "isochron/base/flush_denormals.h"

#if defined(__SANITIZE_THREAD__)
// The fork test starts threads in a child of a multi-threaded process, which is what it is about.
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }
#endif

namespace isochron {
namespace {

// Every test leaves the team as it found it.
class Threads : public ::testing::Test {
 protected:
  ThreadTeam& team = ThreadTeam::global();
  int before = team.size();
  ~Threads() override { team.resize(before); }
};

TEST_F(Threads, EveryThreadRunsOnceAndTheCallerIsThreadZero) {
  team.resize(4);
  for (int threads : {1, 2, 4, 3}) {
    std::vector<int> calls(4, 0);
    std::thread::id zero;
    team.parallel(threads, [&](int thread, int of) {
      EXPECT_EQ(of, threads);
      ++calls[thread];
      if (thread == 0) zero = std::this_thread::get_id();
    });
    EXPECT_EQ(zero, std::this_thread::get_id());
    for (int i = 0; i < 4; ++i) EXPECT_EQ(calls[i], i < threads ? 1 : 0) << i << " of " << threads;
  }
}

TEST_F(Threads, RunTakesNoMoreThreadsThanTheTeamHas) {
  team.resize(2);
  int seen = 0;
  team.parallel(8, [&](int thread, int threads) {
    if (thread == 0) seen = threads;
  });
  EXPECT_EQ(seen, 2);
}

// Plain (not atomic) writes, so that a thread sanitizer sees any missing ordering.
TEST_F(Threads, BarrierMakesWritesVisibleOverManyRounds) {
  team.resize(4);
  constexpr int kRounds = 3000;
  for (int threads : {2, 3, 4}) {
    std::vector<long> cells(threads, 0), wrong(threads, 0);
    team.parallel(threads, [&](int thread, int of) {
      for (long round = 1; round <= kRounds; ++round) {
        cells[thread] = round;
        team.barrier();
        for (int i = 0; i < of; ++i) wrong[thread] += cells[i] != round;
        team.barrier();
      }
    });
    for (int i = 0; i < threads; ++i) EXPECT_EQ(wrong[i], 0);
  }
}

TEST_F(Threads, ManyJobsOfChangingWidthWithSleepsBetween) {
  team.resize(4);
  long total = 0, expected = 0;
  for (int job = 0; job < 2000; ++job) {
    const int threads = 1 + job % 4;
    std::vector<long> part(threads, 0);
    team.parallel(threads, [&](int thread, int) { part[thread] = job; });
    for (long p : part) total += p;
    expected += long{job} * threads;
    if (job % 200 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));  // workers fall asleep
  }
  EXPECT_EQ(total, expected);
}

TEST_F(Threads, ResizingWhileInUseByAnotherThread) {
  std::atomic<bool> stop{false};
  std::thread user([&] {
    while (!stop) team.parallel(4, [](int, int) {});
  });
  for (int i = 0; i < 50; ++i) team.resize(1 + i % 4);
  stop = true;
  user.join();
  EXPECT_EQ(team.size(), 1 + 49 % 4);
}

TEST_F(Threads, NestedRunsUseOneThread) {
  team.resize(2);
  std::atomic<int> inner{0};
  team.parallel(2, [&](int, int) {
    team.parallel(2, [&](int thread, int threads) {
      EXPECT_EQ(thread, 0);
      EXPECT_EQ(threads, 1);
      team.barrier();  // of one thread: returns at once
      ++inner;
    });
    EXPECT_THROW(team.resize(3), StateError);
    team.barrier();
  });
  EXPECT_EQ(inner, 2);
}

TEST_F(Threads, ConcurrentUserThreadsBothComplete) {
  team.resize(2);
  std::atomic<long> total{0};
  const auto use = [&] {
    for (int i = 0; i < 500; ++i)
      team.parallel(2, [&](int thread, int threads) {
        team.barrier();
        total += thread == 0 ? 1 : 0;
        EXPECT_LE(threads, 2);
      });
  };
  std::thread a(use), b(use);
  a.join();
  b.join();
  EXPECT_EQ(total, 1000);
}

TEST_F(Threads, FirstExceptionArrivesAfterAllHaveFinished) {
  team.resize(3);
  for (int thrower : {0, 1, 2}) {
    std::atomic<int> finished{0};
    try {
      team.parallel(3, [&](int thread, int) {
        if (thread == thrower) fail<ValueError>("test", "thread {}", thread);
        team.barrier();  // must not wait for the one that left
        team.barrier();
        ++finished;
      });
      FAIL() << "nothing thrown";
    } catch (const ValueError& e) {
      EXPECT_EQ(e.what(), "[test] thread " + std::to_string(thrower));
    }
    EXPECT_EQ(finished, 2);
  }
  int after = 0;
  team.parallel(1, [&](int, int) { ++after; });
  EXPECT_EQ(after, 1);
}

float smallest_half() {
  volatile float smallest = FLT_MIN;
  return smallest * 0.5f;
}

TEST_F(Threads, DenormalsAreFlushedInsideAndRestoredOutside) {
  team.resize(2);
  ASSERT_GT(smallest_half(), 0.0f);
  float inside[2] = {1, 1};
  team.parallel(2, [&](int thread, int) { inside[thread] = smallest_half(); });
  EXPECT_EQ(inside[0], 0.0f);
  EXPECT_EQ(inside[1], 0.0f);
  EXPECT_GT(smallest_half(), 0.0f);
  {
    FlushDenormals flush;
    EXPECT_EQ(smallest_half(), 0.0f);
  }
  EXPECT_GT(smallest_half(), 0.0f);
}

TEST_F(Threads, SizeOutsideTheRangeIsRefused) {
  EXPECT_THROW(set_num_threads(0), ValueError);
  EXPECT_THROW(set_num_threads(1025), ValueError);
  set_num_threads(3);
  EXPECT_EQ(get_num_threads(), 3);
}

TEST_F(Threads, AForkedChildGetsAFreshTeam) {
  team.resize(2);
  team.parallel(2, [](int, int) {});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int calls[2] = {0, 0};
    team.parallel(2, [&](int thread, int) {
      ++calls[thread];
      team.barrier();
    });
    _exit(calls[0] == 1 && calls[1] == 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// The default is decided once per process, so each case is a process of its own.
std::string default_size_with(const char* omp_num_threads) {
  int fds[2];
  if (pipe(fds) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    dup2(fds[1], STDOUT_FILENO);
    setenv("OMP_NUM_THREADS", omp_num_threads, 1);
    execl(ISOCHRON_THREADS_PROBE, ISOCHRON_THREADS_PROBE, nullptr);
    _exit(127);
  }
  close(fds[1]);
  std::string text;
  char buffer[256];
  for (ssize_t n; (n = read(fds[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(n));
  close(fds[0]);
  waitpid(child, nullptr, 0);
  return text;
}

TEST(ThreadsDefault, ComesFromOmpNumThreads) {
  EXPECT_EQ(default_size_with("3"), "3");
  EXPECT_EQ(default_size_with("5,2"), "5");
  EXPECT_EQ(default_size_with(""), std::to_string(available_cpus()));
  for (const char* bad : {"0", "-1", "two", "2x", "99999", "1e3", " "})
    EXPECT_EQ(default_size_with(bad),
              "[OMP_NUM_THREADS] the number of threads must be from 1 to 1024, got \"" + std::string(bad) + "\"");
}

// Where the scheduler has put both on one CPU it leaves them there for up to 15 ms: each sleeps while the other runs.
TEST(ThreadTeam, AWorkerDoesNotStayOnItsCallersCpu) {
  if (available_cpus() < 2) return;  // nowhere to go
  constexpr int kRounds = 15, kRuns = 5;
  ThreadTeam& team = ThreadTeam::global();
  std::vector<int> together;
  for (int round = 0; round < kRounds; ++round) {
    // Threads part no more often than every 4 ms, and may have done so by themselves just before.
    for (const int64_t end = monotonic_ns() + 5'000'000 + 700'000 * round; monotonic_ns() < end;)
      team.parallel(2, [](int, int) {});
    const int caller = sched_getcpu();
    team.parallel(2, [&](int thread, int) {
      if (thread != 1) return;
      cpu_set_t all, one;
      sched_getaffinity(0, sizeof all, &all);
      CPU_ZERO(&one);
      CPU_SET(caller, &one);
      sched_setaffinity(0, sizeof one, &one);
      sched_setaffinity(0, sizeof all, &all);
    });
    int same = 0;
    for (int run = 0; run < kRuns; ++run) {
      std::atomic<int> cpus[2];
      team.parallel(2, [&](int thread, int) {
        volatile double x = 1;
        for (int i = 0; i < 20'000; ++i) x = x * 1.0000001;
        cpus[thread] = sched_getcpu();
      });
      same += cpus[0] == cpus[1];
    }
    together.push_back(same);
  }
  const auto apart = std::count_if(together.begin(), together.end(), [](int same) { return same <= 1; });
  EXPECT_GE(apart, kRounds / 3) << "of " << kRounds << " rounds";
}

}  // namespace
}  // namespace isochron
