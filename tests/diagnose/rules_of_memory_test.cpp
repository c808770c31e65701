// Rules that judge by the memory of a watched process: how much of it there is, and what it holds.
#include "made_up_run.h"

namespace isochron {
namespace {

TEST(Rules, Leak) {
  RunRecord run = run_of({1, 2, 3, 4, 5});
  sample(run, [](Sample& now, size_t) { now.values[sample_key::rss_bytes] = 500e6 + 50e6 * now.time; });
  expect(run, Symptom::slowing, Cause::memory_leak);
}

// In its first epoch any program takes the memory it needs. The readings are of a run whose last epoch others slowed
// down.
TEST(Rules, MemoryTakenInTheFirstEpochIsNoLeak) {
  RunRecord run = run_of({1.0, 0.95, 0.93, 0.94, 1.5, 1.6});
  const double megabytes[] = {765, 862, 864, 866, 869, 874};
  sample(run, [&](Sample& now, size_t i) { now.values[sample_key::rss_bytes] = 1e6 * megabytes[i]; });
  expect(run, Symptom::slower_later, Cause::unknown);
}

// A larger working set, an arena: memory that rises with the slow epochs and then stays is none that is kept for every
// step. The readings are those of a watched program whose numbers became denormal, but for their noise.
TEST(Rules, MemoryThatRisesOnceIsNoLeak) {
  RunRecord run = run_of({0.46, 0.46, 0.47, 0.46, 2.6, 2.7, 2.7, 2.8});
  const double megabytes[] = {728, 746.3, 748.9, 749.6, 774.5, 774.9, 775.1, 775.2};
  for (size_t i = 0; i < 8; ++i) phase(run, i, Phase::other, run.epochs[i].seconds);
  run.facts.push_back({"hotspot", "2.40 s other at train.py:23 <module>", "watch", {}, 8});
  sample(run, [&](Sample& now, size_t i) { now.values[sample_key::rss_bytes] = 1e6 * megabytes[i]; });
  expect(run, Symptom::slower_later, Cause::unknown);
  // The same rise, spread over the epochs, is.
  for (Sample& now : run.samples) now.values[sample_key::rss_bytes] = 728e6 + 4e6 * now.time;
  expect(run, Symptom::slower_later, Cause::memory_leak);
}

TEST(Rules, LinesThatWaitKeepNothing) {
  RunRecord run = run_of({0.6, 0.6, 0.6, 0.6, 1.4, 1.4, 1.4}, "keras");
  for (size_t i = 0; i < 7; ++i) phase(run, i, Phase::other, i < 4 ? 0.1 : 0.8);
  run.facts.push_back({"hotspot", "0.70 s other at train.py:9 <module>", "watch", {}, 6});
  sample(run, [](Sample& now, size_t) { now.values[sample_key::rss_bytes] = 790e6 + 1.5e6 * now.time; });
  EXPECT_EQ(diagnose(run)[0].cause, Cause::memory_leak);
  count(run, sample_key::cpu_seconds, [](size_t i) { return i < 4 ? 1.5 : 0.7; });  // as much in each epoch
  EXPECT_NE(diagnose(run)[0].cause, Cause::memory_leak);
}

TEST(Rules, NumbersThatBecameTinyWhileEpochsComputeLonger) {
  RunRecord run = run_of({4, 4.1, 3.9, 4, 9, 9.2, 9.1});
  count(run, sample_key::cpu_seconds, [](size_t) { return 1.0; });
  for (Sample& now : run.samples)
    now.values[sample_key::subnormal_share] = now.time > run.epochs[4].start ? 0.03 : 0.001;
  expect(run, Symptom::slower_later, Cause::compute_denormals);
  // The same numbers beside epochs that wait and do not compute prove nothing.
  for (Sample& now : run.samples) now.values[sample_key::cpu_seconds] = now.time < 16 ? now.time : 16 + now.time * 1e-3;
  EXPECT_EQ(diagnose(run)[0].cause, Cause::unknown);
}

// Usual epochs shorter than the pauses between the looks: what was seen before them is what they had.
TEST(Rules, NumbersThatWereSeenLastBeforeShortEpochs) {
  RunRecord run = run_of({0.3, 0.3, 0.3, 0.3, 2.6, 2.7, 2.6, 2.7});
  for (Epoch& epoch : run.epochs) epoch.start += 3;
  run.seconds += 3;
  count(run, sample_key::cpu_seconds, [](size_t) { return 1.5; });
  for (Sample& now : run.samples)
    if (now.time < 2.6 || now.time > 5) now.values[sample_key::subnormal_share] = now.time > 5 ? 0.035 : 0.0;
  expect(run, Symptom::slower_later, Cause::compute_denormals);
  // Had memory been full of such words (small integers are) before training, they would explain nothing.
  for (Sample& now : run.samples)
    if (now.time < 2.6) now.values[sample_key::subnormal_share] = 0.03;
  expect(run, Symptom::slower_later, Cause::unknown);
}

// A profiler's events, a history of counts: small integers in memory that grows are no numbers that became tiny.
TEST(Rules, SmallIntegersInGrowingMemoryAreNoDenormals) {
  RunRecord run = run_of({0.6, 0.6, 0.6, 0.6, 3, 3.1, 3});
  count(run, sample_key::cpu_seconds, [](size_t) { return 1.0; });
  for (Sample& now : run.samples) {
    const double since = std::max(0.0, now.time - run.epochs[4].start);
    now.values[sample_key::subnormal_share] = since > 0 ? 0.0045 : 0.0;
    now.values[sample_key::rss_bytes] = 760e6 + 50e6 * since;
  }
  for (const Verdict& verdict : diagnose(run)) EXPECT_NE(verdict.cause, Cause::compute_denormals);
}

// Larger inputs make both passes longer; kept graphs only the backward one.
TEST(Rules, PassesThatGrowAlikeDoMoreWork) {
  RunRecord run = run_of({1, 2, 3, 4, 5, 6});
  count(run, sample_key::cpu_seconds, [](size_t) { return 0.9; });
  for (Sample& now : run.samples) now.values[sample_key::rss_bytes] = 500e6 + 5e6 * now.time;
  for (size_t i = 0; i < 6; ++i) {
    phase(run, i, Phase::forward, 0.35 * run.epochs[i].seconds);
    phase(run, i, Phase::backward, 0.6 * run.epochs[i].seconds);
  }
  expect(run, Symptom::slowing, Cause::compute_more_work);
  for (size_t i = 0; i < 6; ++i) {
    run.epochs[i].phases = {};
    phase(run, i, Phase::forward, 0.35);
    phase(run, i, Phase::backward, run.epochs[i].seconds - 0.4);
  }
  expect(run, Symptom::slowing, Cause::memory_graph_growth);
}

// Ops made within the loop of a TensorFlow 1 session.
TEST(Rules, ASessionWhoseGraphGrows) {
  const std::vector<double> seconds = {1.2, 1.6, 2.1, 2.6, 3.2, 3.9};
  RunRecord run = run_of(seconds, "tensorflow");
  for (size_t i = 0; i < seconds.size(); ++i) {
    phase(run, i, Phase::forward, seconds[i] - 0.1);
    run.facts.push_back({"hotspot",
                         std::to_string(seconds[i] - 0.2) + " s session.run at ctr.py:49 <module>",
                         "stack samples",
                         {},
                         static_cast<int>(i) + 1});
  }
  count(run, sample_key::cpu_seconds, [](size_t) { return 1.0; });
  expect(run, Symptom::slowing, Cause::memory_graph_growth);
  // The same without sessions is not told by this.
  run.facts.clear();
  EXPECT_NE(diagnose(run)[0].cause, Cause::memory_graph_growth);
}

}  // namespace
}  // namespace isochron
