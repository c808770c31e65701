// Runs that hang, or ended before their time.
#include <gtest/gtest.h>

#include "tests/diagnose/made_up_run.h"

namespace isochron {
namespace {

TEST(Rules, Stuck) {
  RunRecord run = run_of({1.5, 1.3});
  run.open_epoch = OpenEpoch{3, 2.8, 0, 67};
  expect(run, Symptom::stuck, Cause::unknown);
  for (const Cause cause : {Cause::wait_worker, Cause::wait_lock, Cause::wait_io, Cause::wait_peer}) {
    RunRecord seen = run;
    seen.facts.push_back({"stall.state", "stuck", "watch"});
    seen.facts.push_back({"stall.cause", std::string(name_of(cause)), "watch"});
    seen.facts.push_back({"stall.evidence", "what it waits for", "watch"});
    expect(seen, Symptom::stuck, cause);
  }
  RunRecord ended = run;
  ended.facts.push_back({"stall.state", "stuck", "watch"});
  ended.facts.push_back({"stall.cause", "wait.lock", "watch"});
  ended.facts.push_back({"stall.evidence", "what it waits for", "watch"});
  ended.facts.push_back({"exit", "-9", "wait status"});  // whoever ended it
  expect(ended, Symptom::stuck, Cause::wait_lock);
  run.facts.push_back({"exit", "0", "watch"});
  expect(run, Symptom::healthy, Cause::none);
}

TEST(Rules, StuckWhenAWorkerWasLost) {
  RunRecord run = run_of({1.3, 1.2, 1.2});
  RunRecord thread = run;
  run.facts.push_back({"process.exception", "ValueError: corrupt record 130", "log:13"});
  expect(run, Symptom::stuck, Cause::wait_worker);
  run.facts.push_back({"exit", "0", "wait status"});
  expect(run, Symptom::died, Cause::unknown);  // with its child: that one trained
  run.planned_epochs = 3;
  expect(run, Symptom::healthy, Cause::none);
  thread.facts.push_back({"thread.exception", "OSError: closed", "log:13"});
  expect(thread, Symptom::healthy, Cause::none);  // threads may end so as the program does
  thread.planned_epochs = 5;
  expect(thread, Symptom::stuck, Cause::wait_worker);
  thread.planned_epochs = 3;
  expect(thread, Symptom::healthy, Cause::none);
}

TEST(Rules, LoopThatComputesForEver) {
  RunRecord run = run_of({0.21, 0.25, 0.19});
  run.planned_epochs = 6;
  run.facts.push_back({"silence", "232.0", "watch"});
  run.facts.push_back({"stall.state", "slow", "watch"});
  run.facts.push_back({"stall.summary", "it computes on 1.0 CPU cores at train.py:11 sample", "watch"});
  run.facts.push_back({"finished", "still running", "watch"});
  EXPECT_EQ(diagnose(run)[0].symptom, Symptom::healthy) << "nobody ended it";
  run.facts.push_back({"ended.by", "signal 15", "watch"});
  expect(run, Symptom::stuck, Cause::unknown);
  run.planned_epochs = 3;  // what comes after the last epoch may take any time
  EXPECT_EQ(diagnose(run)[0].symptom, Symptom::healthy);
}

TEST(Rules, Died) {
  const auto with = [](const char* key, const std::vector<double>& epochs) {
    RunRecord run = run_of(epochs);
    run.facts.push_back({key, "the last words", "log:9"});
    return run;
  };
  expect(with("oom", {}), Symptom::died, Cause::memory_oversized);
  expect(with("oom", {1, 1, 1, 1}), Symptom::died, Cause::memory_leak);
  expect(with("disk.full", {1, 1}), Symptom::died, Cause::disk_full);
  expect(with("exception", {1, 1}), Symptom::died, Cause::unknown);
  expect(with("interrupted", {1, 1}), Symptom::healthy, Cause::none);
}

TEST(Rules, ACrashAfterTheLastEpochEndedNoTraining) {
  RunRecord run = run_of({1, 1, 1, 3, 3, 3});
  run.facts.push_back({"exit", "-11", "wait status"});
  EXPECT_EQ(diagnose(run)[0].symptom, Symptom::died);
  run.planned_epochs = 6;
  EXPECT_EQ(diagnose(run)[0].symptom, Symptom::slower_later);
}

}  // namespace
}  // namespace isochron
