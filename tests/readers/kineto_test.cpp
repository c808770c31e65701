#include "isochron/readers/kineto.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace isochron {
namespace {

std::string event(std::string_view name, double start_us, double duration_us, std::string_view category = "cpu_op",
                  std::string_view args = "{}") {
  return fmt::format(
      R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": 7, "tid": 7, "ts": {:.3f}, "dur": {:.3f}, "args": {}}})",
      category, name, start_us, duration_us, args);
}

std::string trace_of(const std::vector<std::string>& events) {
  std::string text =
      R"({"schemaVersion": 1, "deviceProperties": [{"id": 0}], "baseTimeNanoseconds": 1000000000000000000, "traceEvents": [)";
  for (size_t i = 0; i < events.size(); ++i) text += (i ? ",\n" : "") + events[i];
  return text + R"(], "traceName": "a\"]}.json"})";
}

// However the bytes are cut.
std::optional<Profile> read(const std::string& text, size_t piece) {
  KinetoReader reader("trace.json");
  for (size_t i = 0; i < text.size(); i += piece) reader.feed(std::string_view(text).substr(i, piece));
  return reader.finish();
}

std::string two_steps() {
  return trace_of({
      R"({"ph": "M", "name": "process_name", "pid": "Spans", "tid": 0, "ts": 1, "args": {"name": "x"}})",
      event("ProfilerStep#4", 1000, 10000, "user_annotation"),
      event("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1000, 6000, "user_annotation"),
      event("aten::stack", 2000, 1000),
      event("aten::linear", 7000, 2000, "cpu_op", R"({"Input Dims": [[32, 784], [10, 784], [10]], "x": "}\\\""})"),
      event("aten::addmm", 7500, 1000),
      event("Optimizer.step#Adam.step", 9500, 1000, "user_annotation"),
      event("ProfilerStep#5", 11000, 5000, "user_annotation"),
      event("aten::linear", 12000, 2000),
      event("ProfilerStep#6", 16000, 1, "user_annotation"),
  });
}

TEST(Kineto, StepsPhasesAndSelfTimes) {
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{1} << 20}) {
    const auto profile = read(two_steps(), piece);
    ASSERT_TRUE(profile);
    ASSERT_EQ(profile->steps.size(), 2u);  // the last mark is cut off by the end of the recording
    EXPECT_EQ(profile->steps[0].index, 4);
    EXPECT_NEAR(profile->steps[0].seconds, 0.010, 1e-9);
    EXPECT_NEAR(profile->steps[0].input_seconds.value(), 0.006, 1e-8);
    EXPECT_NEAR(profile->step_phases[0][static_cast<size_t>(Phase::update)], 0.001, 1e-8);
    EXPECT_NEAR(profile->start, 1e9 + 0.001, 1e-3);
    for (const ProfileOp& op : profile->ops) {
      if (op.name != "aten::linear") continue;
      EXPECT_EQ(op.counts, (std::vector<int64_t>{1, 1}));
      EXPECT_NEAR(op.seconds[0], 0.001, 1e-8);  // without the addmm inside
      ASSERT_FALSE(op.elements.empty());
      EXPECT_FLOAT_EQ(static_cast<float>(op.elements[0]), 32 * 784 + 10 * 784 + 10);
    }
  }
}

TEST(Kineto, UpdatesEndStepsThatNobodyMarked) {
  const auto profile = read(trace_of({event("aten::mm", 0, 800), event("Optimizer.step#SGD.step", 900, 100),
                                      event("aten::mm", 1100, 800), event("Optimizer.step#SGD.step", 2000, 100),
                                      event("aten::mm", 2200, 700), event("Optimizer.step#SGD.step", 2900, 100)}),
                            100);
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->steps.size(), 3u);
}

TEST(Kineto, EmptyAndCutOffTraces) {
  EXPECT_FALSE(read(trace_of({}), 64));
  EXPECT_FALSE(read("", 64));
  const std::string whole = two_steps();
  for (size_t length = 0; length < whole.size(); length += 13) read(whole.substr(0, length), 50);
  EXPECT_TRUE(read(whole.substr(0, whole.size() * 3 / 4), 50));
}

TEST(Kineto, PlainArraysOfEvents) {
  const auto profile = read("[" + event("aten::mm", 0, 800) + "," + event("aten::mm", 900, 800) + "]", 64);
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->ops.size(), 1u);
}

}  // namespace
}  // namespace isochron
