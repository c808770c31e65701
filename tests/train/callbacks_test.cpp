// Callbacks against Keras (tests/references/callbacks.json) and in real fits.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "isochron/base/files.h"
#include "isochron/checkpoint/state_dict.h"
#include "isochron/isochron.h"
#include "tests/base/captured_stderr.h"
#include "tests/base/file_size_limit.h"
#include "tests/source_dir.h"

namespace isochron {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const json& reference() {
  static const json document = json::parse(read_file(ISOCHRON_SOURCE_DIR "/tests/references/callbacks.json"));
  return document;
}

struct Problem {
  Tensor x = random_normal({64, 2}, 0, 1, {.seed = 7}).eval();
  Tensor y = (matmul(x, tensor({{2.0}, {-1.0}})) + 1).eval();
  Sequential model{Input({2}), Dense(1)};
  explicit Problem(double rate = 0.1, NanPolicy policy = NanPolicy::raise) {
    model.compile({.optimizer = SGD(rate), .loss = "mse", .metrics = {"mae"}, .nan_policy = policy});
  }
};

TEST(EarlyStopping, StopsWhereKerasStops) {
  Problem problem;
  ASSERT_GT(reference()["early_stopping"].size(), 100u);
  for (const json& item : reference()["early_stopping"]) {
    const json& o = item["options"];
    EarlyStopping::Options options{.monitor = o["monitor"],
                                   .min_delta = o["min_delta"],
                                   .patience = o["patience"],
                                   .start_from_epoch = o["start_from_epoch"]};
    if (!o["baseline"].is_null()) options.baseline = o["baseline"].get<double>();
    EarlyStopping callback(options);
    problem.model.stop_training = false;
    callback.set_model(&problem.model);
    callback.on_train_begin({});
    int epochs = 0;
    for (const json& value : item["values"]) {
      callback.on_epoch_end(epochs++, {{options.monitor, value.get<double>()}});
      if (problem.model.stop_training) break;
    }
    EXPECT_EQ(epochs, item["epochs"].get<int>()) << item.dump();
    EXPECT_EQ(callback.stopped_epoch(), item["stopped_epoch"].get<int>()) << item.dump();
    EXPECT_EQ(callback.best_epoch(), item["best_epoch"].get<int>()) << item.dump();
  }
}

// By the name alone, of an output of any name too.
TEST(Monitor, KnowsWhichWayKerasMetricsGetBetter) {
  ASSERT_GT(reference()["directions"].size(), 30u);
  for (const auto& [name, direction] : reference()["directions"].items())
    for (const char* output : {"", "val_", "score_", "val_loss_", "vaccine_"}) {
      const Monitor monitor("test", output + name, MonitorMode::automatic, 0, "");
      EXPECT_EQ(monitor.improves(1, 0), direction == "up") << output + name;
    }
  for (const char* loss : {"loss", "val_loss", "score_loss", "precision_head_loss", "vaccine_loss"})
    EXPECT_FALSE(Monitor("test", loss, MonitorMode::automatic, 0, "").improves(1, 0)) << loss;
}

TEST(Callbacks, AreGivenByValueOrKept) {
  const GivenCallbacks all = {EarlyStopping(),
                              ReduceLROnPlateau(),
                              TerminateOnNaN(),
                              CSVLogger("log.csv"),
                              JsonLinesLogger("a.jsonl"),
                              ProgbarLogger(),
                              LambdaCallback({.on_epoch_end = {}}),
                              TensorBoard({.log_dir = "a"}),
                              ModelCheckpoint("a"),
                              BackupAndRestore("a")};
  EXPECT_EQ(all.size(), 10u);
  Sequential model{Dense(1)};
  model.compile({.optimizer = SGD(0.0), .loss = "mse"});
  const auto kept = std::make_shared<EarlyStopping>(EarlyStopping::Options{.monitor = "loss", .patience = 2});
  int epochs = 0;
  const History history =
      model.fit(ones({4, 2}), ones({4, 1}),
                {.epochs = 9, .verbose = 0, .callbacks = {kept, LearningRateScheduler([&](int, double rate) {
                                                            ++epochs;
                                                            return rate;
                                                          })}});
  EXPECT_EQ(history["loss"].size(), 3u);
  EXPECT_EQ(kept->stopped_epoch(), 2);
  EXPECT_EQ(epochs, 3);
}

TEST(EarlyStopping, RestoresTheBestWeights) {
  Problem problem(0);
  auto stopping = std::make_shared<EarlyStopping>(
      EarlyStopping::Options{.monitor = "val_loss", .patience = 1, .restore_best_weights = true});
  // Weights are set by hand at the end of each epoch: the second epoch's are the best.
  auto mover = std::make_shared<LambdaCallback>(LambdaCallback::Hooks{.on_epoch_begin = [&](int epoch, const Logs&) {
    const double weight = epoch == 1 ? 2 : 20.0 + epoch;
    problem.model.set_weights({tensor({{weight}, {-1.0}}), tensor({1.0})});
  }});
  const History history = problem.model.fit(problem.x, problem.y,
                                            {.epochs = 9,
                                             .validation_data = ValidationData{problem.x, problem.y, {}},
                                             .verbose = 0,
                                             .callbacks = {mover, stopping}});
  EXPECT_EQ(history.epochs().size(), 3u);
  EXPECT_EQ(stopping->best_epoch(), 1);
  EXPECT_FLOAT_EQ(static_cast<float>(problem.model.get_weights()[0].to_vector<double>()[0]), 2.0f);
}

TEST(EarlyStopping, SaysWhatItCanNotKnow) {
  EXPECT_THROW(EarlyStopping({.monitor = "val_zeal"}), ValueError);
  EXPECT_NO_THROW(EarlyStopping({.monitor = "val_zeal", .mode = MonitorMode::max}));
  Problem problem;
  testing::internal::CaptureStderr();
  problem.model.fit(problem.x, problem.y,
                    {.epochs = 2, .verbose = 0, .callbacks = {std::make_shared<EarlyStopping>()}});
  EXPECT_EQ(captured_stderr(),
            "isochron: warning: EarlyStopping: there is no \"val_loss\" to go by, so training is not ended early; "
            "available: loss, mae\n");
}

TEST(ReduceLROnPlateau, RatesAreThoseOfKeras) {
  Problem problem;
  ASSERT_GT(reference()["reduce_lr"].size(), 100u);
  for (const json& item : reference()["reduce_lr"]) {
    const json& o = item["options"];
    ReduceLROnPlateau callback({.monitor = o["monitor"],
                                .factor = o["factor"],
                                .patience = o["patience"],
                                .min_delta = o["min_delta"],
                                .cooldown = o["cooldown"],
                                .min_lr = o["min_lr"]});
    problem.model.optimizer().set_learning_rate(0.1);
    callback.set_model(&problem.model);
    callback.on_train_begin({});
    std::vector<double> rates;
    for (const json& value : item["values"]) {
      callback.on_epoch_end(static_cast<int>(rates.size()), {{o["monitor"], value.get<double>()}});
      rates.push_back(problem.model.optimizer().learning_rate());
    }
    const auto expected = item["rates"].get<std::vector<double>>();
    for (size_t i = 0; i < rates.size(); ++i) EXPECT_NEAR(rates[i], expected[i], 1e-7) << item.dump() << " epoch " << i;
  }
  EXPECT_THROW(ReduceLROnPlateau({.factor = 1.5}), ValueError);
  EXPECT_THROW(ReduceLROnPlateau({.factor = -0.5}), ValueError);
  EXPECT_THROW(ReduceLROnPlateau({.patience = -1}), ValueError);
  EXPECT_THROW(ReduceLROnPlateau({.cooldown = -1}), ValueError);
  EXPECT_THROW(EarlyStopping({.patience = -1}), ValueError);
  EXPECT_THROW(EarlyStopping({.start_from_epoch = -1}), ValueError);
}

TEST(ReduceLROnPlateau, RefusesAScheduleBeforeTheFirstStep) {
  Problem problem;
  problem.model.compile(
      {.optimizer = SGD(ExponentialDecay({.initial_learning_rate = 0.1, .decay_steps = 10})), .loss = "mse"});
  EXPECT_THROW(
      problem.model.fit(problem.x, problem.y, {.verbose = 0, .callbacks = {std::make_shared<ReduceLROnPlateau>()}}),
      StateError);
  EXPECT_EQ(problem.model.optimizer().iterations().item<int64_t>(), 0);
}

TEST(LearningRateScheduler, SetsTheRateOfEveryEpoch) {
  Problem problem;
  std::vector<double> before;
  const auto halving = [&](int, double rate) { return before.push_back(rate), rate / 2; };
  // The last one sees what the others add to the logs.
  std::vector<double> seen;
  LambdaCallback::Hooks hooks;
  hooks.on_epoch_end = [&](int, const Logs& logs) { seen.push_back(logs_value(logs, "learning_rate")); };
  const History history = problem.model.fit(
      problem.x, problem.y,
      {.epochs = 3,
       .verbose = 0,
       .callbacks = {std::make_shared<LambdaCallback>(hooks), std::make_shared<LearningRateScheduler>(halving),
                     std::make_shared<ReduceLROnPlateau>(ReduceLROnPlateau::Options{.monitor = "loss"})}});
  EXPECT_EQ(history["learning_rate"], seen);
  EXPECT_THAT(seen, testing::Pointwise(testing::DoubleNear(1e-7), {0.05, 0.025, 0.0125}));
  ASSERT_EQ(before.size(), 3u);
  EXPECT_NEAR(before[2], 0.025, 1e-7);
  EXPECT_NEAR(problem.model.optimizer().learning_rate(), 0.0125, 1e-7);
  const auto bad = std::make_shared<LearningRateScheduler>([](int, double) { return std::nan(""); });
  EXPECT_THROW(problem.model.fit(problem.x, problem.y, {.verbose = 0, .callbacks = {bad}}), ValueError);
}

TEST(Callbacks, WhatTheySayStandsAmongTheProgressWhereItBelongs) {
  constexpr int kEpochs = 50;  // in less time than lines are put together
  Problem problem;
  testing::internal::CaptureStdout();
  problem.model.fit(problem.x, problem.y,
                    {.epochs = kEpochs,
                     .verbose = 2,
                     .callbacks = {std::make_shared<LearningRateScheduler>([](int, double) { return 0.25; }, 1)}});
  const std::string text = testing::internal::GetCapturedStdout();
  size_t at = 0;
  for (int epoch = 1; epoch <= kEpochs; ++epoch)
    for (const std::string& part :
         {fmt::format("Epoch {}: LearningRateScheduler setting learning rate to 0.25.\n", epoch),
          fmt::format("Epoch {}/{}\n", epoch, kEpochs), std::string("loss: ")}) {
      const size_t next = text.find(part, at);
      ASSERT_NE(next, std::string::npos) << part << "in\n" << text;
      at = next + 1;
    }
}

TEST(TerminateOnNaN, EndsTheEpochAtTheBadStep) {
  Problem problem(1e30, NanPolicy::warn);
  int64_t steps = 0;
  const auto counter = std::make_shared<LambdaCallback>(
      LambdaCallback::Hooks{.on_train_batch_end = [&](int64_t, const Logs&) { ++steps; }});
  testing::internal::CaptureStdout();
  const History history = problem.model.fit(
      problem.x, problem.y,
      {.epochs = 5, .batch_size = 8, .verbose = 0, .callbacks = {counter, std::make_shared<TerminateOnNaN>()}});
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("invalid loss, terminating training"));
  EXPECT_EQ(history.epochs().size(), 1u);
  EXPECT_LT(steps, 8);
}

TEST(CSVLogger, WritesWhatKerasWrites) {
  TempFolder folder;
  const std::string path = folder.file("log.csv");
  Problem problem(0);
  problem.model.set_weights({tensor({{2.0}, {-1.0}}), tensor({1.5})});
  problem.model.fit(problem.x, problem.y,
                    {.epochs = 2, .verbose = 0, .callbacks = {std::make_shared<CSVLogger>(path)}});
  EXPECT_EQ(read_file(path), "epoch,loss,mae,val_loss,val_mae\n0,0.25,0.5,NA,NA\n1,0.25,0.5,NA,NA\n");
  problem.model.fit(
      problem.x, problem.y,
      {.epochs = 3, .initial_epoch = 2, .verbose = 0, .callbacks = {std::make_shared<CSVLogger>(path, ",", true)}});
  EXPECT_THAT(read_file(path), testing::EndsWith("1,0.25,0.5,NA,NA\n2,0.25,0.5,NA,NA\n"));
  EXPECT_THROW(problem.model.fit(problem.x, problem.y,
                                 {.verbose = 0, .callbacks = {std::make_shared<CSVLogger>(folder.file("none/x.csv"))}}),
               FileError);
}

TEST(CSVLogger, NamesTheColumnsAgainWhereARunIsResumedWithoutItsFile) {
  TempFolder folder;
  StateDict state;
  CSVLogger before(folder.file("before.csv")), after(folder.file("after.csv"));
  before.on_train_begin({});
  before.on_epoch_end(0, {{"loss", 0.5}, {"val_loss", 0.25}});
  before.save_state(state);
  after.set_resuming(true);
  after.on_train_begin({});
  after.load_state(state);
  for (const int epoch : {1, 2}) after.on_epoch_end(epoch, {{"loss", 0.5}, {"val_loss", 0.25}});
  EXPECT_EQ(read_file(folder.file("after.csv")), "epoch,loss,val_loss\n1,0.5,0.25\n2,0.5,0.25\n");
}

TEST(JsonLinesLogger, RowsThatFindNoRoomLeaveNoHalves) {
  TempFolder folder;
  const std::string path = folder.file("log.jsonl");
  JsonLinesLogger logger(path);
  logger.on_train_begin({});
  const auto row = [&](int epoch, const std::string& metric) {
    logger.on_epoch_begin(epoch, {});
    logger.on_epoch_end(epoch, {{metric, 0.5}});
  };
  row(0, std::string(100'000, 'x'));  // leaves room for what is captured
  testing::internal::CaptureStderr();
  {
    const FileSizeLimit full(read_file(path).size() + 10);
    row(1, "loss");
    row(2, "loss");
  }
  row(3, "loss");
  const std::string told = captured_stderr();
  EXPECT_THAT(told, testing::HasSubstr("rows of " + path + " are lost: "));
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
  std::istringstream lines(read_file(path));
  std::vector<int> epochs;
  for (std::string line; std::getline(lines, line);) epochs.push_back(json::parse(line)["epoch"]);
  EXPECT_EQ(epochs, (std::vector<int>{1, 4}));
}

TEST(Callbacks, TrainingOutlivesAFullDiskBelowStandardErrorAndOutputToo) {
  Problem problem;
  std::fflush(stdout);
  const int full = open("/dev/full", O_WRONLY), out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
  dup2(full, STDOUT_FILENO);
  dup2(full, STDERR_FILENO);
  const auto train = [&] {
    return problem.model.fit(
        problem.x, problem.y,
        {.epochs = 3,
         .verbose = 1,
         .callbacks = {std::make_shared<CSVLogger>("/dev/full"), std::make_shared<EarlyStopping>(),
                       std::make_shared<ModelCheckpoint>("/dev/full/ckpt", ModelCheckpoint::Options{.verbose = 1})}});
  };
  size_t epochs = 0;
  EXPECT_NO_THROW(epochs = train()["loss"].size());
  std::fflush(stdout);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  for (const int fd : {full, out, err}) close(fd);
  std::clearerr(stdout);
  std::clearerr(stderr);
  EXPECT_EQ(epochs, 3u);
}

TEST(JsonLinesLogger, EscapesTheNamesOfMetrics) {
  TempFolder folder;
  const std::string path = folder.file("log.jsonl");
  JsonLinesLogger logger(path);
  logger.on_train_begin({});
  logger.on_epoch_begin(0, {});
  logger.on_epoch_end(0, {{"share of \"a\\b\"\n", 0.5}});
  logger.on_train_end({});
  EXPECT_EQ(json::parse(read_file(path))["share of \"a\\b\"\n"], 0.5);
}

TEST(JsonLinesLogger, WritesOneObjectAnEpoch) {
  TempFolder folder;
  const std::string path = folder.file("log.jsonl");
  Problem problem;
  problem.model.fit(problem.x, problem.y,
                    {.epochs = 2, .verbose = 0, .callbacks = {std::make_shared<JsonLinesLogger>(path)}});
  const std::string text = read_file(path);
  const size_t end = text.find('\n');
  const json first = json::parse(text.substr(0, end)), second = json::parse(text.substr(end + 1));
  EXPECT_EQ(first["epoch"], 1);
  EXPECT_EQ(second["epoch"], 2);
  EXPECT_GT(first["seconds"].get<double>(), 0);
  EXPECT_GT(first["loss"].get<double>(), second["loss"].get<double>());
}

class Dawdler : public Callback {
  void on_epoch_end(int, const Logs&) override { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }
};

TEST(CallbackTimes, AreInTheRecordByClassAndTheHeavyOneIsNamed) {
  Problem problem;
  const History history = problem.model.fit(
      problem.x, problem.y,
      {.epochs = 3,
       .verbose = 0,
       .callbacks = {std::make_shared<Dawdler>(), std::make_shared<Dawdler>(),
                     std::make_shared<LearningRateScheduler>([](int, double rate) { return rate; })}});
  const RunRecord read = RunRecord::from_json(history.record().to_json());
  ASSERT_EQ(read.epochs.size(), 3u);
  for (const Epoch& epoch : read.epochs) {
    ASSERT_EQ(epoch.callbacks.size(), 3u);
    EXPECT_GE(epoch.callbacks.at("Dawdler"), 0.02);
    EXPECT_GE(epoch.callbacks.at("Dawdler 2"), 0.02);
    EXPECT_LT(epoch.callbacks.at("LearningRateScheduler"), 0.02);
    // What callbacks took in all, counted in another way.
    EXPECT_NEAR(
        epoch.callbacks.at("Dawdler") + epoch.callbacks.at("Dawdler 2") + epoch.callbacks.at("LearningRateScheduler"),
        epoch.phases[static_cast<size_t>(Phase::callback)], 0.005);
  }
  EXPECT_THAT(history.epoch_report().sentence(), HasSubstr("Callback Dawdler takes"));
}

TEST(ProgbarLogger, PrintsALineAnEpoch) {
  Problem problem;
  ::testing::internal::CaptureStdout();
  problem.model.fit(problem.x, problem.y,
                    {.epochs = 2, .verbose = 0, .callbacks = {std::make_shared<ProgbarLogger>()}});
  const std::string told = ::testing::internal::GetCapturedStdout();
  EXPECT_THAT(told, HasSubstr("Epoch 1/2"));
  EXPECT_THAT(told, HasSubstr("Epoch 2/2"));
  EXPECT_THAT(told, HasSubstr("2/2"));
  EXPECT_THAT(told, HasSubstr("loss: "));
}

}  // namespace
}  // namespace isochron
