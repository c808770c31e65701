// Several inputs of one run, and the events of one: what each adds to the others.
#include <gtest/gtest.h>

#include <cmath>

#include "isochron/readers/merge_runs.h"

namespace isochron {
namespace {

RunRecord log_of(const std::vector<double>& seconds, int first = 1) {
  RunRecord run;
  run.source = "console";
  for (const double s : seconds) {
    Epoch epoch;
    epoch.index = first++;
    epoch.seconds = s;
    run.epochs.push_back(epoch);
  }
  return run;
}

// Lightning's logger: every fifth of 20 steps of 0.1 s, then `behind` seconds of callbacks.
EventSeries lightning_events(const std::vector<double>& behind) {
  EventSeries series;
  series.plain = true;
  double now = series.first_wall = 1e9;
  for (size_t epoch = 0; epoch < behind.size(); ++epoch) {
    for (int step = 4; step < 20; step += 5) {
      now += 0.5;
      for (const char* tag : {"version_0/epoch", "version_0/train_loss"})
        series.tags[tag].push_back({static_cast<int64_t>(20 * epoch) + step, now, static_cast<double>(epoch)});
    }
    now += behind[epoch];
  }
  return series;
}

RunRecord merged(RunRecord log, EventSeries events) {
  Gathered gathered;
  gathered.logs.push_back(std::move(log));
  gathered.events = std::move(events);
  return merge_runs(std::move(gathered)).front();
}

// A bar that is redrawn in place leaves its last state only, where the output goes to a pipe.
TEST(Merge, EventsTellOfEpochsTheLogLost) {
  const RunRecord run = merged(log_of({2.0}, 4), lightning_events({0, 0, 0, 0}));
  ASSERT_EQ(run.epochs.size(), 4u);
  for (const Epoch& epoch : run.epochs) EXPECT_NEAR(epoch.seconds, 2, 1e-6);
}

TEST(Merge, EventsOfAnotherRunDoNot) {
  EXPECT_EQ(merged(log_of({9.0}, 4), lightning_events({0, 0, 0, 0})).epochs.size(), 1u);
  EXPECT_EQ(merged(log_of({2.0}, 7), lightning_events({0, 0, 0, 0})).epochs.size(), 1u);
}

// Printed times that grow evenly look like a clock nobody reset; scalars of epochs know better.
TEST(Merge, EventsTellTimesFromReadingsOfAClock) {
  RunRecord log = log_of({2.3, 0.8, 0.8, 0.8, 0.8});
  log.facts.push_back({"epochs.clock", "2.3 3.1 3.9 4.7 5.5", ""});
  EventSeries series;
  series.first_wall = 1e9;
  double now = 1e9 + 4;
  for (int epoch = 0; epoch < 5; ++epoch)
    series.tags["runs/val/loss"].push_back({epoch, now += 2.3 + 0.8 * epoch, 0.5});
  const RunRecord run = merged(log, series);
  for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(run.epochs[i].seconds, 2.3 + 0.8 * static_cast<double>(i), 1e-6);
}

TEST(Merge, EventsAreSharperThanAClockOfWholeSeconds) {
  RunRecord log = log_of({2.5, 2.5, 2.5, 9});
  for (Epoch& epoch : log.epochs) epoch.resolution = 1;
  const RunRecord run = merged(log, lightning_events({0, 0, 0, 0}));
  for (size_t i = 1; i < 3; ++i) EXPECT_NEAR(run.epochs[i].seconds, 2, 1e-6);
  EXPECT_DOUBLE_EQ(run.epochs[3].seconds, 9);  // this one they contradict
}

TEST(Merge, EventsTellWhatPassesBehindBars) {
  RunRecord log = log_of({2, 2, 2, 2});
  const RunRecord printed = merged(log, lightning_events({3, 3, 3, 3}));
  for (const Epoch& epoch : printed.epochs) EXPECT_NEAR(epoch.seconds, 2, 1e-6);
  log.facts.push_back({"epochs.by-bars", "1", ""});
  const RunRecord run = merged(log, lightning_events({3, 3, 3, 3}));
  ASSERT_EQ(run.epochs.size(), 4u);
  for (const Epoch& epoch : run.epochs) {
    EXPECT_NEAR(epoch.seconds, 5, 0.01);
    EXPECT_NEAR(epoch.tail_seconds.value_or(0), 3, 0.01);
  }
}

// The last epoch's end is not told where it has fewer points than the one before: as much follows it.
TEST(Merge, WhatPassesBehindTheLastBarIsAsMuchAsBefore) {
  RunRecord log = log_of({2, 2, 2, 2, 2});
  log.facts.push_back({"epochs.by-bars", "1", ""});
  EventSeries events = lightning_events({0, 0, 3, 3, 3});
  for (auto& [tag, points] : events.tags) points.pop_back();
  const RunRecord run = merged(log, events);
  ASSERT_EQ(run.epochs.size(), 5u);
  for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(run.epochs[i].seconds, i < 2 ? 2 : 5, 0.01) << i;
}

TEST(Merge, LightningIsKnownByTheNamesOfItsMetrics) {
  EventSeries events = lightning_events({0, 0, 0});
  EXPECT_EQ(framework_of(events, ""), "torch");
  events.tags["version_0/acc_step"] = events.tags["version_0/acc_epoch"] = events.tags["version_0/train_loss"];
  EXPECT_EQ(framework_of(events, ""), "lightning");
}

// A script opens its writer, loads data for 5 s, and then trains: 40 steps of 0.05 s, of which every `stride`th is
// written, 0.3 s of validation, a scalar of the epoch if `closing`, 1 s of saving every other epoch.
EventSeries script_events(int stride, bool closing) {
  EventSeries series;
  series.plain = true;
  double now = series.first_wall = 1e9;
  now += 5;
  for (int epoch = 0; epoch < 6; ++epoch) {
    for (int step = 0; step < 40; ++step) {
      now += 0.05;
      if (step % stride == 0) series.tags["runs/train/loss"].push_back({40 * epoch + step, now, 0.5});
    }
    now += 0.3;
    if (closing) series.tags["runs/val/loss"].push_back({epoch, now, 0.5});
    if (epoch % 2 == 1) now += 1;
  }
  return series;
}

void expect_script_epochs(const RunRecord& run) {
  ASSERT_EQ(run.epochs.size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(run.epochs[i].index, static_cast<int>(i) + 1);
    const double off = std::abs(run.epochs[i].seconds - (i % 2 == 1 ? 3.3 : 2.3));
    // What follows the last step of all is not told.
    EXPECT_LE(off, 0.01 + (i == 5 ? run.epochs[i].resolution : 0)) << i;
  }
}

TEST(Events, ScriptsOpenTheirWriterLongBeforeTheFirstEpoch) {
  expect_script_epochs(record_of(script_events(1, true)));
  expect_script_epochs(record_of(script_events(10, true)));
}

TEST(Merge, EpochsNamedInALogAndStepsInEvents) {
  RunRecord log;
  log.source = "console";
  log.facts.push_back({"epochs.untimed", "6", ""});
  expect_script_epochs(merged(log, script_events(1, false)));
  expect_script_epochs(merged(log, script_events(10, false)));
  log.facts[0].value = "7";  // 240 steps are no 7 epochs
  EXPECT_TRUE(merged(log, script_events(1, false)).epochs.empty());
}

// The Trainer writes 'epoch' with its losses, again behind an evaluation of 2 s, and then saves for 3 s.
TEST(Events, EvaluationsAndCheckpointsOfTheTrainerEndEpochs) {
  for (const int each : {4, 1}) {  // lines an epoch
    EventSeries series;
    series.plain = true;
    double now = series.first_wall = 1e9;
    for (int epoch = 0; epoch < 4; ++epoch) {
      for (int line = 1; line <= each; ++line) {
        const double done = epoch + line / static_cast<double>(each);
        const auto step = static_cast<int64_t>(20 * done);
        series.tags["run/train/epoch"].push_back({step, now += 4.0 / each, done});
        if (line == each) series.tags["run/train/epoch"].push_back({step, now += 2, done});
      }
      now += 3;
    }
    const RunRecord run = record_of(series);
    ASSERT_EQ(run.epochs.size(), 4u);
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(run.epochs[i].index, static_cast<int>(i) + 1);
      const bool told = each > 1 && i + 1 < 4;  // the pace of steps, and what follows
      EXPECT_NEAR(run.epochs[i].seconds, 9, told ? 0.01 : 3.01) << i;
    }
  }
}

// Keras' callback: the file is opened at a whole second, the model written as training begins; 10 steps of 0.1 s, then
// 2 s of validation every other epoch and 0.5 s of other callbacks.
TEST(Events, KerasTellsWhenItBeganAndWhatItValidated) {
  EventSeries series;
  series.keras = true;
  series.first_wall = 1e9;
  double now = series.model_wall = 1e9 + 0.8;
  for (int epoch = 0; epoch < 4; ++epoch) {
    for (int step = 0; step < 10; ++step) series.tags["train/batch_loss"].push_back({10 * epoch + step, now += 0.1});
    if (epoch % 2 == 1) series.tags["validation/evaluation_loss_vs_iterations"].push_back({10 * epoch + 9, now += 2});
    series.tags["train/epoch_loss"].push_back({epoch, now += 0.5});
  }
  const RunRecord run = record_of(series);
  ASSERT_EQ(run.epochs.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    const bool validated = i % 2 == 1;
    EXPECT_NEAR(run.epochs[i].seconds, validated ? 3.5 : 1.5, 1e-3) << i;
    EXPECT_NEAR(run.epochs[i].validation_seconds.value_or(0), validated ? 2 : 0, 0.01) << i;
  }
}

}  // namespace
}  // namespace isochron
