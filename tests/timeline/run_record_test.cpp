#include "isochron/timeline/run_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isochron/base/error.h"

namespace isochron {
namespace {

RunRecord full_record() {
  RunRecord run;
  run.source = "watch";
  run.framework = "keras";
  run.seconds = 12.5;
  Epoch epoch{.index = 2, .start = 1.5, .seconds = 3.25};
  epoch.steps = 32;
  epoch.examples = 1000;
  epoch.validation_seconds = 0.5;
  epoch.phases[static_cast<size_t>(Phase::compile)] = 0.25;
  epoch.phases[static_cast<size_t>(Phase::other)] = 3;
  epoch.metrics = {{"loss", 0.125}};
  epoch.first_step_seconds = 0.75;
  epoch.input_seconds = 0.0625;
  epoch.resolution = 1;
  run.epochs.push_back(epoch);
  run.steps.push_back({7, 2, 1.75, 0.5, 0.25});
  run.spans.push_back({"compile", Phase::compile, 1.5, 0.25, 2, 1});
  run.samples.push_back({2.5, {{"rss_bytes", 1e6}}});
  run.facts.push_back({"exit", "-9", "waitpid", 12.5, 2});
  run.profiles.push_back(
      {"trace.json", 1, 2, {{1, 0, 1, 2, {}}}, {PhaseSeconds{}}, {{"mm", Phase::forward, {3}, {1.5}, {}}}});
  run.wall_start = 1.7e9;
  run.planned_epochs = 10;
  run.open_epoch = OpenEpoch{3, 4.75, 5, 32};
  run.outside_phases[static_cast<size_t>(Phase::build)] = 0.5;
  return run;
}

TEST(RunRecord, JsonKeepsEverything) {
  const RunRecord run = full_record();
  const RunRecord back = RunRecord::from_json(run.to_json());
  EXPECT_EQ(back.to_json(), run.to_json());
  EXPECT_EQ(back.epochs.at(0).phases, run.epochs[0].phases);
  EXPECT_EQ(back.outside_phases, run.outside_phases);
  EXPECT_EQ(back.open_epoch->steps, 32);
  EXPECT_EQ(back.epochs[0].metrics.at("loss"), 0.125);
  EXPECT_EQ(back.steps.at(0).input_seconds, 0.25);
  EXPECT_EQ(back.find_fact("exit")->value, "-9");
  EXPECT_EQ(back.find_fact("none"), nullptr);
}

TEST(RunRecord, WhatIsNoRecordIsRefused) {
  for (const char* text :
       {"", "{", "[]", "{}", R"({"schema": 2})", R"({"schema": 1, "epochs": [{}]})", R"({"schema": 1, "epochs": 5})",
        R"({"schema": 1, "epochs": [{"index": "x", "seconds": 1}]})",
        R"({"schema": 1, "epochs": [{"index": 1, "seconds": 1, "phases": {"nap": 1}}]})",
        R"({"schema": 1, "epochs": [{"index": 1e30, "seconds": 1}]})"})
    EXPECT_THROW(RunRecord::from_json(text), FileError) << text;
  const std::string deep(200'000, '[');
  EXPECT_THROW(RunRecord::from_json(R"({"schema": 1, "epochs": )" + deep + std::string(deep.size(), ']') + "}"),
               FileError);
  const RunRecord lost =
      RunRecord::from_json(R"({"schema": 1, "epochs": [{"index": 1, "seconds": 1, "metrics": {"loss": 1e30}}]})");
  EXPECT_EQ(lost.epochs[0].metrics.at("loss"), 1e30);
}

TEST(RunRecord, ChromeTraceHasOneCompleteEventPerInterval) {
  const std::string trace = full_record().to_chrome_trace();
  EXPECT_THAT(trace, ::testing::HasSubstr(R"("name":"epoch 2","cat":"epoch","ph":"X","ts":1500000.0,"dur":3250000.0)"));
  EXPECT_THAT(trace, ::testing::HasSubstr(R"("name":"step 7")"));
  EXPECT_THAT(trace, ::testing::HasSubstr(R"("name":"compile","cat":"compile")"));
  EXPECT_THAT(trace, ::testing::HasSubstr(R"("args":{"rss_bytes":1000000.0})"));
}

}  // namespace
}  // namespace isochron
