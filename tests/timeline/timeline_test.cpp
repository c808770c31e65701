#include "isochron/timeline/timeline.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "isochron/timeline/sample_keys.h"

namespace isochron {
namespace {

// A clock that moves only when told, so that every sum can be checked exactly.
int64_t g_now_ns = 0;
constexpr int64_t kStart = 1'000'000'000'000'000;
void wait_ms(int64_t ms) { g_now_ns += ms * 1'000'000; }

class TimelineTest : public ::testing::Test {
 protected:
  const int64_t begin_ns = g_now_ns = kStart;
  Timeline timeline = Timeline({.origin_ns = kStart, .clock = [] { return g_now_ns; }});
  TimelineScope scope = TimelineScope(timeline);

  static double at(const PhaseSeconds& phases, Phase phase) { return phases[static_cast<size_t>(phase)]; }
};

double sum(const PhaseSeconds& phases) { return std::accumulate(phases.begin(), phases.end(), 0.0); }

TEST_F(TimelineTest, TimeGoesToTheInnermostPhaseAndTheRestToOther) {
  timeline.begin_epoch(1);
  wait_ms(1);
  {
    ScopedSpan forward(Phase::forward, "forward");
    wait_ms(10);
    {
      ScopedSpan compile(Phase::compile, "compile");
      wait_ms(5);
      {
        ScopedSpan allocate(timeline, Phase::allocate, "arena");
        wait_ms(2);
      }
      wait_ms(1);
    }
    wait_ms(20);
  }
  wait_ms(3);
  timeline.end_epoch(640);
  const RunRecord run = timeline.to_record();
  ASSERT_EQ(run.epochs.size(), 1u);
  const Epoch& epoch = run.epochs[0];
  EXPECT_DOUBLE_EQ(at(epoch.phases, Phase::forward), 0.030);
  EXPECT_DOUBLE_EQ(at(epoch.phases, Phase::compile), 0.006);
  EXPECT_DOUBLE_EQ(at(epoch.phases, Phase::allocate), 0.002);
  EXPECT_DOUBLE_EQ(at(epoch.phases, Phase::other), 0.004);
  EXPECT_DOUBLE_EQ(epoch.seconds, 0.042);
  EXPECT_DOUBLE_EQ(sum(epoch.phases), epoch.seconds);
  EXPECT_EQ(epoch.examples, 640);

  ASSERT_EQ(run.spans.size(), 3u);  // by start; a span's own length includes what lies inside it
  EXPECT_EQ(run.spans[0].name, "forward");
  EXPECT_DOUBLE_EQ(run.spans[0].start, 0.001);
  EXPECT_DOUBLE_EQ(run.spans[0].seconds, 0.038);
  EXPECT_EQ(run.spans[2].name, "arena");
  EXPECT_EQ(run.spans[2].phase, Phase::allocate);
  EXPECT_EQ(run.spans[2].epoch, 1);
}

TEST_F(TimelineTest, NextEndsOneSpanWhereTheOtherBegins) {
  timeline.begin_epoch(1);
  {
    ScopedSpan span(Phase::input, "batch");
    wait_ms(4);
    span.next(Phase::forward, "forward");
    wait_ms(6);
  }
  timeline.end_epoch();
  const RunRecord run = timeline.to_record();
  EXPECT_DOUBLE_EQ(at(run.epochs[0].phases, Phase::input), 0.004);
  EXPECT_DOUBLE_EQ(at(run.epochs[0].phases, Phase::forward), 0.006);
  EXPECT_DOUBLE_EQ(at(run.epochs[0].phases, Phase::other), 0);
  EXPECT_DOUBLE_EQ(*run.epochs[0].input_seconds, 0.004);
  ASSERT_EQ(run.spans.size(), 2u);
  EXPECT_DOUBLE_EQ(run.spans[1].start, 0.004);
}

TEST_F(TimelineTest, ASpanMayEndBeforeItsBlockAndTellsItsLength) {
  timeline.begin_epoch(1);
  {
    ScopedSpan span(Phase::callback, "CSVLogger");
    wait_ms(3);
    EXPECT_EQ(span.end(), 3'000'000);
    wait_ms(5);
  }
  timeline.end_epoch();
  const RunRecord run = timeline.to_record();
  EXPECT_DOUBLE_EQ(at(run.epochs[0].phases, Phase::callback), 0.003);
  EXPECT_DOUBLE_EQ(at(run.epochs[0].phases, Phase::other), 0.005);
  ASSERT_EQ(run.spans.size(), 1u);
  EXPECT_DOUBLE_EQ(run.spans[0].seconds, 0.003);
}

TEST_F(TimelineTest, TimeMayTurnOutToHaveBeenSpentWaiting) {
  timeline.begin_epoch(1);
  {
    ScopedSpan forward(Phase::forward, "forward");
    wait_ms(10);
    const int64_t begin = g_now_ns;
    wait_ms(4);
    timeline.past(Phase::sync, "threads", begin);
    wait_ms(1);
    timeline.past(Phase::sync, "threads", begin);  // what is accounted for already stays so
  }
  timeline.end_epoch();
  const RunRecord run = timeline.to_record();
  EXPECT_DOUBLE_EQ(at(run.epochs[0].phases, Phase::forward), 0.010);
  EXPECT_DOUBLE_EQ(at(run.epochs[0].phases, Phase::sync), 0.005);
  EXPECT_DOUBLE_EQ(sum(run.epochs[0].phases), run.epochs[0].seconds);
}

TEST_F(TimelineTest, ValidationKeepsItsTimeSaveForOneOffCosts) {
  timeline.begin_epoch(1);
  {
    ScopedSpan validate(Phase::validate, "validate");
    wait_ms(1);
    {
      ScopedSpan forward(Phase::forward, "forward");
      wait_ms(10);
      ScopedSpan compile(Phase::compile, "compile");
      wait_ms(5);
    }
  }
  wait_ms(2);
  timeline.end_epoch();
  const Epoch epoch = timeline.to_record().epochs.at(0);
  EXPECT_DOUBLE_EQ(at(epoch.phases, Phase::validate), 0.011);
  EXPECT_DOUBLE_EQ(at(epoch.phases, Phase::compile), 0.005);
  EXPECT_DOUBLE_EQ(at(epoch.phases, Phase::forward), 0);
  EXPECT_DOUBLE_EQ(epoch.validation_seconds.value(), 0.016);
}

TEST_F(TimelineTest, TimeOutsideEpochsIsKeptApart) {
  {
    ScopedSpan build(Phase::build, "build");
    wait_ms(7);
  }
  timeline.begin_epoch(1);
  wait_ms(1);
  timeline.end_epoch();
  {
    ScopedSpan checkpoint(Phase::checkpoint, "save");
    wait_ms(2);
  }
  const RunRecord run = timeline.to_record();
  EXPECT_DOUBLE_EQ(at(run.outside_phases, Phase::build), 0.007);
  EXPECT_DOUBLE_EQ(at(run.outside_phases, Phase::checkpoint), 0.002);
  EXPECT_DOUBLE_EQ(run.epochs.at(0).start, 0.007);
  EXPECT_DOUBLE_EQ(run.seconds, 0.010);
  EXPECT_EQ(run.spans.at(0).epoch, 0);
  EXPECT_FALSE(run.open_epoch);
}

TEST_F(TimelineTest, StepsKnowTheirWaitForInput) {
  timeline.begin_epoch(3);
  wait_ms(1);
  for (int i = 0; i < 2; ++i) {
    timeline.begin_step();
    ScopedSpan span(Phase::input, "batch");
    wait_ms(2 + i);
    span.next(Phase::forward, "forward");
    wait_ms(10);
    timeline.end_step();
  }
  timeline.end_epoch();
  const RunRecord run = timeline.to_record();
  ASSERT_EQ(run.steps.size(), 2u);
  EXPECT_EQ(run.steps[1].index, 2);
  EXPECT_EQ(run.steps[1].epoch, 3);
  EXPECT_DOUBLE_EQ(run.steps[1].start, 0.013);
  EXPECT_DOUBLE_EQ(run.steps[1].seconds, 0.013);
  EXPECT_DOUBLE_EQ(run.steps[1].input_seconds.value(), 0.003);
  EXPECT_EQ(run.epochs.at(0).steps, 2);
  EXPECT_DOUBLE_EQ(run.epochs.at(0).first_step_seconds.value(), 0.013);
}

TEST_F(TimelineTest, AnEpochThatDidNotEndIsOpen) {
  timeline.plan_epochs(5);
  timeline.begin_epoch(2);
  timeline.begin_step();
  wait_ms(1);
  timeline.end_step();
  const RunRecord run = timeline.to_record();
  EXPECT_TRUE(run.epochs.empty());
  ASSERT_TRUE(run.open_epoch);
  EXPECT_EQ(run.open_epoch->index, 2);
  EXPECT_EQ(run.open_epoch->step, 1);
  EXPECT_EQ(run.planned_epochs, 5);
}

TEST_F(TimelineTest, ActivityTellsWhatTheTrainingThreadDoes) {
  timeline.begin_epoch(4);
  wait_ms(1);
  ScopedSpan span(Phase::input, "next batch");
  wait_ms(9);
  Activity seen;
  std::thread([&] { seen = timeline.activity(); }).join();
  EXPECT_EQ(seen.phase, Phase::input);
  EXPECT_STREQ(seen.name, "next batch");
  EXPECT_EQ(seen.since_ns, kStart + 1'000'000);
  EXPECT_EQ(seen.epoch, 4);
}

TEST_F(TimelineTest, OtherThreadsAreKeptBesideAndAccountForNothing) {
  timeline.begin_epoch(1);
  ScopedSpan forward(Phase::forward, "forward");
  std::thread([&] {
    EXPECT_EQ(Timeline::current(), nullptr);
    { ScopedSpan lost(Phase::input, "to nobody"); }
    TimelineScope here(timeline);
    ScopedSpan span(Phase::input, "decode");
    wait_ms(5);
  }).join();
  forward.next(Phase::other, "rest");
  timeline.end_epoch();
  const RunRecord run = timeline.to_record();
  EXPECT_DOUBLE_EQ(at(run.epochs.at(0).phases, Phase::forward), 0.005);
  EXPECT_DOUBLE_EQ(at(run.epochs.at(0).phases, Phase::input), 0);
  int decodes = 0;
  for (const Span& span : run.spans) {
    EXPECT_NE(span.name, "to nobody");
    if (span.name == "decode") {
      ++decodes;
      EXPECT_GT(span.thread, 0);
    }
  }
  EXPECT_EQ(decodes, 1);
}

TEST_F(TimelineTest, ScopesNest) {
  Timeline inner;
  {
    TimelineScope other(inner);
    EXPECT_EQ(Timeline::current(), &inner);
  }
  EXPECT_EQ(Timeline::current(), &timeline);
}

TEST_F(TimelineTest, CountersAndFactsEndUpInTheRecord) {
  timeline.count("cache_hits", 3);
  timeline.count("cache_misses");
  timeline.count("cache_hits");
  timeline.fact("optimizer", "Adam", "fit");
  const RunRecord run = timeline.to_record();
  ASSERT_TRUE(run.find_fact("cache_hits"));
  EXPECT_EQ(run.find_fact("cache_hits")->value, "4");
  EXPECT_EQ(run.find_fact("cache_misses")->value, "1");
  EXPECT_EQ(run.find_fact("optimizer")->value, "Adam");
}

TEST_F(TimelineTest, SamplesAreTakenAtEpochEndsButNotTooOften) {
  for (int epoch = 1; epoch <= 60; ++epoch) {
    timeline.begin_epoch(epoch);
    wait_ms(1);
    timeline.end_epoch();
  }
  const RunRecord run = timeline.to_record();
  ASSERT_EQ(run.samples.size(), 3u);  // after 1, 21 and 41 ms
  EXPECT_DOUBLE_EQ(run.samples[1].time, 0.021);
  EXPECT_GT(run.samples[0].values.at(sample_key::rss_bytes), 1e5);
  EXPECT_GT(run.samples[0].values.at(sample_key::cpu_seconds), 0);
  EXPECT_GT(run.samples[0].values.at(sample_key::minor_faults), 0);
}

TEST_F(TimelineTest, LongRunsStayBoundedAndKeepTheirEnds) {
  constexpr int kEpochs = 20'000;
  for (int epoch = 1; epoch <= kEpochs; ++epoch) {
    timeline.begin_epoch(epoch);
    for (int step = 0; step < 3; ++step) {
      timeline.begin_step();
      ScopedSpan span(Phase::forward, "forward");
      g_now_ns += 1000;
      timeline.end_step();
    }
    if (epoch == kEpochs / 2) {
      ScopedSpan span(Phase::compile, "compile again");
      g_now_ns += 1000;
    }
    timeline.end_epoch();
  }
  const RunRecord run = timeline.to_record();
  EXPECT_LE(run.epochs.size(), 4097u);
  EXPECT_LE(run.steps.size(), 4097u);
  EXPECT_LE(run.spans.size(), 5000u);
  EXPECT_LE(run.samples.size(), 2100u);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(run.epochs[i].index, i + 1);
  EXPECT_EQ(run.epochs.back().index, kEpochs);
  EXPECT_EQ(run.steps.front().index, 1);
  EXPECT_EQ(run.steps.back().index, 3 * kEpochs);
  EXPECT_EQ(run.spans.front().epoch, 1);
  EXPECT_EQ(run.spans.back().epoch, kEpochs);
  // A rare span in the middle survives the flood of ordinary ones.
  EXPECT_EQ(std::count_if(run.spans.begin(), run.spans.end(), [](const Span& s) { return s.name == "compile again"; }),
            1);
}

TEST_F(TimelineTest, DeepNestingIsHarmless) {
  timeline.begin_epoch(1);
  const auto nest = [](auto&& self, int depth) -> void {
    if (depth == 0) return;
    ScopedSpan span(Phase::build, "layer");
    wait_ms(1);
    self(self, depth - 1);
  };
  nest(nest, 200);
  wait_ms(1);
  timeline.end_epoch();
  const Epoch epoch = timeline.to_record().epochs.at(0);
  EXPECT_DOUBLE_EQ(at(epoch.phases, Phase::build), 0.200);
  EXPECT_DOUBLE_EQ(at(epoch.phases, Phase::other), 0.001);
}

// On the real clock, while another thread looks: for the thread sanitizer, and for the sums.
TEST(TimelineLive, MayBeReadWhileItRecords) {
  Timeline timeline;
  TimelineScope scope(timeline);
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    TimelineScope here(timeline);
    while (!stop) {
      ScopedSpan span(Phase::log, "look");
      EXPECT_LE(timeline.to_record().epochs.size(), 50u);
      timeline.activity();
    }
  });
  for (int epoch = 1; epoch <= 50; ++epoch) {
    timeline.begin_epoch(epoch);
    for (int step = 0; step < 20; ++step) {
      timeline.begin_step();
      ScopedSpan span(Phase::forward, "forward");
      span.next(Phase::backward, "backward");
      timeline.count("steps");
      timeline.end_step();
    }
    timeline.end_epoch();
  }
  stop = true;
  reader.join();
  const RunRecord run = timeline.to_record();
  EXPECT_EQ(run.find_fact("steps")->value, "1000");
  ASSERT_EQ(run.epochs.size(), 50u);
  double accounted = sum(run.outside_phases);
  for (const Epoch& epoch : run.epochs) {
    EXPECT_NEAR(sum(epoch.phases), epoch.seconds, 1e-9);
    accounted += epoch.seconds;
  }
  EXPECT_NEAR(accounted, run.seconds, 1.0);  // what followed the last epoch's end is not yet settled
}

}  // namespace
}  // namespace isochron
