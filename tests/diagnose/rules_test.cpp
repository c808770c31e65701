// Each cause from made-up records that hold just its evidence.
#include <gmock/gmock.h>

#include "tests/diagnose/made_up_run.h"

namespace isochron {
namespace {

TEST(Rules, HealthyRunsGetNoAlarm) {
  expect(run_of({8.0, 7.7, 8.1, 8.5, 8.2}), Symptom::healthy, Cause::none);
  RunRecord many = run_of(std::vector<double>(500, 2.0));
  expect(many, Symptom::healthy, Cause::none);
  RunRecord stopped = run_of({3.35, 3.02, 2.96, 3.2});
  stopped.planned_epochs = 20;
  stopped.facts.push_back({"finished", "stopping early at epoch 4", "log:5"});
  expect(stopped, Symptom::healthy, Cause::none);
}

TEST(Rules, NoEvidenceNoCause) {
  for (const auto& seconds : {std::vector<double>{9, 1, 1, 1}, {1, 1, 3, 3, 3}, {1, 2, 3, 4, 5}, {1, 3, 1, 3, 1, 3}}) {
    for (const char* source : {"console", "watch"}) {
      RunRecord run = run_of(seconds);
      run.source = source;
      const auto verdicts = diagnose(run);
      ASSERT_EQ(verdicts.size(), 1u);
      EXPECT_EQ(verdicts[0].cause, Cause::unknown);
      // Nobody is advised to do what he did.
      EXPECT_EQ(verdicts[0].fix.find("isochron watch") != std::string::npos, run.source == "console");
    }
  }
}

TEST(Rules, StartUpIsNeverTheCauseWhereTheFirstEpochIsShorter) {
  RunRecord run = run_of({90, 200, 210, 205}, "keras");
  for (size_t i = 0; i < run.epochs.size(); ++i) {
    run.epochs[i].first_step_seconds = i == 0 ? 20 : 1;
    phase(run, i, Phase::trace, i == 0 ? 15 : 0);
  }
  for (const Verdict& verdict : diagnose(run)) {
    EXPECT_EQ(verdict.symptom, Symptom::slower_later);
    EXPECT_FALSE(name_of(verdict.cause).starts_with("startup."));
  }
}

TEST(Rules, StartUp) {
  for (const auto& [which, cause] : {std::pair{Phase::start, Cause::startup_import},
                                     {Phase::trace, Cause::startup_graph},
                                     {Phase::compile, Cause::startup_graph},
                                     {Phase::init, Cause::startup_init}}) {
    RunRecord run = run_of({6, 1, 1, 1});
    for (size_t i = 0; i < 4; ++i) phase(run, i, which, i == 0 ? 4.5 : 0);
    expect(run, Symptom::slow_first, cause);
  }
  RunRecord keras = run_of({16.6, 0.32, 0.33, 0.35}, "keras");
  for (size_t i = 0; i < 4; ++i) keras.epochs[i].first_step_seconds = i == 0 ? 13.7 : 0.01;
  expect(keras, Symptom::slow_first, Cause::startup_graph);
}

// The same seconds seen from two sides: the reason is the answer.
TEST(Rules, ColdFilesAreNamedBeforeTheWaitForThem) {
  RunRecord run = run_of({3.5, 0.8, 0.9, 0.8, 0.8});
  for (size_t i = 0; i < 5; ++i) phase(run, i, Phase::input, i == 0 ? 3.2 : 0.6);
  count(run, sample_key::read_bytes, [](size_t i) { return i == 0 ? 250e6 : 0; });
  count(run, sample_key::cpu_seconds, [](size_t i) { return i == 0 ? 0.6 : 0.9; });
  expect(run, Symptom::slow_first, Cause::input_cold_read);
}

// Samples of short epochs catch now more, now less of what is written.
TEST(Rules, AFileThatIsAppendedToDoesNotGrowPerEpoch) {
  RunRecord run = run_of({0.4, 0.4, 0.4, 0.4, 0.4});
  for (size_t i = 0; i < 5; ++i) phase(run, i, Phase::log, 0.2);
  count(run, sample_key::write_chars, [](size_t i) { return 3e6 + 3e6 * static_cast<double>(i); });
  expect(run, Symptom::slow_overall, Cause::disk_temp_growth);
  run.facts.push_back({"written_file", "out/metrics.jsonl (14000 kB, written 1 times, 14000 kB in all)", "inotify"});
  expect(run, Symptom::slow_overall, Cause::disk_logging);
}

// PyTorch imports parts of itself with its first optimizer; the import may begin before the epoch, on a busy machine.
TEST(Rules, AnImportUnderWayWhenTheFirstEpochBeginsIsOrdinary) {
  RunRecord run = run_of({3.6, 1.1, 1.0, 0.9});
  for (size_t i = 0; i < 4; ++i) phase(run, i, Phase::start, i == 0 ? 1.4 : 0);
  for (Epoch& epoch : run.epochs) epoch.start += 3;
  run.spans.push_back({"import torch", Phase::start, 0, 4.4, 0, 0});
  expect(run, Symptom::healthy, Cause::none);
}

// TensorFlow's tracing and what PyTorch loads late cost a second or two in any run.
TEST(Rules, OrdinaryStartUpIsHealthy) {
  const auto starting = [](const std::vector<double>& seconds, const char* framework, Phase which, double spent) {
    RunRecord run = run_of(seconds, framework);
    for (size_t i = 0; i < seconds.size(); ++i) phase(run, i, which, i == 0 ? spent : 0);
    return run;
  };
  expect(starting({5.2, 3.0, 3.1, 3.0}, "keras", Phase::trace, 2.0), Symptom::healthy, Cause::none);
  expect(starting({1.5, 0.3, 0.3, 0.3}, "keras", Phase::trace, 1.1), Symptom::healthy, Cause::none);
  expect(starting({4.5, 0.3, 0.3, 0.3}, "keras", Phase::trace, 4.0), Symptom::slow_first, Cause::startup_graph);
  RunRecord late = starting({4.4, 3.0, 3.1, 3.0}, "torch", Phase::start, 1.3);
  late.spans.push_back({"import torch", Phase::start, 0.1, 1.3, 1, 0});
  expect(late, Symptom::healthy, Cause::none);
  late.spans.back().name = "import sklearn";
  expect(late, Symptom::slow_first, Cause::startup_import);
  late.spans.back().name = "import torch";
  late.epochs[3].seconds = 9;  // and what comes later is not hidden by it
  late.epochs.push_back(late.epochs[3]);
  EXPECT_EQ(diagnose(late)[0].symptom, Symptom::slower_later);
  RunRecord waiting = starting({2.1, 1.0, 1.0, 1.0}, "keras", Phase::trace, 1.0);
  for (size_t i = 0; i < 4; ++i) phase(waiting, i, Phase::input, 0.8);
  expect(waiting, Symptom::slow_overall, Cause::input_bound);
}

TEST(Rules, FirstStepsThatComputeALittleLongerForNoReasonThatIsSeenAreOrdinary) {
  RunRecord run = run_of({2.0, 1.3, 1.2, 1.2, 1.3, 1.2}, "lightning");
  for (size_t i = 0; i < 6; ++i) phase(run, i, Phase::other, 0.1);
  EXPECT_EQ(diagnose(run)[0].symptom, Symptom::slow_first);
  for (size_t i = 0; i < 6; ++i) phase(run, i, Phase::update, i == 0 ? 1.6 : 0.9);
  EXPECT_EQ(diagnose(run)[0].symptom, Symptom::healthy);
  run.epochs[0].seconds = 3.0;  // a fault of seconds is one
  phase(run, 0, Phase::update, 1);
  EXPECT_EQ(diagnose(run)[0].symptom, Symptom::slow_first);
}

TEST(Rules, ColdRead) {
  RunRecord run = run_of({3, 0.6, 0.6, 0.6});
  count(run, sample_key::read_bytes, [](size_t i) { return i == 0 ? 100e6 : 0; });
  count(run, sample_key::io_wait_seconds, [](size_t i) { return i == 0 ? 0.75 : 0; });
  expect(run, Symptom::slow_first, Cause::input_cold_read);

  // Without delay accounting: reading 200 MB costs some of the CPU time by itself.
  RunRecord fast = run_of({0.49, 0.23, 0.23, 0.22});
  count(fast, sample_key::read_bytes, [](size_t i) { return i == 0 ? 410e6 : 0; });
  count(fast, sample_key::cpu_seconds, [](size_t i) { return i == 0 ? 0.8 : 0.95; });
  expect(fast, Symptom::slow_first, Cause::input_cold_read);
  // What computes as long as it is slow was not waiting for a disk.
  RunRecord computing = run_of({0.49, 0.23, 0.23, 0.22});
  count(computing, sample_key::read_bytes, [](size_t i) { return i == 0 ? 20e6 : 0; });
  count(computing, sample_key::cpu_seconds, [](size_t i) { return i == 0 ? 1.0 : 0.95; });
  EXPECT_NE(diagnose(computing)[0].cause, Cause::input_cold_read);
}

TEST(Rules, ShuffleFillByTensorFlowsNotice) {
  RunRecord run = run_of({27, 2.7, 2.5, 2.2}, "keras");
  run.facts.push_back({"shuffle.fill",
                       "shuffle_dataset_op.cc:453] ShuffleDatasetV3:3: Filling up shuffle buffer (this may take a "
                       "while): 18500 of 42000",
                       "log:6",
                       {},
                       1});
  run.facts.push_back({"shuffle.seconds", "22.7", "log:7", {}, 1});
  expect(run, Symptom::slow_first, Cause::input_shuffle_fill);
}

// Keras draws the first step of every epoch: a long one is the wait for the first batch.
TEST(Rules, ShuffleFillInEveryEpochByFirstSteps) {
  RunRecord run = run_of({6.9, 5.7, 5.7, 5.6, 5.8}, "keras");
  for (Epoch& epoch : run.epochs) {
    epoch.first_step_seconds = epoch.seconds - 0.1;
    epoch.steps = 30;
  }
  expect(run, Symptom::slow_overall, Cause::input_shuffle_fill);
  RunRecord retraced = run;
  retraced.facts.push_back({"retracing", "5 out of the last 5 calls", "log:3"});
  EXPECT_NE(diagnose(retraced)[0].cause, Cause::input_shuffle_fill);
  for (Epoch& epoch : run.epochs) epoch.first_step_seconds = 0.3;  // an iterator is made
  expect(run, Symptom::healthy, Cause::none);
}

TEST(Rules, MetricsOfHeldOutDataAreValidationAndNoCallback) {
  for (const char* name : {"held_out_accuracy", "test/acc", "dev_f1", "val"}) {
    RunRecord run = run_of({0.4, 0.4, 0.4, 1.5, 0.4, 0.4, 0.4, 1.5});
    for (size_t i = 0; i < 8; ++i) {
      run.epochs[i].metrics["train_loss"] = 0.5;
      phase(run, i, Phase::backward, 0.3);
      if (i % 4 != 3) continue;
      run.epochs[i].metrics[name] = 0.2;
      run.facts.push_back({"hotspot", "1.10 s other at train.py:9 accuracy", "stack samples", {}, run.epochs[i].index});
    }
    expect(run, Symptom::uneven, Cause::train_validation);
  }
  RunRecord reward = run_of({0.4, 0.4, 0.4, 1.5, 0.4, 0.4, 0.4, 1.5});
  for (size_t i = 0; i < 8; ++i) reward.epochs[i].metrics[i % 4 == 3 ? "value_loss" : "loss"] = 0.2;
  expect(reward, Symptom::uneven, Cause::train_callback);
}

TEST(Rules, WorkerStartInEveryEpoch) {
  RunRecord run = run_of({3.8, 3.8, 3.5, 3.4});
  for (Epoch& epoch : run.epochs) {
    epoch.first_step_seconds = 2.5;
    epoch.steps = 38;
  }
  expect(run, Symptom::slow_overall, Cause::input_worker_start);
}

TEST(Rules, InputBoundByPrintedDataTimes) {
  RunRecord run = run_of({10, 10, 10});
  for (Epoch& epoch : run.epochs) epoch.input_seconds = 8.5;
  expect(run, Symptom::slow_overall, Cause::input_bound);
  for (Epoch& epoch : run.epochs) epoch.input_seconds = 0.5;
  expect(run, Symptom::healthy, Cause::none);
}

TEST(Rules, ProfilerLeftOn) {
  RunRecord run = run_of({0.57, 0.56, 0.62, 0.68, 0.59, 1.58, 2.24, 2.05});
  run.facts.push_back({"profiler.start", "profiler_start", "log:6", {}, 6});
  run.facts.push_back({"profiler.stop", "profiler_stop", "log:10", {}, 9});
  expect(run, Symptom::slower_later, Cause::compute_profiler);
  run.facts[1].epoch = 6;  // stopped within the epoch: not the reason
  expect(run, Symptom::slower_later, Cause::unknown);
}

// More steps need more memory and longer backward passes; and without more memory no graph is kept.
TEST(Rules, GrowthThatIsNoLeak) {
  RunRecord more = run_of({1, 2, 3, 4, 5});
  for (size_t i = 0; i < 5; ++i) {
    more.epochs[i].steps = 25 * (static_cast<int64_t>(i) + 1);
    phase(more, i, Phase::backward, 0.8 * static_cast<double>(i + 1));
  }
  sample(more, [](Sample& now, size_t) { now.values[sample_key::rss_bytes] = 500e6 + 50e6 * now.time; });
  expect(more, Symptom::slowing, Cause::compute_more_work);
  RunRecord kept = run_of({1, 2, 3, 4, 5});
  for (size_t i = 0; i < 5; ++i) phase(kept, i, Phase::backward, 0.8 * static_cast<double>(i + 1));
  RunRecord same = kept;
  sample(kept, [](Sample& now, size_t) { now.values[sample_key::rss_bytes] = 500e6 + 2e6 * now.time; });
  expect(kept, Symptom::slowing, Cause::memory_graph_growth);
  sample(same, [](Sample& now, size_t) { now.values[sample_key::rss_bytes] = 500e6; });
  expect(same, Symptom::slowing, Cause::unknown);
}

TEST(Rules, Swap) {
  RunRecord run = run_of({1, 1, 4, 4, 4});
  sample(run, [](Sample& now, size_t i) { now.values[sample_key::swap_bytes] = i >= 2 ? 400e6 : 0; });
  count(run, sample_key::swap_in_bytes, [](size_t i) { return i >= 2 ? 100e6 : 0; });
  expect(run, Symptom::slower_later, Cause::memory_swap);
}

TEST(Rules, CheckpointInTheSlowEpochs) {
  RunRecord run = run_of({0.9, 2.1, 0.9, 1.95, 0.89, 2.37});
  for (const int epoch : {2, 4, 6})
    run.facts.push_back({"checkpoint", "saving model to out.keras", "log:1", {}, epoch});
  expect(run, Symptom::uneven, Cause::disk_checkpoint);
}

TEST(Rules, ACheckpointInEveryEpochThatGrows) {
  RunRecord run = run_of({1.2, 1.4, 1.6, 1.8, 2.0, 2.2});
  for (size_t i = 0; i < 6; ++i) phase(run, i, Phase::checkpoint, 0.2 * static_cast<double>(i + 1));
  expect(run, Symptom::slowing, Cause::disk_checkpoint);
  EXPECT_THAT(diagnose(run)[0].summary,
              testing::HasSubstr("saving took 200 ms of a usual epoch and 1.2 s of the last slow one"));
}

TEST(Rules, EpochsThatAllWaitAreToldByTheirAverage) {
  RunRecord run = run_of({4.5, 4.5, 4.7, 3.6, 2.9});
  for (size_t i = 0; i < 5; ++i) phase(run, i, Phase::input, 0.9 * run.epochs[i].seconds);
  expect(run, Symptom::slow_overall, Cause::input_bound);
  EXPECT_THAT(diagnose(run)[0].summary, testing::StartsWith("5 epochs of about 4.0 s; "));
}

TEST(Rules, RewrittenFileThatGrows) {
  RunRecord run = run_of({1.0, 1.5, 2.0, 2.5, 3.0});
  count(run, sample_key::write_chars, [](size_t i) { return 5e6 * static_cast<double>(i + 1); });
  expect(run, Symptom::slowing, Cause::disk_temp_growth);
  // Epochs that other programs make uneven: what is written grows all the same.
  RunRecord noisy = run_of({3.9, 8.4, 3.6, 6.8, 7.0, 6.3, 8.1, 7.0});
  for (size_t i = 0; i < 8; ++i) phase(noisy, i, Phase::log, 0.7 * noisy.epochs[i].seconds);
  count(noisy, sample_key::write_chars,
        [&](size_t i) { return 3e6 * static_cast<double>(i + 1) / noisy.epochs[i].seconds; });
  expect(noisy, Symptom::slow_overall, Cause::disk_temp_growth);
}

TEST(Rules, TheRunsOwnTimeOnABusyMachine) {
  // Memory that leaks and epochs that grow, stretched by others who take half of the cores, now more, now less.
  const std::vector<double> own = {1, 2, 3, 4, 5, 6}, stretched = {4, 3, 9, 6, 14, 8};
  RunRecord run = run_of(stretched);
  for (size_t i = 0; i < 6; ++i) phase(run, i, Phase::other, stretched[i] * (1 - 0.8 / own[i]));
  count(run, sample_key::cpu_seconds, [&](size_t i) { return own[i] / stretched[i]; });
  count(run, sample_key::run_delay_seconds, [&](size_t i) { return 1 - own[i] / stretched[i]; });
  count(run, sample_key::other_cpu_seconds, [](size_t) { return 1.0; });
  sample(run, [](Sample& now, size_t i) {
    now.values[sample_key::cpus] = 2;
    now.values[sample_key::rss_bytes] = 700e6 + 60e6 * static_cast<double>(i);
  });
  expect(run, Symptom::slowing, Cause::memory_leak);
  EXPECT_THAT(diagnose(run)[0].summary, testing::StartsWith("without the waits for cores"));
}

TEST(Rules, ATrendIsNoStepForWhatOthersTook) {
  // Own times of short epochs are told by few readings: here they jump where the epochs themselves grow.
  const std::vector<double> times = {0.6, 1.1, 1.7, 1.2, 2.1, 2.5, 2.2, 3.05}, own = {.2, .2, .7, .6, .7, .7, .7, .8};
  RunRecord run = run_of(times);
  for (size_t i = 0; i < times.size(); ++i) phase(run, i, Phase::log, times[i] - 0.4);
  count(run, sample_key::cpu_seconds, [&](size_t i) { return own[i] / times[i]; });
  count(run, sample_key::run_delay_seconds, [&](size_t i) { return 1 - own[i] / times[i]; });
  count(run, sample_key::other_cpu_seconds, [](size_t) { return 1.5; });
  count(run, sample_key::write_chars, [&](size_t i) { return 1.4e6 * static_cast<double>(i + 1) / times[i]; });
  sample(run, [](Sample& now, size_t) { now.values[sample_key::cpus] = 2; });
  expect(run, Symptom::slowing, Cause::disk_temp_growth);
}

TEST(Rules, EpochOfWhichSomeStepsWereProfiled) {
  RunRecord run = run_of({0.40, 0.47, 0.37, 1.07, 0.41, 0.37});
  run.facts.push_back({"profiler.start", "profiler_start", "log:4", {}, 4});
  EXPECT_EQ(diagnose(run)[0].symptom, Symptom::uneven);
  run.facts.push_back({"profiler.stop", "profiler_stop", "log:5", {}, 4});
  expect(run, Symptom::healthy, Cause::none);
  run.epochs[2].seconds = 1.3;  // another slow epoch is another matter
  EXPECT_EQ(diagnose(run)[0].symptom, Symptom::uneven);
}

TEST(Rules, WaitsOfTinyModelsAreNoAlarm) {
  RunRecord run = run_of({0.07, 0.07, 0.08, 0.07});
  for (size_t i = 0; i < 4; ++i) run.epochs[i].input_seconds = 0.7 * run.epochs[i].seconds;
  expect(run, Symptom::healthy, Cause::none);
  for (Epoch& epoch : run.epochs) {
    epoch.seconds *= 100;
    *epoch.input_seconds *= 100;
  }
  expect(run, Symptom::slow_overall, Cause::input_bound);
}

TEST(Rules, InputThatBecomesSlowerStill) {
  RunRecord run = run_of({1.2, 1.1, 1.0, 1.0, 2.4, 2.5, 2.2, 2.4});
  for (size_t i = 0; i < 8; ++i) phase(run, i, Phase::input, 0.8 * run.epochs[i].seconds);
  expect(run, Symptom::slower_later, Cause::input_bound);
}

TEST(Rules, CompilingInEveryEpoch) {
  RunRecord run = run_of({8.5, 7.7, 9.3, 9.5, 8.6}, "");
  for (size_t i = 0; i < 5; ++i) phase(run, i, Phase::compile, 0.9 * run.epochs[i].seconds);
  expect(run, Symptom::slow_overall, Cause::compute_retrace);
  for (size_t i = 1; i < 5; ++i) run.epochs[i].phases[static_cast<size_t>(Phase::compile)] = 0;  // once only
  expect(run, Symptom::healthy, Cause::none);

  RunRecord noisy = run_of({3.5, 3.0, 3.4, 5.2, 6.2, 5.6, 4.1, 4.3}, "keras");
  for (size_t i = 0; i < 8; ++i) phase(noisy, i, Phase::trace, 0.8 * noisy.epochs[i].seconds);
  expect(noisy, Symptom::slow_overall, Cause::compute_retrace);

  RunRecord later = run_of({1.0, 1.0, 1.0, 4.0, 4.1, 3.9});
  for (size_t i = 3; i < 6; ++i) phase(later, i, Phase::compile, 2.8);
  for (size_t i = 0; i < 3; ++i) phase(later, i, Phase::forward, 1);
  expect(later, Symptom::slower_later, Cause::compute_retrace);
}

TEST(Rules, FunctionOfTheProgramThatOnlySlowEpochsCall) {
  RunRecord run = run_of({1.2, 1.1, 1.1, 1.2, 3.6, 3.5, 3.4, 3.7});
  for (int epoch = 1; epoch <= 8; ++epoch) {
    run.facts.push_back({"hotspot", "0.40 s other at train.py:18 <module>", "watch", {}, epoch});
    if (epoch > 4) run.facts.push_back({"hotspot", "2.40 s other at train.py:14 report_metrics", "watch", {}, epoch});
  }
  expect(run, Symptom::slower_later, Cause::train_callback);
  // What all epochs call does not explain why some are slow.
  run.facts.push_back({"hotspot", "0.10 s other at train.py:14 report_metrics", "watch", {}, 2});
  EXPECT_EQ(diagnose(run)[0].cause, Cause::unknown);
}

TEST(Rules, LittleMoreInTheFirstEpochIsOrdinary) {
  expect(run_of({1.32, 0.95, 0.92, 0.84, 0.91, 0.93}), Symptom::healthy, Cause::none);
  EXPECT_EQ(diagnose(run_of({2.6, 1.2, 1.2, 1.2, 1.2}))[0].symptom, Symptom::slow_first);
}

TEST(Rules, FileThatIsLongerThanItWasOnAverage) {
  RunRecord run = run_of({0.3, 0.4, 0.8, 0.9, 0.84, 0.88, 0.95, 1.0, 1.1});
  for (size_t i = 0; i < 9; ++i) phase(run, i, Phase::checkpoint, run.epochs[i].seconds - 0.2);
  count(run, sample_key::write_chars, [](size_t i) { return i % 2 ? 40e6 : 140e6; });
  EXPECT_EQ(diagnose(run)[0].cause, Cause::disk_checkpoint);
  run.facts.push_back({"written_file", "out/last.pt (179921 kB, written 9 times, 599955 kB in all)", "watch"});
  EXPECT_EQ(diagnose(run)[0].cause, Cause::disk_temp_growth);
  // A log to which lines are appended is as long at each opening, and little is written.
  run.facts.back().value = "out/log.csv (1799210 kB, written 9 times, 5999550 kB in all)";
  EXPECT_EQ(diagnose(run)[0].cause, Cause::disk_checkpoint);
}

TEST(Rules, ListThatIsGoneThroughAgain) {
  RunRecord run = run_of({0.2, 0.4, 0.6, 0.8, 1.0, 1.2});
  for (size_t i = 0; i < 6; ++i) phase(run, i, Phase::other, run.epochs[i].seconds - 0.1);
  sample(run, [](Sample& now, size_t i) { now.values[sample_key::rss_bytes] = 724e6 + 2e6 * static_cast<double>(i); });
  run.facts.push_back({"hotspot", "0.91 s other at train.py:13 <module>", "watch", {}, 6});
  expect(run, Symptom::slowing, Cause::memory_leak);
  EXPECT_THAT(diagnose(run)[0].evidence.front(), testing::HasSubstr("train.py:13"));
  // So little memory beside training that takes longer is no evidence.
  for (Epoch& epoch : run.epochs) epoch.phases = {};
  for (size_t i = 0; i < 6; ++i) phase(run, i, Phase::forward, run.epochs[i].seconds);
  EXPECT_EQ(name_of(diagnose(run)[0].cause), name_of(Cause::unknown));
}

TEST(Rules, CallbackThatRewritesAFile) {
  RunRecord run = run_of({1.0, 1.5, 2.0, 2.5, 3.0}, "keras");
  for (size_t i = 0; i < 5; ++i) phase(run, i, Phase::callback, 0.5 * static_cast<double>(i + 1));
  count(run, sample_key::write_chars, [](size_t i) { return 30e6 * static_cast<double>(i + 1); });
  expect(run, Symptom::slowing, Cause::disk_temp_growth);
}

TEST(Rules, CostOfEveryEpochOutweighsNoise) {
  RunRecord run = run_of({5.1, 4.5, 6.4, 7.0, 6.2});
  for (size_t i = 0; i < 5; ++i) phase(run, i, Phase::validate, run.epochs[i].seconds - 1);
  expect(run, Symptom::slow_overall, Cause::train_validation);
}

TEST(Rules, Logging) {
  RunRecord run = run_of({3, 3, 3});
  for (size_t i = 0; i < 3; ++i) phase(run, i, Phase::log, 1.5);
  expect(run, Symptom::slow_overall, Cause::disk_logging);
}

TEST(Rules, ContentionAndThrottling) {
  RunRecord busy = run_of({1.6, 1.5, 1.6, 4.7, 5.2, 5.8});
  sample(busy, [](Sample& now, size_t) { now.values[sample_key::cpus] = 2; });
  count(busy, sample_key::other_cpu_seconds, [](size_t i) { return i >= 3 ? 1.4 : 0.05; });
  count(busy, sample_key::cpu_seconds, [](size_t i) { return i >= 3 ? 0.6 : 1.9; });
  expect(busy, Symptom::slower_later, Cause::machine_contention);
  RunRecord throttled = run_of({2.3, 2.1, 2.6, 6.5, 6.8, 6.5});
  sample(throttled, [](Sample& now, size_t) { now.values[sample_key::cpus] = 2; });
  count(throttled, sample_key::throttled_seconds, [](size_t i) { return i >= 3 ? 0.6 : 0; });
  expect(throttled, Symptom::slower_later, Cause::machine_throttled);
}

TEST(Rules, ClockSetForward) {
  RunRecord run = run_of({1, 1, 61, 1, 1});
  sample(run, [](Sample& now, size_t i) {
    now.values[sample_key::wall_minus_monotonic] = i >= 2 && now.time > 10 ? 60 : 0;
  });
  expect(run, Symptom::uneven, Cause::machine_clock);
}

TEST(Rules, ValidationAndCallbacks) {
  RunRecord validated = run_of({1.8, 1.8, 5.7, 1.6, 1.6, 4.7});
  for (const size_t i : {2, 5}) validated.epochs[i].validation_seconds = validated.epochs[i].seconds - 1.8;
  expect(validated, Symptom::uneven, Cause::train_validation);
  RunRecord sometimes = run_of({1.8, 1.8, 5.7, 1.6, 1.6, 4.7}, "keras");
  for (size_t i = 0; i < 6; ++i) sometimes.epochs[i].metrics["loss"] = 1;
  for (const size_t i : {2, 5}) sometimes.epochs[i].metrics["val_loss"] = 1;
  expect(sometimes, Symptom::uneven, Cause::train_validation);
  RunRecord callback = run_of({1.3, 1.3, 1.3, 3.9, 3.7, 4.1}, "keras");
  for (size_t i = 0; i < 6; ++i) callback.epochs[i].metrics["loss"] = 1;
  for (const size_t i : {3, 4, 5}) callback.epochs[i].metrics["f1"] = 1;
  expect(callback, Symptom::slower_later, Cause::train_callback);
}

TEST(Rules, ResumeThatSkips) {
  RunRecord run = run_of({5.5, 2, 2.3, 2.1});
  run.facts.push_back({"resume.skip", "skipping the first 148 batches", "log:1"});
  expect(run, Symptom::slow_first, Cause::resume_skip);
}

// The rest of an epoch is short; that the others are whole is no fault of theirs. Who only loads weights begins anew.
TEST(Rules, AnEpochResumedInTheMiddleMakesNoOtherSlow) {
  RunRecord run = run_of({1.1, 11.2, 12, 10.3, 10.6});
  expect(run, Symptom::slower_later, Cause::unknown);
  run.facts.push_back({"resume", "resuming from out/checkpoint-90", "log:1"});
  expect(run, Symptom::healthy, Cause::none);
  run.facts[0] = {"weights.loaded", "Loaded weights of resnet18.pt", "log:1"};
  expect(run, Symptom::slower_later, Cause::unknown);
}

// Waiting takes most of every epoch, but the first took three times as long: that is what people ask about.
TEST(Rules, AFirstEpochMuchSlowerIsNotHiddenByWhatAllShare) {
  RunRecord run = run_of({3.1, 1.1, 1.1, 1.1, 1.0, 1.0});
  phase(run, 0, Phase::input, 2.0);
  for (size_t i = 1; i < 6; ++i) phase(run, i, Phase::input, 0.8);
  EXPECT_EQ(diagnose(run)[0].symptom, Symptom::slow_first);
}

TEST(Rules, RunsThatCountStepsOnly) {
  RunRecord run;
  for (int i = 0; i < 60; ++i) {
    Step step;
    step.index = i * 10;
    step.seconds = 0.1 * (1 + i / 20.0);
    run.steps.push_back(step);
  }
  expect(run, Symptom::slowing, Cause::unknown);
  for (Step& step : run.steps) step.seconds = 0.1;
  expect(run, Symptom::healthy, Cause::none);
  for (Step& step : run.steps) step.input_seconds = 0.08;
  expect(run, Symptom::slow_overall, Cause::input_bound);
}

TEST(Rules, WaitingForWorkersToStartIsNotWaitingForData) {
  RunRecord run = run_of({30, 28, 27, 29});
  for (size_t i = 0; i < run.epochs.size(); ++i) {
    phase(run, i, Phase::input, 26);
    run.facts.push_back({"workers.start", "20.00", "stack samples", run.epochs[i].start, run.epochs[i].index});
  }
  expect(run, Symptom::slow_overall, Cause::input_worker_start);
  run.facts.clear();
  expect(run, Symptom::slow_overall, Cause::input_bound);
}

TEST(Rules, UnevennessOfAMachineThatOthersKeepBusyIsNoFault) {
  RunRecord run = run_of({3.1, 5.5, 2.9, 4.2, 4.7});
  count(run, sample_key::cpu_seconds, [](size_t) { return 0.6; });
  count(run, sample_key::other_cpu_seconds, [](size_t) { return 1.4; });
  for (Sample& now : run.samples) now.values[sample_key::cpus] = 2;
  expect(run, Symptom::healthy, Cause::none);
  // On a machine of our own it wants an explanation.
  for (Sample& now : run.samples) now.values[sample_key::other_cpu_seconds] = 0;
  EXPECT_EQ(diagnose(run)[0].symptom, Symptom::uneven);
}

}  // namespace
}  // namespace isochron
