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
