// The runner: names, switches, reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "pass_helpers.h"

namespace isochron::test {
namespace {

int64_t runs_of(std::string_view name) {
  for (const PassReport& report : pass_reports())
    if (report.name == name) return report.runs;
  return -1;
}

TEST(Runner, ADisabledPassDoesNotRun) {
  const Tensor x = tensor({1.f, 2.f});
  set_pass_enabled("cse", false);
  EXPECT_FALSE(pass_enabled("cse"));
  const int64_t before = runs_of("cse"), others = runs_of("simplify");
  Graph graph = graph_of({exp(x) + exp(x)});
  run_passes(graph);
  EXPECT_EQ(runs_of("cse"), before);
  EXPECT_EQ(runs_of("simplify"), others + 1);
  set_pass_enabled("cse", true);
  graph = graph_of({exp(x) + exp(x)});
  run_passes(graph);
  EXPECT_EQ(runs_of("cse"), before + 1);
}

TEST(Runner, MayBeUsedByManyThreads) {
  const Tensor x = tensor({1.f, 2.f});
  const Graph graph = graph_of({exp(x) + exp(x)});
  const int64_t before = runs_of("simplify");
  constexpr int kThreads = 4, kRuns = 300;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (int run = 0; run < kRuns; ++run) {
        Graph own = graph;
        run_passes(own);
      }
    });
  for (int i = 0; i < kRuns; ++i) set_pass_enabled("layout", i % 2 == 1);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(runs_of("simplify"), before + kThreads * kRuns);
  EXPECT_TRUE(pass_enabled("layout"));
}

TEST(Runner, UnknownNamesAreRefusedWithASuggestion) {
  EXPECT_THAT([] { set_pass_enabled("fuse_elementwize", false); },
              testing::ThrowsMessage<ValueError>(testing::HasSubstr("fuse_elementwise")));
  EXPECT_THROW(pass_enabled("nothing_like_it"), ValueError);
}

TEST(Runner, TheEnvironmentDisablesPasses) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a fresh process, which reads its environment anew
  EXPECT_EXIT(
      {
        setenv("ISOCHRON_DISABLE_PASSES", "cse,layout", 1);
        const bool right = !pass_enabled("cse") && !pass_enabled("layout") && pass_enabled("simplify");
        std::exit(right ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace isochron::test
