// Where the input of a first epoch came from: a disk, a buffer that had to be full, a cache that was filled.
#include "made_up_run.h"

namespace isochron {
namespace {

RunRecord slow_input_at_first(double lead, const char* store = "") {
  RunRecord run = run_of({6, 1, 1, 1, 1});
  for (size_t i = 0; i < 5; ++i) phase(run, i, Phase::input, i == 0 ? 5.2 : 0.2);
  if (lead > 0) run.facts.push_back({"input.lead", std::to_string(lead) + store, "stack samples", 0.0, 1});
  count(run, sample_key::cpu_seconds, [](size_t) { return 1.0; });
  count(run, sample_key::system_seconds, [](size_t) { return 0.05; });
  return run;
}

TEST(RulesOfInput, RandomReadsCostTheKernelCpuTimeToo) {
  RunRecord run = slow_input_at_first(0);
  count(run, sample_key::read_bytes, [](size_t i) { return i == 0 ? 65e6 : 0; });
  expect(run, Symptom::slow_first, Cause::input_cache_fill);
  count(run, sample_key::system_seconds, [](size_t i) { return i == 0 ? 0.85 : 0.05; });
  expect(run, Symptom::slow_first, Cause::input_cold_read);
}

TEST(RulesOfInput, UnevennessWithoutReasonDoesNotHideAFirstEpochThatHasOne) {
  RunRecord run = run_of({4.5, 2.4, 2.6, 1.45, 1.45, 2.6});
  phase(run, 0, Phase::input, 2.0);
  for (size_t i = 1; i < 6; ++i) phase(run, i, Phase::input, 0.1);
  EXPECT_EQ(diagnose(run)[0].symptom, Symptom::uneven);
  count(run, sample_key::cpu_seconds, [](size_t) { return 1.0; });
  count(run, sample_key::system_seconds, [](size_t i) { return i == 0 ? 0.5 : 0; });
  count(run, sample_key::read_bytes, [](size_t i) { return i == 0 ? 130e6 : 0; });
  expect(run, Symptom::slow_first, Cause::input_cold_read);
}

TEST(RulesOfInput, TheSameBytesFromStorageOnceAreAColdReadWhateverSpinsMeanwhile) {
  RunRecord run = run_of({1.65, 0.7, 0.7, 0.7, 0.7});
  for (size_t i = 0; i < 5; ++i) phase(run, i, Phase::input, i == 0 ? 1.15 : 0.2);
  count(run, sample_key::cpu_seconds, [](size_t i) { return i == 0 ? 1.5 : 2.0; });
  count(run, sample_key::read_bytes, [](size_t i) { return i == 0 ? 240e6 : 0; });
  EXPECT_NE(diagnose(run)[0].cause, Cause::input_cold_read);  // it may have computed what it kept
  count(run, sample_key::read_chars, [](size_t i) { return i == 0 ? 240e6 : 560e6; });
  expect(run, Symptom::slow_first, Cause::input_cold_read);
}

TEST(RulesOfInput, WhoHasNoCoreDoesNotWaitForTheDisk) {
  RunRecord run = run_of({20, 1.5, 1.5, 1.5, 1.5});
  for (size_t i = 0; i < 5; ++i) phase(run, i, Phase::forward, i == 0 ? 19 : 1.4);
  count(run, sample_key::cpu_seconds, [](size_t) { return 0.2; });
  count(run, sample_key::read_bytes, [](size_t i) { return i == 0 ? 0.5e6 : 0; });
  count(run, sample_key::pressure_io_seconds, [](size_t i) { return i == 0 ? 0.01 : 0; });
  EXPECT_EQ(diagnose(run)[0].cause, Cause::unknown);
  // A line of the model that only the first epoch reaches is what it does once.
  run.facts.push_back({"hotspot", "18.0 s forward at net.py:7 Net.forward", "stack samples", 0.0, 1});
  for (int i = 2; i <= 5; ++i)
    run.facts.push_back({"hotspot", "1.3 s forward at net.py:9 Net.forward", "stack samples", 1.0, i});
  expect(run, Symptom::slow_first, Cause::startup_init);
}

TEST(RulesOfInput, ADatasetThatKeepsWhatItGaveLeaks) {
  RunRecord run = run_of({1, 2, 3, 4, 5, 6});
  for (size_t i = 0; i < 6; ++i) phase(run, i, Phase::input, 0.8 + static_cast<double>(i));
  expect(run, Symptom::slowing, Cause::input_bound);
  sample(run, [](Sample& now, size_t) { now.values[sample_key::rss_bytes] = 700e6 + 8e6 * now.time; });
  expect(run, Symptom::slowing, Cause::memory_leak);
}

TEST(RulesOfInput, TheLineThatMakesTheInputIsNamed) {
  RunRecord run = run_of({2, 2, 2, 2});
  for (size_t i = 0; i < 4; ++i) {
    phase(run, i, Phase::input, 1.6);
    const int index = static_cast<int>(i) + 1;
    run.facts.push_back({"hotspot", "1.50 s a generator at train.py:9 batches", "stack samples", 0.0, index});
    run.facts.push_back({"hotspot", "0.40 s forward at train.py:14 <module>", "stack samples", 0.0, index});
  }
  expect(run, Symptom::slow_overall, Cause::input_bound);
  EXPECT_EQ(diagnose(run)[0].evidence[1], "6.0 s: a generator at train.py:9 batches");
}

TEST(RulesOfInput, WhatComesBeforeTheFirstStepIsABuffer) {
  expect(slow_input_at_first(5), Symptom::slow_first, Cause::input_shuffle_fill);
  expect(slow_input_at_first(5, " buffer"), Symptom::slow_first, Cause::input_shuffle_fill);
}

TEST(RulesOfInput, WhatComesStepByStepOrIsCalledSoIsACache) {
  expect(slow_input_at_first(0.5), Symptom::slow_first, Cause::input_cache_fill);
  expect(slow_input_at_first(5, " cache"), Symptom::slow_first, Cause::input_cache_fill);
}

TEST(RulesOfInput, BatchesSkippedAfterResumingComeBeforeTheFirstStepToo) {
  RunRecord run = slow_input_at_first(5);
  run.facts.push_back({"resume", "resuming from step 330", "console.log:1"});
  expect(run, Symptom::slow_first, Cause::resume_skip);
}

// The batches skipped after resuming are waited for in the first epoch alone, whatever all epochs wait. As a watch saw
// it.
TEST(RulesOfInput, WaitsOfAResumedFirstEpochAreNotThoseOfAll) {
  RunRecord run = run_of({4.9, 1.98, 2.56, 2.03, 2.28});
  const double input[] = {4.5, 0.52, 1.31, 0.39, 1.1};
  for (size_t i = 0; i < 5; ++i) {
    phase(run, i, Phase::input, input[i]);
    phase(run, i, Phase::forward, run.epochs[i].seconds - input[i]);
    run.epochs[i].index += 7;
  }
  run.facts.push_back({"resume", "loaded out/last.pt", "output:1", 0});
  expect(run, Symptom::slow_first, Cause::resume_skip);
}

}  // namespace
}  // namespace isochron
