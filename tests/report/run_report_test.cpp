#include "isochron/report/run_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "isochron/report/run_comparison.h"
#include "isochron/report/run_summary.h"
#include "isochron/timeline/sample_keys.h"

namespace isochron {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

// Epochs of two phases; `scale` makes everything but the first epoch longer.
RunRecord run_of(int epochs, double scale = 1) {
  RunRecord run;
  run.source = run.framework = "isochron";
  for (int i = 0; i < epochs; ++i) {
    Epoch epoch{.index = i + 1, .start = run.seconds};
    epoch.phases[static_cast<size_t>(Phase::forward)] = 0.1 * (i ? scale : 1);
    epoch.phases[static_cast<size_t>(Phase::input)] = 0.05;
    if (i == 0) epoch.phases[static_cast<size_t>(Phase::compile)] = 0.03;
    for (const double seconds : epoch.phases) epoch.seconds += seconds;
    epoch.callbacks = {{"CSVLogger", 0.001}};
    epoch.metrics = {{"loss", 1.0 / (i + 1)}};
    for (int s = 0; s < 4; ++s)
      run.steps.push_back({4 * i + s + 1, i + 1, epoch.start + s * epoch.seconds / 4, epoch.seconds / 4, 0.0125});
    run.samples.push_back({epoch.start + epoch.seconds, {{sample_key::rss_bytes, 1e8 * scale + i * 1e3}}});
    run.seconds += epoch.seconds;
    run.epochs.push_back(epoch);
  }
  return run;
}

double figure(const RunRecord& run, const std::string& name) {
  for (const Figure& f : figures_of(run))
    if (f.name == name) return f.value;
  ADD_FAILURE() << "no figure " << name;
  return 0;
}

TEST(RunSummary, FiguresOfARun) {
  const RunRecord run = run_of(5);
  EXPECT_EQ(figure(run, "epochs"), 5);
  EXPECT_NEAR(figure(run, "first epoch"), 0.18, 1e-12);
  EXPECT_NEAR(figure(run, "later epochs, median"), 0.15, 1e-12);
  EXPECT_NEAR(figure(run, "first / later"), 1.2, 1e-12);
  EXPECT_NEAR(figure(run, "phase input"), 0.05, 1e-12);
  EXPECT_NEAR(figure(run, "callback CSVLogger"), 0.001, 1e-12);
  EXPECT_NEAR(figure(run, "step, median"), 0.0375, 1e-12);
  EXPECT_NEAR(figure(run, "memory, highest"), 1e8 + 4e3, 1);
  const json summary = json::parse(run_summary_json(run));
  EXPECT_EQ(summary.at("epochs").size(), 5);
  EXPECT_NEAR(summary.at("epochs")[0].at("phases").at("compile").get<double>(), 0.03, 1e-12);
  EXPECT_EQ(summary.at("verdicts").size() > 0, true);
}

TEST(RunHtml, ShowsPhasesFirstEpochStepsInputAndCallbacks) {
  RunRecord run = run_of(5);
  run.input_stages = {{"map(<decode>)", 500, 0.2, 2, 0.01}};
  const std::string page = run_html(run);
  for (const char* part : {"Epochs by phase", "The first epoch, explained", "+30.0 ms", "Time of a step",
                           "map(&lt;decode&gt;)", "CSVLogger", "loss: 0.2 at the end", "class=\"part-2\"", "Memory"})
    EXPECT_THAT(page, HasSubstr(part));
  EXPECT_THAT(page, Not(HasSubstr("http")));
  EXPECT_THAT(page, Not(HasSubstr("<decode>")));
}

// A metric's curve fills its picture, whatever its sign; a NaN is no point of it.
TEST(RunHtml, MetricsFillTheirPictures) {
  RunRecord run = run_of(5);
  const double values[] = {-1, -3, NAN, -2, -5};
  for (size_t i = 0; i < 5; ++i) run.epochs[i].metrics["reward"] = values[i];
  const std::string page = run_html(run);
  EXPECT_THAT(page, HasSubstr("reward: -5 at the end, from -5 to -1"));
  const size_t at = page.find("reward:"), from = page.find("points=\"", at) + 8;
  EXPECT_EQ(page.substr(from, page.find("\"/>", from) - from), "0,4.0 189,36.0 569,20.0 759,68.0 ");
}

TEST(RunHtml, WhatAFewEpochsDidIsNoRowOfTheFirst) {
  RunRecord run = run_of(5);
  run.epochs[3].phases[static_cast<size_t>(Phase::checkpoint)] = 0.01;
  const std::string page = run_html(run);
  EXPECT_THAT(page, HasSubstr("checkpoint"));  // in the bars
  EXPECT_THAT(page, Not(HasSubstr("<td>checkpoint</td>")));
  EXPECT_THAT(page, HasSubstr("<td>input</td>"));
}

TEST(RunHtml, SaysOnceWhoMadeTrainingWait) {
  RunRecord run = run_of(3);
  run.facts = {{"input.verdict", "training waited for `map`", "pipeline"},
               {"input.verdict", "training waited for `map`; epoch 2 did not", "pipeline"}};
  const std::string page = run_html(run);
  const size_t told = page.find("raining waited for `map`; epoch 2 did not.");
  ASSERT_NE(told, std::string::npos);
  EXPECT_EQ(page.find("raining waited for"), told);
}

TEST(RunHtml, OfEmptyAndForeignRuns) {
  EXPECT_THAT(run_html({}), HasSubstr("No epoch was completed"));
  RunRecord log;
  for (int i = 1; i <= 300; ++i) log.epochs.push_back({.index = i, .start = i * 2.0, .seconds = 2});
  const std::string page = run_html(log);
  EXPECT_THAT(page, HasSubstr("one of 6"));
  EXPECT_THAT(page, Not(HasSubstr("explained")));
}

TEST(RunComparison, TellsWhatGrewAndWhy) {
  const RunComparison comparison(run_of(5), run_of(5, 1.5));
  EXPECT_THAT(comparison.sentence(),
              HasSubstr("Epochs take 33.3 % longer: 200 ms instead of 150 ms (+50.0 ms forward)"));
  EXPECT_NEAR(comparison.worst(), 0.5, 1e-4);  // memory
  const std::string text = comparison.to_string();
  EXPECT_THAT(text, ::testing::ContainsRegex("phase forward +100 ms +150 ms +\\+50.0 ms +\\+50.0 %"));
  EXPECT_THAT(text, Not(HasSubstr("phase input")));
  EXPECT_THAT(comparison.to_string(true), HasSubstr("phase input"));
  const json told = json::parse(comparison.to_json());
  bool found = false;
  for (const json& row : told.at("figures"))
    if (row.at("name") == "later epochs, median") {
      found = true;
      EXPECT_NEAR(row.at("change").get<double>(), 1.0 / 3, 1e-9);
    }
  EXPECT_TRUE(found);
}

TEST(RunComparison, OfManyTimesAsMuchGivesNoPercentages) {
  const RunComparison comparison(run_of(5), run_of(5, 60));
  EXPECT_THAT(comparison.sentence(), HasSubstr("Epochs take 40.3x as long: 6.05 s instead of 150 ms"));
  EXPECT_THAT(comparison.to_string(), ::testing::ContainsRegex("phase forward .* 60.0x"));
}

TEST(RunComparison, OfEqualRunsSaysSo) {
  const RunComparison comparison(run_of(5), run_of(5));
  EXPECT_THAT(comparison.sentence(), HasSubstr("as long as before"));
  EXPECT_EQ(comparison.worst(), 0);
}

TEST(RunComparison, ShowsWhatOnlyOneRunHas) {
  RunRecord after = run_of(5);
  for (Epoch& epoch : after.epochs) epoch.callbacks["Slow"] = 0.1;
  after.facts.push_back({"threads", "2", "fit", {}, 0});
  after.facts.push_back({"log.headers", "1", "", {}, 0});
  const std::string text = RunComparison(run_of(5), after).to_string();
  EXPECT_THAT(text, ::testing::ContainsRegex("callback Slow +- +100 ms"));
  EXPECT_THAT(text, HasSubstr("threads: - -> 2"));
  EXPECT_THAT(text, Not(HasSubstr("log.headers")));
  EXPECT_THAT(RunComparison(RunRecord{}, RunRecord{}).sentence(), HasSubstr("no later epochs"));
}

}  // namespace
}  // namespace isochron
