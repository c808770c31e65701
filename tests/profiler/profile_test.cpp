#include "isochron/profiler/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include <nlohmann/json.hpp>

#include "isochron/base/files.h"
#include "isochron/isochron.h"
#include "isochron/profiler/machine_peak.h"
#include "isochron/readers/kineto.h"
#include "tests/message_of.h"

namespace isochron::profiler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

History train(Profile* profile, int epochs = 1) {
  Sequential model{Dense(16, {.activation = "relu"}), Dense(3)};
  model.compile({.optimizer = Adam(1e-3), .loss = "mse"});
  return model.fit(full({80, 8}, 0.5f), full({80, 3}, 1.f),
                   {.epochs = epochs, .batch_size = 8, .verbose = 0, .profiler = profile});
}

TEST(Profile, CountsCallsAndFlopsOfOps) {
  const Tensor a = full({4, 8}, 1.f).eval(), b = full({8, 16}, 2.f).eval();
  auto product = function([](Tensor x, Tensor y) { return matmul(x, y); });
  product(a, b);
  Profile profile;
  for (int i = 0; i < 5; ++i) product(a, b).eval();
  profile.stop();
  product(a, b);
  const FunctionAverage row = profile.key_averages()["matmul"];
  EXPECT_EQ(row.count, 5);
  EXPECT_EQ(row.flops, 5 * 2.0 * 4 * 8 * 16);
  EXPECT_EQ(row.bytes, 5 * 4.0 * (4 * 8 + 8 * 16 + 4 * 16));
  EXPECT_GT(row.self_cpu_time_total, 0);
  EXPECT_EQ(row.self_cpu_time_total, row.cpu_time_total);
  EXPECT_THAT(message_of([&] { profile.key_averages()["matmull"]; }), HasSubstr("matmul"));
}

TEST(Profile, NamesFusedOpsByWhatIsInside) {
  const Tensor x = full({32, 8}, 1.f).eval(), w = full({8, 16}, 2.f).eval(), b = full({16}, 2.f).eval();
  auto layer = function([](Tensor in, Tensor weight, Tensor bias) { return relu(matmul(in, weight) + bias); });
  auto pointwise = function([](Tensor in) { return tanh(in * in + in) * in; });
  Profile profile;
  layer(x, w, b).eval();
  pointwise(x).eval();
  profile.stop();
  const KeyAverages averages = profile.key_averages();
  EXPECT_EQ(averages["matmul + bias + relu"].count, 1);
  EXPECT_THAT(averages.table(), HasSubstr("fused("));
  EXPECT_THAT(averages.table(), HasSubstr("tanh"));
}

TEST(Profile, SeparatesShapesWhenAsked) {
  auto product = function([](Tensor x, Tensor y) { return matmul(x, y); });
  const Tensor a = full({4, 8}, 1.f).eval(), b = full({8, 16}, 2.f).eval(), c = full({2, 8}, 1.f).eval();
  Profile profile;
  product(a, b).eval();
  product(c, b).eval();
  product(c, b).eval();
  profile.stop();
  EXPECT_EQ(profile.key_averages()["matmul"].count, 3);
  std::map<std::string, int64_t> by_shape;
  const KeyAverages averages = profile.key_averages({.group_by_input_shape = true});
  for (const FunctionAverage& row : averages.rows())
    if (row.key == "matmul") by_shape[row.input_shapes] = row.count;
  const std::map<std::string, int64_t> expected{{"[[4, 8], [8, 16]]", 1}, {"[[2, 8], [8, 16]]", 2}};
  EXPECT_EQ(by_shape, expected);
  EXPECT_THAT(averages.table(), HasSubstr("Input Shapes"));
}

TEST(Profile, SelfTimeOfARangeLeavesOutWhatIsInside) {
  const Tensor a = full({64, 64}, 1.f).eval();
  auto product = function([](Tensor x) { return matmul(x, x); });
  product(a).eval();
  Profile profile;
  {
    RecordFunction outer("outer");
    {
      RecordFunction inner("inner");
      product(a).eval();
    }
    { RecordFunction inner("inner"); }
  }
  profile.stop();
  const KeyAverages averages = profile.key_averages();
  EXPECT_EQ(averages["outer"].count, 1);
  EXPECT_EQ(averages["inner"].count, 2);
  EXPECT_NEAR(averages["outer"].cpu_time_total,
              averages["outer"].self_cpu_time_total + averages["inner"].cpu_time_total, 1e-12);
  EXPECT_LT(averages["inner"].self_cpu_time_total, averages["inner"].cpu_time_total);
  EXPECT_LT(averages["matmul"].cpu_time_total, averages["inner"].cpu_time_total);
  // Every second counts once.
  EXPECT_NEAR(averages.self_cpu_time_total(), averages["outer"].cpu_time_total, 1e-12);
}

TEST(Profile, TableHasTheLayoutPyTorchUsersKnow) {
  const KeyAverages averages({{.key = "small", .count = 4, .self_cpu_time_total = 25e-6, .cpu_time_total = 25e-6},
                              {.key = "large",
                               .count = 2,
                               .self_cpu_time_total = 75e-6,
                               .cpu_time_total = 75e-6,
                               .flops = 3e6,
                               .bytes = 1.5e6}},
                             false, 80e9);
  std::vector<std::string> lines;
  std::istringstream text(averages.table({.sort_by = "cpu_time_total"}));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 8);
  const auto words = [](const std::string& line) {
    std::vector<std::string> out;
    std::istringstream in(line);
    for (std::string word; in >> word;) out.push_back(word);
    return out;
  };
  EXPECT_THAT(lines[1],
              ::testing::ContainsRegex(
                  "Name +Self CPU % +Self CPU +CPU total % +CPU total +CPU time avg +# of Calls +Total MFLOPs "
                  "+GFLOP/s +% of peak +Total MB +GB/s"));
  EXPECT_THAT(words(lines[3]), ElementsAre("large", "75.00%", "75.000us", "75.00%", "75.000us", "37.500us", "2",
                                           "3.000", "40.00", "50.00%", "1.500", "20.00"));
  EXPECT_THAT(words(lines[4]), ElementsAre("small", "25.00%", "25.000us", "25.00%", "25.000us", "6.250us", "4", "--",
                                           "--", "--", "--", "--"));
  EXPECT_EQ(lines[6], "Self CPU time total: 100.000us");
  EXPECT_EQ(lines[0].size(), lines[3].size());
  EXPECT_THAT(averages.table({.sort_by = "count", .row_limit = 1}), Not(HasSubstr("large")));
  EXPECT_THAT(message_of([&] { averages.table({.sort_by = "cpu_total"}); }), HasSubstr("cpu_time_total"));
}

TEST(Profile, RecordsTheStepsOfItsSchedule) {
  std::vector<int64_t> steps;
  Profile profile({.schedule = {.wait = 1, .warmup = 1, .active = 3, .repeat = 2},
                   .on_trace_ready = [&](Profile& p) { steps.push_back(p.key_averages()["ProfilerStep*"].count); }});
  EXPECT_FALSE(profile.recording());
  const History history = train(&profile, 2);  // 20 steps
  EXPECT_THAT(steps, ElementsAre(3, 3));
  EXPECT_EQ(profile.key_averages()["adam_update"].count, 3);
  ASSERT_EQ(history.record().profiles.size(), 1);
  EXPECT_EQ(history.record().profiles[0].steps.size(), 3);
  EXPECT_THAT(message_of([] { Profile({.schedule = {.wait = 2}}); }), HasSubstr("active"));
  // In the order of torch.profiler.schedule, which designated initializers have to keep to.
  EXPECT_NO_THROW(Profile({.schedule = {.wait = 1, .warmup = 1, .active = 1, .repeat = 1, .skip_first = 1}}));
  EXPECT_THAT(message_of([] { Profile({.schedule = {.wait = -2, .active = 1}}); }), HasSubstr("-2"));
}

TEST(Profile, OfAWholeFitSeesEveryStepAndWhatIsAroundIt) {
  Profile profile;
  train(&profile, 2);
  const KeyAverages averages = profile.key_averages();
  EXPECT_EQ(averages["ProfilerStep*"].count, 20);
  EXPECT_EQ(averages["adam_update"].count, 20);
  EXPECT_EQ(averages["input: pick rows"].count, 20);
  EXPECT_GE(averages["compile"].count, 1);
  EXPECT_GT(profile.memory_timeline().size(), 0);
  EXPECT_GT(profile.memory_timeline()[0].resident, 1e6);
}

TEST(Profile, TraceIsReadBack) {
  const TempFolder folder;
  const std::string path = folder.path() + "/trace.json";
  Profile profile({.schedule = {.active = 4, .repeat = 1}});
  train(&profile);
  profile.export_chrome_trace(path);
  const nlohmann::json trace = nlohmann::json::parse(read_file(path));
  EXPECT_EQ(trace.at("lost_events"), 0);
  int updates = 0;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    EXPECT_GE(event.at("dur").get<double>(), 0);
    if (event.at("name") == "adam_update" && event.at("tid") == 0) {
      ++updates;
      EXPECT_EQ(event.at("args").at("phase"), "update");
    }
  }
  EXPECT_EQ(updates, 4);
  KinetoReader reader(path);
  reader.feed(read_file(path));
  const auto read = reader.finish();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->steps.size(), 4);
}

TEST(Profile, TraceIsBoundedAndSumsAreNot) {
  const TempFolder folder;
  Profile profile({.max_events = 10});
  train(&profile);
  EXPECT_EQ(profile.key_averages()["adam_update"].count, 10);
  profile.export_chrome_trace(folder.path() + "/trace.json");
  profile.export_memory_timeline(folder.path() + "/memory.json");
  const nlohmann::json trace = nlohmann::json::parse(read_file(folder.path() + "/trace.json"));
  int events = 0;
  for (const auto& event : trace.at("traceEvents")) events += event.at("ph") == "X";
  EXPECT_EQ(events, 10);
  EXPECT_GT(trace.at("lost_events").get<int64_t>(), 0);
  const nlohmann::json memory = nlohmann::json::parse(read_file(folder.path() + "/memory.json"));
  EXPECT_EQ(memory.at("seconds").size(), memory.at("tensor_bytes").size());
}

TEST(Profile, OneAtATime) {
  Profile first;
  EXPECT_THAT(message_of([] { Profile second; }), HasSubstr("stop it first"));
  first.stop();
  Profile second;
  EXPECT_TRUE(second.recording());
}

TEST(Profile, AnotherThreadNeitherStopsItNorTakesItAway) {
  auto profile = std::make_unique<Profile>();
  std::thread([&] { EXPECT_THROW(profile->stop(), StateError); }).join();
  EXPECT_TRUE(profile->recording());
  std::thread([&] { profile.reset(); }).join();
  { const ScopedSpan span(Phase::other, "after"); }  // read what was freed, once
  Profile next;
  EXPECT_TRUE(next.recording());
}

TEST(Profile, PeakIsMeasuredOnce) {
  const double one = measure_thread_peak_flops();
  EXPECT_GT(one, 1e8);
  EXPECT_GT(peak_flops(), 1e8);
  EXPECT_EQ(peak_flops(), peak_flops());
}

}  // namespace
}  // namespace isochron::profiler
