// Rules that must hold while other programs take the cores.
#include "made_up_run.h"

namespace isochron {
namespace {

// All cores are taken anyway: more programs that want them show only in longer waits. As a watch saw it.
TEST(Rules, MoreContendersOnCoresThatAreTakenAnyway) {
  RunRecord run = run_of({4.3, 4.06, 4.98, 11.8});
  const double delay[] = {0.72, 0.68, 0.72, 0.857}, own[] = {0.22, 0.23, 0.2, 0.082};
  count(run, sample_key::cpu_seconds, [&](size_t i) { return own[i]; });
  count(run, sample_key::run_delay_seconds, [&](size_t i) { return delay[i]; });
  count(run, sample_key::other_cpu_seconds, [](size_t) { return 1.78; });
  for (Sample& now : run.samples) now.values[sample_key::cpus] = 2;
  expect(run, Symptom::slower_later, Cause::machine_contention);
  // Waits beside cores that nobody uses are not others' doing.
  for (Sample& now : run.samples) now.values[sample_key::other_cpu_seconds] = 0;
  for (const Verdict& verdict : diagnose(run)) EXPECT_NE(verdict.cause, Cause::machine_contention);
}

// Cores of a virtual machine are now faster, now slower: the same steps take more CPU time, and nothing else is told.
TEST(Rules, CoresWhoseSpeedChangesAreNoFaultOfTheRun) {
  const auto steady = [](std::vector<double> seconds, const std::function<double(size_t)>& cores) {
    RunRecord run = run_of(seconds);
    for (size_t i = 0; i < seconds.size(); ++i) {
      phase(run, i, Phase::forward, 0.35 * seconds[i]);
      phase(run, i, Phase::backward, 0.6 * seconds[i]);
    }
    count(run, sample_key::cpu_seconds, cores);
    return run;
  };
  const auto all = [](size_t) { return 1.9; };
  expect(steady({4.2, 4.1, 3.2, 4.4, 5.3, 5.9, 5.1}, all), Symptom::healthy, Cause::none);
  expect(steady({3.8, 2.9, 2.6, 2.6}, all), Symptom::healthy, Cause::none);
  // Twice as long is more than that, and so is time in which the run did not compute.
  EXPECT_NE(diagnose(steady({4.2, 4.1, 4.2, 4.4, 9.3, 4.2, 4.1}, all))[0].symptom, Symptom::healthy);
  EXPECT_NE(
      diagnose(steady({4.2, 4.1, 3.2, 4.4, 5.3, 5.9, 5.1}, [](size_t i) { return i < 4 ? 1.9 : 1.2; }))[0].symptom,
      Symptom::healthy);
}

// Others are looked at twice a second. An epoch that nobody looked at is not one without others.
TEST(Rules, EpochsTooShortForALookAreNotWithoutOthers) {
  RunRecord run = run_of({0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 1.6, 1.6, 1.6});
  for (double t = 0; t <= run.seconds + 0.5; t += 0.5)
    run.samples.push_back({t,
                           {{sample_key::cpus, 2},
                            {sample_key::cpu_seconds, 0.9 * t},
                            {sample_key::other_cpu_seconds, 1.2 * t},
                            {sample_key::run_delay_seconds, 0.4 * t}}});
  for (const Verdict& verdict : diagnose(run)) EXPECT_NE(verdict.cause, Cause::machine_contention) << verdict.summary;
}

// A reading that begins in the middle of a run tells nothing about the epochs before it.
TEST(Rules, OthersThatNobodyLookedForAtFirstAreNotNew) {
  RunRecord run = run_of({0.6, 0.6, 0.6, 1.8, 2.2});
  for (double t = 0; t <= run.seconds + 0.2; t += 0.2) {
    run.samples.push_back({t, {{sample_key::cpus, 2}, {sample_key::cpu_seconds, 0.1 * t}}});
    if (t < 1.7) continue;
    run.samples.back().values[sample_key::other_cpu_seconds] = 1.6 * t;
    run.samples.back().values[sample_key::run_delay_seconds] = 0.3 * t;
  }
  for (const Verdict& verdict : diagnose(run)) EXPECT_NE(verdict.cause, Cause::machine_contention) << verdict.summary;
}

// Every TensorFlow program traces its step for a second or two, and on a busy machine for longer.
TEST(Rules, OrdinaryTracingComesAfterWhatTookMore) {
  RunRecord run = run_of({6.8, 0.6, 0.7, 0.6, 0.7}, "keras");
  phase(run, 0, Phase::trace, 2.7);
  phase(run, 0, Phase::input, 3.4);
  for (size_t i = 1; i < 5; ++i) phase(run, i, Phase::forward, 0.6);
  run.facts.push_back({"dataset.cache", "steps waited 3.3 s while the cache was being filled", "stack samples"});
  expect(run, Symptom::slow_first, Cause::input_cache_fill);
  run.epochs[0].phases = {};
  phase(run, 0, Phase::trace, 5.0);
  phase(run, 0, Phase::input, 1.1);
  expect(run, Symptom::slow_first, Cause::startup_graph);
}

// PyTorch's late loading does not hide a fault of seconds beside it.
TEST(Rules, FaultBesideAnOrdinaryStart) {
  RunRecord run = run_of({5.0, 1.0, 1.0, 1.1, 1.0});
  phase(run, 0, Phase::start, 2.1);
  phase(run, 0, Phase::init, 1.8);
  for (size_t i = 0; i < 5; ++i) phase(run, i, Phase::forward, 1.0);
  run.spans.push_back({"import torch", Phase::start, 0.1, 2.1, 1});
  run.spans.push_back({"weight initialisation", Phase::init, 2.2, 1.8, 1});
  expect(run, Symptom::slow_first, Cause::startup_init);
  run.epochs[0].phases[static_cast<size_t>(Phase::init)] = 0.4;
  run.epochs[0].phases[static_cast<size_t>(Phase::start)] = 3.4;
  expect(run, Symptom::healthy, Cause::none);
}

// Lightning loads parts of itself, and torchmetrics with them, when training begins.
TEST(Rules, WhatAFrameworkDrawsInBelongsToItsStart) {
  RunRecord run = run_of({4.4, 1.3, 1.2, 1.3, 1.3}, "lightning");
  phase(run, 0, Phase::start, 2.5);
  for (size_t i = 0; i < 5; ++i) phase(run, i, Phase::forward, 1.2);
  run.spans.push_back({"import lightning", Phase::start, 0.1, 2.2, 1});
  run.spans.push_back({"import torchmetrics", Phase::start, 2.3, 0.12, 1});
  expect(run, Symptom::healthy, Cause::none);
  run.spans.back() = {"import pandas", Phase::start, 2.3, 1.5, 1};
  expect(run, Symptom::slow_first, Cause::startup_import);
}

}  // namespace
}  // namespace isochron
