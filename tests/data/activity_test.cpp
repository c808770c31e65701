// What threads of pipelines are doing, seen from outside.
#include "isochron/data/activity.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "tests/data/collect.h"

namespace isochron::data {
namespace {

// A function that stops at element 3 of the first pass until it is let go.
struct Gate {
  std::atomic<bool> first{true};
  std::promise<void> opened;
  std::shared_future<void> open = opened.get_future();
  int64_t operator()(int64_t x) {
    if (x == 3 && first.exchange(false)) open.wait();
    return x;
  }
};

// The activity that fits, as soon as there is one.
template <class F>
Activity wait_for(F&& fits) {
  for (;;) {
    const std::vector<Activity> all = pipeline_activity();
    if (const auto found = std::find_if(all.begin(), all.end(), fits); found != all.end()) return *found;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::vector<int64_t> first_numbers(int64_t count) { return numbers(range(count)); }

TEST(Activity, NamesTheFunctionThatDoesNotReturnAndWhoWaitsForIt) {
  Gate gate;
  const Dataset dataset =
      range(20).map([&](int64_t x) { return gate(x); }, {.num_parallel_calls = 2, .name = "decode"});
  std::atomic<int> consumer{0};
  auto loop = std::async(std::launch::async, [&] {
    consumer = gettid();
    return numbers(dataset);
  });
  const Activity inside = wait_for([](const Activity& a) { return !a.waiting && a.element == 3; });
  EXPECT_EQ(inside.stage, "map(decode, 2 in parallel)");
  EXPECT_EQ(inside.consumer, inside.thread_id == consumer);
  if (!inside.consumer) {  // a consumer that helps may be the one inside
    const Activity waiting = wait_for([](const Activity& a) { return a.waiting && a.element == 3; });
    EXPECT_EQ(waiting.thread_id, consumer);
    EXPECT_THAT(waiting.to_string(), testing::HasSubstr("waiting for element 3 of map(decode, 2 in parallel) for "));
  }
  const Activity later = wait_for([&](const Activity& a) { return a.element == 3 && a.seconds > inside.seconds; });
  EXPECT_THAT(later.to_string(), testing::HasSubstr("at element 3"));
  gate.opened.set_value();
  EXPECT_EQ(loop.get(), first_numbers(20));
}

TEST(Activity, SeesTheConsumersOwnThreadAndCallsTooShortToBeTimed) {
  Gate gate;
  // Element 3 of the second thousand comes when calls are known to be short, and few of them are timed.
  const Dataset dataset = range(2000).map([&](int64_t x) { return x < 1000 ? x : gate(x - 1000) + 1000; });
  auto loop = std::async(std::launch::async, [&] { return numbers(dataset); });
  const auto at_gate = [](const Activity& a) { return a.element == 1003; };
  const Activity inside = wait_for(at_gate);
  EXPECT_EQ(inside.stage, "map()");
  EXPECT_TRUE(inside.consumer);
  EXPECT_FALSE(inside.waiting);
  wait_for([&](const Activity& a) { return at_gate(a) && a.seconds > inside.seconds; });
  gate.opened.set_value();
  EXPECT_EQ(loop.get(), first_numbers(2000));
  EXPECT_TRUE(pipeline_activity().empty());
}

}  // namespace
}  // namespace isochron::data
