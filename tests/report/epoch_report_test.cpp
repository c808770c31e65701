#include "isochron/report/epoch_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isochron/base/seconds_text.h"

namespace isochron {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Part {
  Phase phase;
  double seconds;
};

// An epoch made of its phases.
Epoch epoch_of(int index, std::initializer_list<Part> parts) {
  Epoch epoch{.index = index};
  for (const auto& [phase, seconds] : parts) {
    epoch.phases[static_cast<size_t>(phase)] = seconds;
    epoch.seconds += seconds;
  }
  epoch.steps = 32;
  return epoch;
}

RunRecord record_of(std::vector<Epoch> epochs) {
  RunRecord run;
  run.epochs = std::move(epochs);
  return run;
}

// An epoch of which only the length is known, as from a log.
Epoch bare(int index, double seconds) { return {.index = index, .seconds = seconds}; }

TEST(SecondsText, ChoosesTheUnit) {
  EXPECT_EQ(seconds_text(0), "0.00 us");
  EXPECT_EQ(seconds_text(0.0000312), "31.2 us");
  EXPECT_EQ(seconds_text(0.00042), "0.42 ms");
  EXPECT_EQ(seconds_text(0.0185), "18.5 ms");
  EXPECT_EQ(seconds_text(-0.25), "-250 ms");
  EXPECT_EQ(seconds_text(90), "90.0 s");
}

TEST(EpochReport, WholeTextOfASmallRun) {
  RunRecord run = record_of({
      epoch_of(1,
               {{Phase::compile, 0.0004}, {Phase::allocate, 0.0002}, {Phase::forward, 0.0048}, {Phase::other, 0.0002}}),
      epoch_of(2, {{Phase::forward, 0.0048}, {Phase::other, 0.0002}}),
      epoch_of(3, {{Phase::forward, 0.0048}, {Phase::other, 0.0002}}),
  });
  run.outside_phases[static_cast<size_t>(Phase::start)] = 0.003;
  run.outside_phases[static_cast<size_t>(Phase::build)] = 0.0012;
  EXPECT_EQ(EpochReport(run).to_string(),
            "Epochs by phase, ms\n"
            "   epoch  total  compile  allocate  forward  other\n"
            "       1   5.60     0.40      0.20     4.80   0.20\n"
            "       2   5.00        -         -     4.80   0.20\n"
            "       3   5.00        -         -     4.80   0.20\n"
            "Outside the epochs: start 3.00 ms, build 1.20 ms\n"
            "Epoch 1 against the median of the others: +0.60 ms\n"
            "  compile       +0.40 ms\n"
            "  allocate      +0.20 ms\n"
            "Epoch 1 took 1.12x the median of the others: +0.40 ms compile, +0.20 ms allocate.\n");
}

TEST(EpochReport, EqualEpochsNeedNoReason) {
  const EpochReport report(record_of({epoch_of(1, {{Phase::forward, 1.004}}), epoch_of(2, {{Phase::forward, 1.0}}),
                                      epoch_of(3, {{Phase::forward, 1.0}})}));
  EXPECT_EQ(report.sentence(), "Epoch 1 took 1.00x the median of the others: no difference worth explaining.");
}

TEST(EpochReport, SlowerLaterEpochsAreNeverBlamedOnTheStart) {
  const EpochReport report(record_of({epoch_of(1, {{Phase::compile, 5}, {Phase::input, 10}, {Phase::forward, 75}}),
                                      epoch_of(2, {{Phase::input, 120}, {Phase::forward, 76}}),
                                      epoch_of(3, {{Phase::input, 122}, {Phase::forward, 76}})}));
  EXPECT_EQ(report.sentence(),
            "Epoch 1 took 0.46x the median of the others: the later ones are slower, so nothing at the start is to "
            "blame; theirs is +111 s input.");
}

TEST(EpochReport, ComparesWithTheMedianSoOneOutlierDoesNotHideTheRest) {
  const EpochReport report(
      record_of({epoch_of(1, {{Phase::input, 2}, {Phase::forward, 10}}), epoch_of(2, {{Phase::forward, 10}}),
                 epoch_of(3, {{Phase::forward, 100}}), epoch_of(4, {{Phase::forward, 10}})}));
  EXPECT_EQ(report.sentence(), "Epoch 1 took 1.20x the median of the others: +2.00 s input.");
}

TEST(EpochReport, SmallContributionsAreNotNamed) {
  const EpochReport report(record_of({epoch_of(1, {{Phase::compile, 1.0}, {Phase::init, 0.001}, {Phase::forward, 10}}),
                                      epoch_of(2, {{Phase::forward, 10}})}));
  EXPECT_THAT(report.sentence(), Not(HasSubstr("init")));
  EXPECT_THAT(report.sentence(), HasSubstr("+1.00 s compile."));
}

TEST(EpochReport, DifferentAmountsOfWorkAreSaid) {
  RunRecord run = record_of({epoch_of(1, {{Phase::forward, 20}}), epoch_of(2, {{Phase::forward, 10}})});
  run.epochs[0].steps = 64;
  EXPECT_THAT(EpochReport(run).sentence(),
              HasSubstr("2.00x the median of the others and did 64 steps where they did 32"));
}

TEST(EpochReport, LogsWithoutPhases) {
  const EpochReport slow(record_of({bare(1, 30), bare(2, 10), bare(3, 11)}));
  EXPECT_THAT(slow.sentence(), HasSubstr("the record does not say why"));
  EXPECT_THAT(slow.to_string(), HasSubstr("   epoch  total\n       1  30.00\n"));
  EXPECT_THAT(EpochReport(record_of({bare(1, 8), bare(2, 10), bare(3, 10)})).sentence(),
              HasSubstr("so nothing at the start is to blame; the record does not say why."));
  const EpochReport noisy(record_of({bare(1, 12), bare(2, 10), bare(3, 14), bare(4, 10.5)}));
  EXPECT_THAT(noisy.sentence(), HasSubstr("within the spread of the others"));
  RunRecord rounded = record_of({bare(1, 3), bare(2, 2), bare(3, 2)});
  for (Epoch& epoch : rounded.epochs) epoch.resolution = 1;
  EXPECT_THAT(EpochReport(rounded).sentence(), HasSubstr("no difference worth explaining"));
}

TEST(EpochReport, ManyEpochsAreSummarised) {
  RunRecord run;
  for (int i = 1; i <= 1000; ++i)
    run.epochs.push_back(epoch_of(i, {{Phase::forward, i == 1 ? 0.02 : 0.01 + i * 1e-6}}));
  const std::string text = EpochReport(run).to_string();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2 + 5 + 1 + 3 + 3 + 2 + 1) << text;
  EXPECT_THAT(text, HasSubstr("       5  10.01    10.01\n       …\n     998  11.00    11.00\n"));
  EXPECT_THAT(text, HasSubstr("     min  10.00    10.00\n  median  10.50    10.50\n     max  11.00    11.00\n"));
}

TEST(EpochReport, RunsWithNothingToCompare) {
  EXPECT_EQ(EpochReport(RunRecord{}).to_string(), "No epoch was completed.\n");
  EXPECT_EQ(EpochReport(record_of({bare(1, 2)})).sentence(), "There is only epoch 1, so nothing to compare it with.");
  EXPECT_EQ(EpochReport(record_of({bare(1, 2), bare(2, 0)})).sentence(), "The later epochs took no measurable time.");
}

TEST(EpochReport, CallbacksAreListedAndAHeavyOneIsNamed) {
  RunRecord run = record_of({bare(1, 0.05), bare(2, 0.04), bare(3, 0.04)});
  for (Epoch& epoch : run.epochs) epoch.callbacks = {{"CSVLogger", 0.0002}, {"Slow", 0.012}};
  run.epochs[2].callbacks["CSVLogger"] = 0.0006;
  const EpochReport report(run);
  EXPECT_THAT(report.to_string(), HasSubstr("Callbacks, an epoch: Slow 12.0 ms (30.0 %), CSVLogger 0.40 ms (1.0 %)\n"));
  EXPECT_THAT(report.sentence(), HasSubstr("Callback Slow takes 12.0 ms of an epoch, 30 % of it."));
  EXPECT_THAT(report.sentence(), Not(HasSubstr("CSVLogger")));
}

// A callback that grows takes most of a few long epochs, and never more than all of them.
TEST(EpochReport, AShareOfEpochsIsNoMoreThanAll) {
  RunRecord run = record_of({bare(1, 0.05), bare(2, 0.04), bare(3, 0.04), bare(4, 0.4)});
  for (Epoch& epoch : run.epochs) epoch.callbacks = {{"Grows", epoch.seconds - 0.03}};
  EXPECT_THAT(EpochReport(run).to_string(), HasSubstr("Grows 130 ms (81.2 %)"));
}

TEST(EpochReport, WhatWasWrittenAndKeptIsTold) {
  RunRecord run = record_of({bare(1, 2), bare(2, 2), bare(3, 2)});
  EXPECT_THAT(EpochReport(run).to_string(), Not(HasSubstr("Written")));
  // 3 MB are written in each of the epochs after the first.
  for (size_t i = 0; i < 3; ++i) {
    run.epochs[i].start = 2.0 * static_cast<double>(i);
    run.samples.push_back(
        {run.epochs[i].start + 2,
         {{"write_chars", 3e6 * static_cast<double>(i + 1)}, {"output_files", 5}, {"output_bytes", 2e6}}});
  }
  EXPECT_THAT(EpochReport(run).to_string(), HasSubstr("Written: 3 MB an epoch, 9 MB in all; 5 files of 2 MB kept.\n"));
}

TEST(EpochReport, WhatWasWrittenAndKeptIsToldByEpoch) {
  RunRecord run = record_of({bare(1, 2), bare(2, 2), bare(3, 2)});
  run.samples.push_back({0, {{"write_chars", 1e6}}});
  const double written[] = {2e6, 5e6, 5.5e6};
  for (size_t i = 0; i < 3; ++i) {
    run.epochs[i].start = 2.0 * static_cast<double>(i);
    run.samples.push_back({run.epochs[i].start + 2, {{"write_chars", written[i]}}});
  }
  run.samples[2].values["output_files"] = 3;
  // After the last epoch the last save is finished.
  run.samples.push_back({6.5, {{"write_chars", 8e6}, {"output_files", 4}, {"output_bytes", 6e6}}});
  const std::string text = EpochReport(run).to_string();
  EXPECT_THAT(text, HasSubstr("written  files\n"));
  EXPECT_THAT(text, HasSubstr("  1 MB      -\n"));
  EXPECT_THAT(text, HasSubstr("  3 MB      3\n"));
  EXPECT_THAT(text, HasSubstr("500 kB      3\n"));
  EXPECT_THAT(text, HasSubstr("Written: 2 MB an epoch, 8 MB in all; 4 files of 6 MB kept.\n"));
  // Of epochs that share a reading nobody knows which wrote what.
  run.samples.erase(run.samples.begin() + 2);
  EXPECT_THAT(EpochReport(run).to_string(), Not(HasSubstr("written  files")));
}

TEST(EpochReport, FilesOfASingleEpochAreTold) {
  RunRecord run = record_of({bare(1, 2)});
  run.samples.push_back({3, {{"write_chars", 1e6}, {"output_files", 2}, {"output_bytes", 1e6}}});
  EXPECT_THAT(EpochReport(run).to_string(), HasSubstr("Written: 2 files of 1 MB kept.\n"));
}

TEST(EpochReport, AnOpenEpochIsMentioned) {
  RunRecord run;
  run.open_epoch = OpenEpoch{1, 0.5, 17, 32};
  EXPECT_EQ(EpochReport(run).to_string(), "Epoch 1 did not end; 17 of 32 steps were done.\nNo epoch was completed.\n");
}

}  // namespace
}  // namespace isochron
