// Causes that profilers' windows show.
#include <gtest/gtest.h>

#include "tests/diagnose/made_up_run.h"

namespace isochron {
namespace {

Profile profile_of(size_t steps, double seconds) {
  Profile profile;
  for (size_t i = 0; i < steps; ++i) {
    Step step;
    step.index = static_cast<int64_t>(i);
    step.seconds = seconds;
    profile.steps.push_back(step);
  }
  profile.step_phases.assign(steps, PhaseSeconds{});
  return profile;
}

void set_phase(Profile& profile, size_t step, Phase which, double seconds) {
  profile.step_phases[step][static_cast<size_t>(which)] = seconds;
}

// Of a run of which there is but a trace: the reason of the wait is told all the same.
TEST(Rules, ACacheThatIsFilledShowsInATraceAlone) {
  RunRecord run;
  run.source = "xplane";
  run.framework = "tensorflow";
  run.profiles.push_back(profile_of(7, 0.2));
  for (size_t i = 0; i < 7; ++i) set_phase(run.profiles[0], i, Phase::input, 0.19);
  ProfileOp stage{"Iterator::Root::BatchV2::MemoryCacheImpl::ParallelMapV2", Phase::input, {}, {}, {}};
  stage.counts.assign(7, 16);
  stage.seconds.assign(7, 0.1);
  run.profiles[0].ops.push_back(stage);
  expect(run, Symptom::slow_overall, Cause::input_cache_fill);
  run.profiles[0].ops[0].name = "Iterator::Root::BatchV2::MemoryCacheImpl";  // read from
  expect(run, Symptom::slow_overall, Cause::input_bound);
}

// Where nobody's operation runs, somebody's Python code does; in Keras' own loop that is a callback's.
TEST(Rules, StepsThatPassOutsideOfOperations) {
  const auto traced = [](double step, double outside, const char* function) {
    RunRecord run = run_of({10, 10, 10}, "keras");
    run.profiles.push_back(profile_of(5, step));
    for (size_t i = 0; i < 5; ++i) {
      set_phase(run.profiles[0], i, Phase::forward, step - outside);
      set_phase(run.profiles[0], i, Phase::other, outside);
    }
    run.profiles[0].ops.push_back(
        {function, Phase::forward, std::vector<int64_t>(5, 1), std::vector<double>(5, step - outside), {}});
    return run;
  };
  expect(traced(0.011, 0.009, "EagerLocalExecute: __inference_multi_step_on_iterator_1156"), Symptom::slow_overall,
         Cause::train_callback);
  expect(traced(0.011, 0.009, "EagerLocalExecute: __inference_step_12"), Symptom::slow_overall, Cause::unknown);
  expect(traced(0.003, 0.0022, "EagerLocalExecute: __inference_step_12"), Symptom::healthy, Cause::none);
  expect(traced(0.030, 0.009, "EagerLocalExecute: __inference_step_12"), Symptom::healthy, Cause::none);
  // The main thread of a GPU's program waits while another one goes backward.
  RunRecord gpu = traced(0.1, 0.08, "aten::mm");
  gpu.profiles[0].ops.push_back(
      {"AddmmBackward0", Phase::backward, std::vector<int64_t>(5, 9), std::vector<double>(5, 0.07), {}});
  expect(gpu, Symptom::healthy, Cause::none);
}

TEST(Rules, LogsWrittenInEveryTracedStep) {
  RunRecord run = run_of({10, 10, 10});
  run.profiles.push_back(profile_of(5, 0.1));
  for (size_t i = 0; i < 5; ++i) set_phase(run.profiles[0], i, Phase::log, 0.06);
  expect(run, Symptom::slow_overall, Cause::disk_logging);
  for (size_t i = 0; i < 5; ++i) set_phase(run.profiles[0], i, Phase::log, 0.01);
  expect(run, Symptom::healthy, Cause::none);
}

// A tiny model always waits for moments; what its workers take to start is another matter.
TEST(Rules, WorkersThatStartWithinATraceOfATinyModel) {
  RunRecord run = run_of({2.6, 2.5, 2.5, 2.6});
  run.profiles.push_back(profile_of(10, 0.003));
  for (size_t i = 0; i < 10; ++i) set_phase(run.profiles[0], i, Phase::input, 0.0022);
  run.profiles[0].steps[4].seconds = 2.3;
  set_phase(run.profiles[0], 4, Phase::input, 2.298);
  run.profiles[0].ops.push_back({"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
                                 Phase::input,
                                 std::vector<int64_t>(10, 1),
                                 std::vector<double>(10, 0.0022),
                                 {}});
  expect(run, Symptom::slow_overall, Cause::input_worker_start);
  // In a run whose first epochs were longer for another reason, too: the trace goes on into the next epoch.
  for (const size_t i : {0, 1}) run.epochs[i].seconds = 4;
  expect(run, Symptom::slow_overall, Cause::input_worker_start);
  run.epochs.clear();
  expect(run, Symptom::uneven, Cause::input_worker_start);
}

// The first step's batch came from a buffer that took the whole dataset; there was little to trace.
TEST(Rules, AShuffleBufferThatTakesTheWholeDataset) {
  RunRecord run = run_of({5.3, 0.3, 0.3, 0.3, 0.3}, "keras");
  run.source = "console";
  for (Epoch& epoch : run.epochs) {
    epoch.steps = 50;
    epoch.first_step_seconds = 0.006;
  }
  run.epochs[0].first_step_seconds = 5;
  expect(run, Symptom::slow_first, Cause::startup_graph);  // as far as a log tells
  run.profiles.push_back(profile_of(5, 0.006));
  for (Step& step : run.profiles[0].steps) step.index += 10;
  const auto stage = [](const char* name) {
    return ProfileOp{name, Phase::input, std::vector<int64_t>(5, 25), std::vector<double>(5, 1e-4), {}};
  };
  run.profiles[0].ops.push_back(stage("Iterator::Root::Prefetch::BatchV2::Shuffle"));
  expect(run, Symptom::slow_first, Cause::input_shuffle_fill);
  run.profiles[0].ops.push_back(stage("Iterator::Root::Prefetch::BatchV2::Shuffle::ParallelMapV2"));
  EXPECT_NE(diagnose(run)[0].cause, Cause::input_shuffle_fill);
}

TEST(Rules, Profiles) {
  RunRecord input = run_of({10, 10, 10});
  input.profiles.push_back(profile_of(5, 0.6));
  for (size_t i = 0; i < 5; ++i) set_phase(input.profiles[0], i, Phase::input, 0.55);
  expect(input, Symptom::slow_overall, Cause::input_bound);

  RunRecord retrace = run_of({5, 5, 5}, "tensorflow");
  retrace.profiles.push_back(profile_of(5, 0.2));
  for (size_t i = 0; i < 5; ++i) set_phase(retrace.profiles[0], i, Phase::trace, 0.15);
  expect(retrace, Symptom::slow_overall, Cause::compute_retrace);

  RunRecord growing = run_of({1, 2, 3, 4, 5});
  growing.profiles.push_back(profile_of(4, 0.1));
  growing.profiles[0].ops.push_back(
      {"EmbeddingBackward0", Phase::backward, {360, 361, 362, 363}, {0.02, 0.02, 0.02, 0.02}, {}});
  expect(growing, Symptom::slowing, Cause::memory_graph_growth);

  RunRecord kept = run_of({1, 2, 3, 4, 5});
  kept.profiles.push_back(profile_of(4, 0.1));
  kept.profiles[0].ops.push_back(
      {"aten::cat", Phase::forward, {1, 1, 1, 1}, {0.08, 0.08, 0.08, 0.08}, {1e6, 1.1e6, 1.2e6, 1.3e6}});
  expect(kept, Symptom::slowing, Cause::memory_leak);

  RunRecord subnormal = run_of({4, 4, 4, 9, 9, 9});
  for (const double root : {0.004, 0.031}) {
    subnormal.profiles.push_back(profile_of(3, 0.02 + root));
    Profile& profile = subnormal.profiles.back();
    profile.start = root;
    profile.ops.push_back({"aten::sqrt", Phase::update, {10, 10, 10}, {root, root, root}, {1e6, 1e6, 1e6}});
    profile.ops.push_back({"aten::mm", Phase::forward, {10, 10, 10}, {0.015, 0.015, 0.015}, {1e6, 1e6, 1e6}});
  }
  expect(subnormal, Symptom::slower_later, Cause::compute_denormals);
}

TEST(Rules, TracesWithoutAnyLog) {
  const auto traced = [](Phase phase, const std::vector<double>& seconds) {
    RunRecord run = run_of({});
    run.profiles.push_back(profile_of(5, 0.2));
    for (size_t i = 0; i < seconds.size(); ++i) set_phase(run.profiles[0], i, phase, seconds[i]);
    return run;
  };
  expect(traced(Phase::input, {0.19, 0.19, 0.19, 0.19, 0.19}), Symptom::slow_overall, Cause::input_bound);
  expect(traced(Phase::trace, {0.15, 0.15, 0.15, 0.15, 0.15}), Symptom::slow_overall, Cause::compute_retrace);
  expect(traced(Phase::forward, {0.1, 0.1, 0.1, 0.1, 0.1}), Symptom::healthy, Cause::none);
  // Graphs that grow by the same number of nodes in each step are kept, though the steps shown take the same time;
  // batches of different lengths only seem to grow.
  const auto with_nodes = [&](const std::vector<int64_t>& counts) {
    RunRecord run = traced(Phase::backward, {0.1, 0.1, 0.1, 0.1, 0.1});
    run.profiles[0].ops.push_back({"EmbeddingBackward0", Phase::backward, counts, std::vector<double>(5, 0.02), {}});
    return run;
  };
  expect(with_nodes({360, 361, 362, 363, 364}), Symptom::slowing, Cause::memory_graph_growth);
  expect(with_nodes({100, 117, 121, 150, 154}), Symptom::healthy, Cause::none);
  // Steps that differ for no reason the trace shows are no complaint.
  RunRecord noisy = traced(Phase::forward, {});
  noisy.profiles[0].steps[3].seconds = 0.9;
  expect(noisy, Symptom::healthy, Cause::none);
  // Nothing took any time: no share of it can be told.
  RunRecord empty = run_of({0, 0, 0});
  empty.profiles = traced(Phase::input, {0.19, 0.19, 0.19, 0.19, 0.19}).profiles;
  expect(empty, Symptom::healthy, Cause::none);
}

}  // namespace
}  // namespace isochron
