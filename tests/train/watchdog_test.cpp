#include "isochron/train/watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "isochron/base/files.h"
#include "isochron/base/interrupt.h"
#include "isochron/base/log.h"
#include "isochron/isochron.h"
#include "isochron/train/slowdown.h"

namespace isochron {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

// What a function that "never" returns waits for.
struct Gate {
  std::atomic<bool> open{false};
  void wait() const {
    while (!open) usleep(2000);
  }
};

struct Reports {
  std::mutex mutex;
  std::vector<std::string> texts;
  WatchdogOptions options(OnStall action, Gate* opens = nullptr) {
    return {
        .action = action, .first_step_limit = 0.2, .least_limit = 0.2, .on_report = [=, this](const std::string& text) {
          std::lock_guard lock(mutex);
          texts.push_back(text);
          if (opens) opens->open = true;
        }};
  }
};

Sequential small_model() {
  Sequential model{Dense(1)};
  model.compile({.optimizer = SGD(0.01), .loss = "mse"});
  return model;
}

[[gnu::noinline]] void wait_at_a_gate(const Gate& gate) {
  gate.wait();
  asm volatile("");  // no tail call
}

// Elements (x, y) of which `stuck` waits at the gate.
data::Dataset gated(std::shared_ptr<Gate> gate, int64_t stuck, int64_t threads) {
  const Tensor x = random_normal({40, 3}, 0, 1, {.seed = 5}).eval(), y = ones({40, 1});
  return data::from_tensor_slices(x, y)
      .map(
          [=](const Tensor& a, const Tensor& b, const data::ElementContext& at) {
            if (at.index == stuck) wait_at_a_gate(*gate);
            return std::pair(a, b);
          },
          {.num_parallel_calls = threads, .name = "decode"})
      .batch(4);
}

TEST(Watchdog, NamesTheMapThatDoesNotReturn) {
  const auto gate = std::make_shared<Gate>();
  Reports reports;
  Sequential model = small_model();
  const History history = model.fit(
      gated(gate, 13, 2), {.epochs = 1, .verbose = 0, .watchdog = reports.options(OnStall::warn, gate.get())});
  ASSERT_EQ(reports.texts.size(), 1u);
  EXPECT_THAT(reports.texts[0],
              AllOf(HasSubstr("no step has ended for"), HasSubstr(": stuck, in epoch 1 of 1"),
                    HasSubstr("phase     input"), HasSubstr("map(decode, 2 in parallel) has been at element 13 for"),
                    AnyOf(HasSubstr("(isochron-data), asleep"), HasSubstr("(isochron-data), runnable")),
                    HasSubstr("wait_at_a_gate"), HasSubstr("of memory available")));
  ASSERT_TRUE(history.record().find_fact("watchdog"));
  EXPECT_THAT(history.record().find_fact("watchdog")->value, HasSubstr("stuck"));
}

TEST(Watchdog, NamesACallbackThatDoesNotReturn) {
  const auto gate = std::make_shared<Gate>();
  Reports reports;
  Sequential model = small_model();
  auto callback = std::make_shared<LambdaCallback>(
      LambdaCallback::Hooks{.on_epoch_end = [=](int, const Logs&) { wait_at_a_gate(*gate); }});
  model.fit(ones({8, 3}), ones({8, 1}),
            {.verbose = 0, .callbacks = {callback}, .watchdog = reports.options(OnStall::dump, gate.get())});
  ASSERT_EQ(reports.texts.size(), 1u);
  EXPECT_THAT(reports.texts[0], AllOf(HasSubstr("phase     callback"), HasSubstr("training  thread"),
                                      HasSubstr("wait_at_a_gate"), HasSubstr("they usually take")));
}

TEST(Watchdog, WhatOnReportThrowsEndsNothing) {
  const auto gate = std::make_shared<Gate>();
  Sequential model = small_model();
  auto callback = std::make_shared<LambdaCallback>(
      LambdaCallback::Hooks{.on_epoch_end = [=](int, const Logs&) { wait_at_a_gate(*gate); }});
  WatchdogOptions options = Reports().options(OnStall::warn);
  options.on_report = [=](const std::string&) {
    gate->open = true;
    throw std::runtime_error("no mail server");
  };
  testing::internal::CaptureStderr();
  model.fit(ones({8, 3}), ones({8, 1}), {.verbose = 0, .callbacks = {callback}, .watchdog = options});
  log_flush();
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("on_report threw: no mail server"), HasSubstr("no step has ended for")));
}

TEST(Watchdog, TellsSlowFromStuck) {
  Reports reports;
  Sequential model = small_model();
  const Tensor x = ones({300, 3}), y = ones({300, 1});
  const auto slow = data::from_tensor_slices(x, y)
                        .map(
                            [](const Tensor& a, const Tensor& b) {
                              usleep(10'000);
                              return std::pair(a, b);
                            },
                            {.name = "slow"})
                        .batch(300);
  model.fit(slow, {.verbose = 0, .watchdog = reports.options(OnStall::warn)});
  ASSERT_FALSE(reports.texts.empty());
  EXPECT_THAT(reports.texts[0], AllOf(HasSubstr(": slow,"), Not(HasSubstr("stuck"))));
}

// On a machine that has too much to do a thread that computes gets only a part of a core.
TEST(Watchdog, TellsComputingFromStuckOnABusyMachineToo) {
  const auto gate = std::make_shared<Gate>();
  std::vector<std::thread> others;
  for (unsigned i = 0; i < 6 * std::thread::hardware_concurrency(); ++i)
    others.emplace_back([=] {
      while (!gate->open) {
      }
    });
  Reports reports;
  Sequential model = small_model();
  const auto busy = data::from_tensor_slices(ones({8, 3}), ones({8, 1}))
                        .map(
                            [=](const Tensor& x, const Tensor& y) {
                              while (!gate->open) {
                              }
                              return std::pair(x, y);
                            },
                            {.num_parallel_calls = 2})
                        .batch(4);
  WatchdogOptions options = reports.options(OnStall::warn, gate.get());
  options.first_step_limit = 2;
  model.fit(busy, {.verbose = 0, .watchdog = options});
  for (std::thread& other : others) other.join();
  ASSERT_FALSE(reports.texts.empty());
  EXPECT_THAT(reports.texts[0], AllOf(HasSubstr(": it computes, and nothing moves"), HasSubstr("waiting for one")));
}

// Steps that take longer than the time between two looks.
TEST(Watchdog, LearnsHowLongSlowStepsTake) {
  const auto gate = std::make_shared<Gate>();
  Reports reports;
  Sequential model = small_model();
  const auto slow =
      std::make_shared<LambdaCallback>(LambdaCallback::Hooks{.on_train_batch_begin = [=](int64_t batch, const Logs&) {
        if (batch < 3)
          usleep(1'000'000);
        else
          wait_at_a_gate(*gate);
      }});
  WatchdogOptions options = reports.options(OnStall::warn, gate.get());
  options.first_step_limit = 60;
  options.times_usual = 1.5;
  model.fit(ones({16, 3}), ones({16, 1}), {.batch_size = 4, .verbose = 0, .callbacks = {slow}, .watchdog = options});
  ASSERT_EQ(reports.texts.size(), 1u);
  const size_t at = reports.texts[0].find("(they usually take ");
  ASSERT_NE(at, std::string::npos) << reports.texts[0];
  const std::string usual = reports.texts[0].substr(at + 19, 12);
  EXPECT_GE(std::stod(usual) * (usual.find(" ms") < 8 ? 1e-3 : 1), 0.7) << reports.texts[0];
}

TEST(Watchdog, EndsTheTrainingAndKeepsTheWeights) {
  const auto gate = std::make_shared<Gate>();
  Reports reports;
  Sequential model = small_model();
  class Saves : public Callback {
   public:
    void on_abort(TrainRun&, const std::string& report) override {
      seen = report;
      saved = model()->get_weights();
    }
    std::string seen;
    std::vector<Tensor> saved;
  };
  const auto saves = std::make_shared<Saves>();
  std::string message;
  {
    const data::Dataset input = gated(gate, 13, 2);
    try {
      model.fit(input, {.verbose = 0, .callbacks = {saves}, .watchdog = reports.options(OnStall::abort)});
    } catch (const StallError& error) {
      message = error.what();
    }
  }  // its threads are left to themselves: nobody waits for them here
  gate->open = true;
  EXPECT_THAT(message,
              AllOf(HasSubstr("ended by the watchdog after 3 steps"), HasSubstr("map(decode, 2 in parallel)")));
  EXPECT_THAT(saves->seen, HasSubstr("element 13"));
  ASSERT_EQ(saves->saved.size(), 2u);
  EXPECT_TRUE(same_elements(saves->saved[0], model.get_weights()[0]));
  // The model goes on with other data.
  EXPECT_NO_THROW(model.fit(ones({8, 3}), ones({8, 1}), {.verbose = 0}));
}

TEST(Watchdog, WhatACallbackThrowsInTheEndDoesNotKeepOthersFromSaving) {
  const TempFolder folder;
  const auto gate = std::make_shared<Gate>();
  Reports reports;
  Sequential model = small_model();
  class Throws : public Callback {
   public:
    explicit Throws(std::shared_ptr<Gate> gate) : gate_(std::move(gate)) {}
    void on_abort(TrainRun&, const std::string&) override {
      gate_->open = true;
      throw std::runtime_error("no mail server");
    }

   private:
    std::shared_ptr<Gate> gate_;
  };
  const std::vector<std::shared_ptr<Callback>> callbacks{std::make_shared<Throws>(gate),
                                                         std::make_shared<ModelCheckpoint>(folder.file("c-{epoch}"))};
  std::string message;
  try {
    model.fit(gated(gate, 13, 2), {.verbose = 0, .callbacks = callbacks, .watchdog = reports.options(OnStall::abort)});
  } catch (const StallError& error) {
    message = error.what();
  }
  EXPECT_THAT(message, AllOf(HasSubstr("while it ended: no mail server"), HasSubstr("the last one is on disk")));
  EXPECT_NO_THROW(verify_checkpoint(folder.file("aborted")));
}

TEST(Watchdog, NamesTheRank) {
  setenv("OMPI_COMM_WORLD_RANK", "3", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "8", 1);
  Reports reports;
  Gate gate;
  Sequential model = small_model();
  model.fit(gated(std::shared_ptr<Gate>(&gate, [](Gate*) {}), 13, 2),
            {.verbose = 0, .watchdog = reports.options(OnStall::warn, &gate)});
  unsetenv("OMPI_COMM_WORLD_RANK");
  unsetenv("OMPI_COMM_WORLD_SIZE");
  ASSERT_FALSE(reports.texts.empty());
  EXPECT_THAT(reports.texts[0], HasSubstr("rank      3 of 8, on "));
}

// The same rows where elements have no numbers: behind a filter, and out of a generator that is itself what gets stuck.
data::Dataset gated_filter(std::shared_ptr<Gate> gate, int64_t stuck, int64_t threads) {
  return gated(std::move(gate), stuck, threads)
      .unbatch()
      .filter([](const Tensor&, const Tensor&) { return true; })
      .batch(4)
      .prefetch();
}
data::Dataset gated_generator(std::shared_ptr<Gate> gate, int64_t stuck, int64_t) {
  return data::from_generator([=] {
           return [=, next = int64_t{0}]() mutable -> std::optional<data::Element> {
             if (next == 40) return std::nullopt;
             if (next++ == stuck) wait_at_a_gate(*gate);
             return data::make_element(full({3}, 0.01 * static_cast<double>(next)).eval(), ones({1}).eval());
           };
         })
      .batch(4)
      .prefetch();
}

struct StuckInput {
  const char* name;
  decltype(&gated) make;
};
// The name of the test, instead of an address that differs from build to build.
void PrintTo(const StuckInput& input, std::ostream* out) { *out << input.name; }
class WatchdogAborts : public testing::TestWithParam<StuckInput> {};

// Nobody can tell the place of a stream that is stuck: what it gave before is made again.
TEST_P(WatchdogAborts, WithACheckpointFromWhichTrainingGoesOnExactly) {
  const TempFolder folder;
  const auto gate = std::make_shared<Gate>(), open = std::make_shared<Gate>();
  open->open = true;
  Reports reports;
  set_seed(3);
  Sequential whole = small_model(), model = small_model();
  for (Sequential* each : {&whole, &model}) each->build({4, 3});
  model.set_weights(whole.get_weights());
  const History expected = whole.fit(GetParam().make(open, 13, 2), {.epochs = 3, .verbose = 0});
  const auto saving = std::make_shared<ModelCheckpoint>(folder.file("c-{epoch}"));
  std::string message;
  try {
    const data::Dataset input = GetParam().make(gate, 13, 2);
    model.fit(input, {.epochs = 3, .verbose = 0, .callbacks = {saving}, .watchdog = reports.options(OnStall::abort)});
  } catch (const StallError& error) {
    message = error.what();
  }
  gate->open = true;
  const CheckpointInfo info = verify_checkpoint(folder.file("aborted"));
  EXPECT_EQ(info.epoch, 0);
  // Three batches lie before the element that is stuck. Who waits for the third may be helping with the fourth.
  EXPECT_THAT(info.step, AllOf(testing::Ge(2), testing::Le(3)));
  EXPECT_THAT(message, AllOf(HasSubstr(fmt::format("ended by the watchdog after {} steps", info.step)),
                             HasSubstr("the last one is on disk: " + folder.file("aborted"))));
  Sequential fresh = small_model();
  const History resumed = fresh.fit(GetParam().make(open, 13, 2), {.epochs = 3, .verbose = 0, .resume = folder.path()});
  EXPECT_EQ(resumed.metrics(), expected.metrics());
}

INSTANTIATE_TEST_SUITE_P(NumbersFilterAndGenerator, WatchdogAborts,
                         testing::Values(StuckInput{"numbers", &gated}, StuckInput{"filter", &gated_filter},
                                         StuckInput{"generator", &gated_generator}));

TEST(Watchdog, SaysNothingWhileStepsEnd) {
  Reports reports;
  Sequential model = small_model();
  auto callback = std::make_shared<LambdaCallback>(
      LambdaCallback::Hooks{.on_train_batch_begin = [](int64_t, const Logs&) { usleep(20'000); }});
  model.fit(ones({160, 3}), ones({160, 1}),
            {.batch_size = 4, .verbose = 0, .callbacks = {callback}, .watchdog = reports.options(OnStall::abort)});
  EXPECT_TRUE(reports.texts.empty());
}

TEST(Watchdog, IsSilentWhenOff) {
  const auto gate = std::make_shared<Gate>();
  Reports reports;
  Sequential model = small_model();
  auto callback = std::make_shared<LambdaCallback>(
      LambdaCallback::Hooks{.on_epoch_end = [](int, const Logs&) { usleep(1'000'000); }});
  model.fit(ones({8, 3}), ones({8, 1}),
            {.verbose = 0, .callbacks = {callback}, .watchdog = reports.options(OnStall::off)});
  EXPECT_TRUE(reports.texts.empty());
}

// A run of which epoch i took seconds[i].
RunRecord run_of(const std::vector<double>& seconds) {
  RunRecord run;
  run.source = run.framework = "isochron";
  double now = 0;
  for (size_t i = 0; i < seconds.size(); ++i) {
    Epoch epoch{.index = static_cast<int>(i) + 1, .start = now, .seconds = seconds[i], .steps = 100};
    epoch.phases[static_cast<size_t>(Phase::forward)] = 0.1;
    epoch.phases[static_cast<size_t>(Phase::callback)] = seconds[i] - 0.1;
    run.epochs.push_back(epoch);
    now += seconds[i];
  }
  run.seconds = now;
  return run;
}

TEST(Slowdown, IsNamedWithItsCause) {
  RunRecord run = run_of({1.0, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0});
  const std::string text = note_slowdown(run);
  EXPECT_THAT(text, HasSubstr("epochs became slower (train.callback)"));
  ASSERT_TRUE(run.find_fact("slowdown"));
  EXPECT_EQ(run.find_fact("slowdown")->value, text);
  EXPECT_THAT(EpochReport(run).to_string(), HasSubstr("Slower: epochs became slower"));
  EXPECT_THAT(EpochReport(run).to_string(), testing::Not(HasSubstr("..")));
}

TEST(Slowdown, IsNotSeenWhereThereIsNone) {
  for (const std::vector<double>& seconds :
       {std::vector<double>{9, 1, 1, 1.05, 1, 0.95, 1, 1}, {1, 1, 1}, {1, 0.001, 0.001, 0.002, 0.003, 0.004}}) {
    RunRecord run = run_of(seconds);
    EXPECT_EQ(note_slowdown(run), "");
    EXPECT_FALSE(run.find_fact("slowdown"));
  }
}

}  // namespace
}  // namespace isochron
