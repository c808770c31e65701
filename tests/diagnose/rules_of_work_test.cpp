// Epochs that do more, and what only looks so.
#include <gmock/gmock.h>

#include "made_up_run.h"

namespace isochron {
namespace {

// Layers that are unfrozen need more memory once, and their backward pass from then on.
TEST(Rules, AJumpOfTheBackwardPassIsNoGrowingGraph) {
  RunRecord run = run_of({0.5, 0.5, 0.5, 0.6, 1.4, 1.3, 1.3, 1.3});
  for (size_t i = 0; i < 8; ++i) phase(run, i, Phase::backward, i < 4 ? 0.1 : 0.9);
  sample(run, [](Sample& now, size_t i) { now.values[sample_key::rss_bytes] = i < 4 ? 500e6 : 540e6; });
  EXPECT_NE(diagnose(run)[0].cause, Cause::memory_graph_growth);
  run.facts.push_back({"work.changed", "Unfreezing backbone", "log:5", std::nullopt, 5});
  expect(run, Symptom::slower_later, Cause::compute_more_work);
  EXPECT_GT(diagnose(run)[0].confidence, 0.8);
}

// Larger examples need more memory too: that is no leak.
TEST(Rules, SizesToldBetweenEpochsAreMoreWork) {
  RunRecord run = run_of({0.2, 0.2, 0.4, 0.4, 0.8, 0.8, 1.6, 1.6}, "keras");
  sample(run, [](Sample& now, size_t i) { now.values[sample_key::rss_bytes] = 500e6 + 60e6 * static_cast<double>(i); });
  expect(run, Symptom::slowing, Cause::memory_leak);
  const char* told[] = {"Image size 16x16", "image size: 24 x 24", "image size 32x32", "image size 48x48"};
  for (int phase = 0; phase < 4; ++phase)
    run.facts.push_back({"work.changed", told[phase], "log:1", std::nullopt, 2 * phase + 1});
  expect(run, Symptom::slowing, Cause::compute_more_work);
}

// Event files of Keras: what lies behind the last step of each epoch is validation, a checkpoint or another callback.
TEST(Rules, WhatPassesBehindTheStepsOfEveryEpoch) {
  RunRecord run = run_of({4, 4, 4.1, 4, 4}, "keras");
  for (Epoch& epoch : run.epochs) epoch.tail_seconds = 2.5;
  expect(run, Symptom::slow_overall, Cause::train_callback);
  RunRecord saving = run;
  for (const Epoch& epoch : run.epochs)
    saving.facts.push_back({"checkpoint", "saving model to m.keras", "log:1", std::nullopt, epoch.index});
  expect(saving, Symptom::slow_overall, Cause::disk_checkpoint);
  for (Epoch& epoch : run.epochs) epoch.validation_seconds = 2.4;
  expect(run, Symptom::slow_overall, Cause::train_validation);
}

TEST(Rules, ValidationBehindTheStepsIsNoCallback) {
  RunRecord run = run_of({2, 7, 2, 7.4, 2, 7.2}, "keras");
  for (size_t i = 0; i < 6; ++i) run.epochs[i].tail_seconds = i % 2 ? 5.2 : 0.2;
  expect(run, Symptom::uneven, Cause::train_callback);
  for (const size_t i : {1u, 3u, 5u}) run.epochs[i].validation_seconds = 4.9;
  expect(run, Symptom::uneven, Cause::train_validation);
}

TEST(Rules, MoreWork) {
  RunRecord run = run_of({1, 2, 3, 4, 5});
  for (size_t i = 0; i < 5; ++i) run.epochs[i].metrics["tokens"] = 1000.0 * static_cast<double>(i + 1);
  expect(run, Symptom::slowing, Cause::compute_more_work);
}

TEST(Rules, NoiseInTheLastEpochIsNoGrowingGraph) {
  const std::vector<double> forward = {1.6, 1.67, 2.0, 1.63, 2.0, 2.7, 3.6},
                            backward = {2.6, 2.9, 3.7, 3.5, 4.3, 5.2, 11.9};
  RunRecord run = run_of({4.3, 4.7, 5.9, 5.6, 6.3, 8.0, 16.0});
  for (size_t i = 0; i < 7; ++i) {
    phase(run, i, Phase::forward, forward[i]);
    phase(run, i, Phase::backward, backward[i]);
  }
  sample(run, [](Sample& now, size_t i) { now.values[sample_key::rss_bytes] = 500e6 + 10e6 * static_cast<double>(i); });
  count(run, sample_key::cpu_seconds, [](size_t) { return 0.3; });
  EXPECT_EQ(diagnose(run)[0].cause, Cause::compute_more_work);
}

TEST(Rules, StepsThatDoMoreFromAnEpochOn) {
  RunRecord run = run_of({1, 1, 1, 3, 3, 3});
  for (size_t i = 0; i < 6; ++i)
    for (const Phase step : {Phase::forward, Phase::backward}) phase(run, i, step, i < 3 ? 0.45 : 1.4);
  count(run, sample_key::cpu_seconds, [](size_t) { return 1.0; });
  expect(run, Symptom::slower_later, Cause::compute_more_work);
}

// A side or a length printed beside the epochs, by whatever name; other things have sizes as well.
TEST(Rules, SizesPrintedWithTheEpochsAreMoreWork) {
  const auto with = [](const char* name) {
    RunRecord run = run_of({1, 1, 1, 4, 4, 4});
    for (size_t i = 0; i < 6; ++i) run.epochs[i].metrics[name] = i < 3 ? 32 : 72;
    return run;
  };
  for (const char* name : {"size", "img_size", "seq_len", "res", "crop_size"})
    expect(with(name), Symptom::slower_later, Cause::compute_more_work);
  for (const char* name : {"batch_size", "replay_size", "loss"})
    expect(with(name), Symptom::slower_later, Cause::unknown);
}

// One epoch is long for a reason of its own: it is not said to have what the others have.
TEST(Rules, OnlyEpochsWithAValidationAreSaidToHaveOne) {
  RunRecord run = run_of({0.5, 0.4, 3.3, 1.1, 0.5, 3.6, 0.5, 0.5, 3.7}, "keras");
  for (const size_t i : {2, 5, 8}) run.epochs[i].metrics["val_loss"] = 0.3;
  const auto verdicts = diagnose(run);
  ASSERT_EQ(name_of(verdicts[0].cause), "train.validation");
  EXPECT_NE(verdicts[0].evidence[0].find("epochs 3, 6 and 9"), std::string::npos) << verdicts[0].evidence[0];
}

// A backbone that is frozen at first: only the backward pass becomes longer.
TEST(Rules, LayersThatAreUnfrozenAreMoreWork) {
  const auto run_with = [](double late_forward) {
    RunRecord run = run_of({2.1, 2.1, 2.0, 5.0, 5.1, 4.9, 5.0}, "lightning");
    for (size_t i = 0; i < 7; ++i) {
      phase(run, i, Phase::forward, i < 3 ? 1.8 : late_forward);
      phase(run, i, Phase::backward, i < 3 ? 0.2 : 4.9 - late_forward);
    }
    count(run, sample_key::cpu_seconds, [](size_t) { return 1.3; });
    return run;
  };
  expect(run_with(1.9), Symptom::slower_later, Cause::compute_more_work);
  EXPECT_THAT(diagnose(run_with(1.9))[0].evidence[0], testing::HasSubstr("layers are unfrozen"));
  // Where the forward pass takes longer as well, it may be the numbers or the cores.
  for (const Verdict& verdict : diagnose(run_with(3.4)))
    for (const std::string& line : verdict.evidence) EXPECT_THAT(line, testing::Not(testing::HasSubstr("unfrozen")));
}

}  // namespace
}  // namespace isochron
