#include "isochron/base/native_stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "isochron/base/signals_blocked.h"

namespace isochron {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

std::atomic<int> g_tid{0};
std::atomic<bool> g_end{false};

[[gnu::noinline]] void a_function_that_sleeps() {
  g_tid = this_thread_id();
  while (!g_end) usleep(50'000);
  asm volatile("");  // no tail call
}

[[gnu::noinline]] void a_function_that_computes() {
  g_tid = this_thread_id();
  volatile double sum = 0;
  while (!g_end) sum = sum + 1;
}

void expect_frame(void (*function)(), const char* name) {
  g_tid = 0;
  g_end = false;
  std::thread thread;
  {
    const SignalsBlocked signals;
    thread = std::thread([&] {
      function();
      asm volatile("");
    });
  }
  while (!g_tid) usleep(1000);
  usleep(10'000);
  EXPECT_THAT(stack_of_thread(g_tid), Contains(HasSubstr(name)));
  // It still runs, and may be asked again.
  EXPECT_THAT(stack_of_thread(g_tid), Contains(HasSubstr(name)));
  g_end = true;
  thread.join();
}

TEST(NativeStack, ShowsWhereAThreadSleeps) { expect_frame(a_function_that_sleeps, "a_function_that_sleeps"); }
TEST(NativeStack, ShowsWhatAThreadComputes) { expect_frame(a_function_that_computes, "a_function_that_computes"); }

TEST(NativeStack, OfAThreadThatIsGoneIsEmpty) {
  int tid = 0;
  std::thread([&] { tid = this_thread_id(); }).join();
  EXPECT_TRUE(stack_of_thread(tid).empty());
}

TEST(NativeStack, ListsThreads) {
  pthread_setname_np(pthread_self(), "a (name)");
  const std::vector<ThreadState> threads = threads_of_process();
  ASSERT_FALSE(threads.empty());
  EXPECT_EQ(threads[0].tid, getpid());
  EXPECT_EQ(threads[0].name, "a (name)");
  EXPECT_EQ(threads[0].state, 'R');
}

}  // namespace
}  // namespace isochron
