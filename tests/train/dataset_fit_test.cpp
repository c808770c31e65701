// Training, testing and predicting from data sets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "isochron/isochron.h"

namespace isochron {
namespace {

using data::AUTOTUNE;
using data::from_tensor_slices;
using testing::HasSubstr;

// y = 3 x0 - 2 x1 + 1
struct Problem {
  Tensor x, y;
  Problem() {
    std::vector<float> xs, ys;
    for (int i = 0; i < 64; ++i) {
      const float a = static_cast<float>(i % 8) / 8, b = static_cast<float>(i / 8) / 8;
      xs.insert(xs.end(), {a, b});
      ys.push_back(3 * a - 2 * b + 1);
    }
    x = Tensor::from_buffer(xs, {64, 2});
    y = Tensor::from_buffer(ys, {64, 1});
  }
};

Sequential linear() {
  Sequential model{Dense(1, {.kernel_initializer = "zeros"})};
  model.compile({.optimizer = SGD(0.1), .loss = "mse", .metrics = {"mae"}});
  return model;
}

TEST(FitDataset, GivesTheSameWeightsAsTensors) {
  const Problem p;
  Sequential a = linear(), b = linear();
  const History from_tensors = a.fit(p.x, p.y, {.epochs = 5, .batch_size = 10, .shuffle = false, .verbose = 0});
  const History from_dataset = b.fit(from_tensor_slices(p.x, p.y).batch(10), {.epochs = 5, .verbose = 0});
  EXPECT_TRUE(same_elements(a.get_weights()[0], b.get_weights()[0]));
  EXPECT_EQ(from_tensors["loss"], from_dataset["loss"]);
  EXPECT_EQ(*from_dataset.record().epochs[0].steps, 7);
  EXPECT_EQ(*from_dataset.record().epochs[0].examples, 64);
}

TEST(FitDataset, WeightsOfSamplesAreTheThirdComponent) {
  const Problem p;
  const Tensor weights = Tensor::from_buffer(std::vector<float>(64, 0.5f), {64});
  Sequential a = linear(), b = linear();
  a.fit(p.x, p.y, {.batch_size = 16, .shuffle = false, .sample_weight = weights, .verbose = 0});
  b.fit(from_tensor_slices(p.x, p.y, weights).batch(16), {.verbose = 0});
  EXPECT_TRUE(same_elements(a.get_weights()[0], b.get_weights()[0]));
}

TEST(FitDataset, ClassesWeighAsTheyDoInTensors) {
  const Problem p;
  const Tensor labels = cast(p.y > 1, DType::int32);
  const Tensor weights = Tensor::from_buffer(std::vector<float>(64, 0.5f), {64});
  const auto classifier = [] {
    Sequential model{Dense(2, {.kernel_initializer = "zeros"})};
    model.compile({.optimizer = SGD(0.1), .loss = SparseCategoricalCrossentropy({.from_logits = true})});
    return model;
  };
  const std::map<int64_t, double> classes = {{0, 3}, {1, 0.25}};
  Sequential a = classifier(), b = classifier(), c = classifier();
  const FitOptions in_order{.batch_size = 16, .shuffle = false, .class_weight = classes, .verbose = 0};
  const double loss = a.fit(p.x, labels, in_order)["loss"][0];
  EXPECT_EQ(b.fit(from_tensor_slices(p.x, labels).batch(16), {.class_weight = classes, .verbose = 0})["loss"][0], loss);
  EXPECT_TRUE(same_elements(a.get_weights()[0], b.get_weights()[0]));
  // Beside weights of their own, samples weigh the product.
  const auto weighted = from_tensor_slices(p.x, labels, weights).batch(16);
  EXPECT_LT(c.fit(weighted, {.class_weight = classes, .verbose = 0})["loss"][0], 0.6 * loss);
}

TEST(FitDataset, LearnsShuffledWithAParallelMap) {
  const Problem p;
  Sequential model = linear();
  const auto train = from_tensor_slices(p.x, p.y)
                         .shuffle(64, {.seed = 1})
                         .batch(8)
                         .map([](Tensor x, Tensor y) { return std::pair(x * 1, y); }, {.num_parallel_calls = AUTOTUNE})
                         .prefetch();
  model.fit(train, {.epochs = 200, .verbose = 0});
  EXPECT_TRUE(allclose(model.get_weights()[0], tensor({{3.f}, {-2.f}}), 1e-2, 1e-2));
}

TEST(FitDataset, StepsPerEpochGoOnFromPassToPass) {
  const Problem p;
  Sequential a = linear(), b = linear();
  const auto train = from_tensor_slices(p.x, p.y).batch(16);  // 4 batches a pass
  const History history = a.fit(train, {.epochs = 4, .steps_per_epoch = 3, .verbose = 0});
  b.fit(train, {.epochs = 3, .verbose = 0});
  EXPECT_EQ(history["loss"].size(), 4u);
  EXPECT_TRUE(same_elements(a.get_weights()[0], b.get_weights()[0]));
  linear().fit(from_tensor_slices(p.x, p.y).batch(16).repeat(), {.epochs = 2, .steps_per_epoch = 5, .verbose = 0});
}

TEST(FitDataset, ValidatesEvaluatesAndPredicts) {
  const Problem p;
  const auto batches = from_tensor_slices(p.x, p.y).batch(24);
  Sequential model = linear();
  const History history =
      model.fit(batches, {.epochs = 2, .validation_data = data::from_tensor_slices(p.x, p.y).batch(7), .verbose = 0});
  const Logs from_tensors = model.evaluate(p.x, p.y, {.verbose = 0});
  const Logs from_dataset = model.evaluate(batches, {.verbose = 0});
  for (size_t i = 0; i < from_tensors.size(); ++i) {
    EXPECT_EQ(from_tensors[i].first, from_dataset[i].first);
    EXPECT_NEAR(from_tensors[i].second, from_dataset[i].second, 1e-5);
  }
  EXPECT_NEAR(history["val_loss"].back(), from_tensors[0].second, 1e-5);
  EXPECT_TRUE(allclose(model.predict(batches), model.predict(p.x), 1e-5));
  Sequential by_tensors = linear();
  EXPECT_EQ(by_tensors.fit(p.x, p.y, {.validation_data = batches, .verbose = 0})["val_mae"].size(), 1u);
}

TEST(FitDataset, GoesOnInMidPassAfterARestart) {
  const Problem p;
  const auto make = [&] { return from_tensor_slices(p.x, p.y).shuffle(64, {.seed = 5}).batch(8); };
  Sequential whole = linear();
  whole.fit(make(), {.epochs = 2, .verbose = 0});

  Sequential stopped = linear();
  const data::Dataset before = make();
  std::string state;
  const auto stop =
      std::make_shared<LambdaCallback>(LambdaCallback::Hooks{.on_train_batch_end = [&](int64_t batch, const Logs&) {
        if (batch != 4) return;
        state = before.state();
        stopped.stop_training = true;
      }});
  stopped.fit(before, {.verbose = 0, .callbacks = {stop}});
  const data::Dataset after = make();
  after.restore(state);
  stopped.fit(after, {.epochs = 2, .verbose = 0});
  EXPECT_TRUE(same_elements(whole.get_weights()[0], stopped.get_weights()[0]));
}

TEST(FitDataset, BadDataAreNamed) {
  const Problem p;
  const auto message = [&](const data::Dataset& dataset, FitOptions options) -> std::string {
    Sequential model = linear();
    options.verbose = 0;
    try {
      model.fit(dataset, options);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message(from_tensor_slices(p.x, p.y), {}), HasSubstr("did you forget .batch"));
  EXPECT_THAT(message(from_tensor_slices(p.x).batch(4), {}), HasSubstr("(x, y)"));
  EXPECT_THAT(message(from_tensor_slices(p.x, p.y).take(0).batch(4), {}), HasSubstr("empty"));
  EXPECT_THAT(message(from_tensor_slices(p.x, p.y).filter([](Tensor, Tensor) { return false; }).batch(4), {}),
              HasSubstr("empty"));
  EXPECT_THAT(message(from_tensor_slices(p.x, p.y).batch(4), {.validation_split = 0.1}),
              HasSubstr("take() and skip()"));
}

TEST(FitDataset, DataWithoutAnEndNeedANumberOfSteps) {
  const Problem p;
  const data::Dataset batches = from_tensor_slices(p.x, p.y).batch(16), endless = batches.repeat();
  Sequential model = linear();
  using testing::ThrowsMessage;
  EXPECT_THAT([&] { model.fit(endless, {.verbose = 0}); }, ThrowsMessage<ValueError>(HasSubstr("say steps_per_epoch")));
  EXPECT_THAT([&] { model.fit(batches, {.validation_data = endless, .verbose = 0}); },
              ThrowsMessage<ValueError>(HasSubstr("say validation_steps")));
  EXPECT_THAT([&] { model.evaluate(endless, {.verbose = 0}); }, ThrowsMessage<ValueError>(HasSubstr("say steps")));
  EXPECT_NO_THROW(model.fit(batches, {.validation_data = endless, .validation_steps = 2, .verbose = 0}));
  EXPECT_NO_THROW(model.evaluate(endless, {.steps = 3, .verbose = 0}));
}

TEST(FitDataset, WhatThrowsInTheInputArrivesAsThrown) {
  const Problem p;
  Sequential model = linear();
  const auto broken = from_tensor_slices(p.x, p.y).batch(8).map([](Tensor x, Tensor y) {
    if (x.item<float>({0, 1}) > 0.4f) throw std::domain_error("row 32");
    return std::pair(x, y);
  });
  EXPECT_THROW(model.fit(broken, {.verbose = 0}), std::domain_error);
}

TEST(FitDataset, TheReportSaysWhoMadeTrainingWait) {
  const Problem p;
  Sequential model = linear();
  const auto slow = from_tensor_slices(p.x, p.y).batch(8).map(
      [](Tensor x, Tensor y) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        return std::pair(x, y);
      },
      {.name = "slow"});
  const std::string text = model.fit(slow, {.epochs = 2, .verbose = 0}).epoch_report().to_string();
  EXPECT_THAT(text, HasSubstr("Input: training waited"));
  EXPECT_THAT(text, HasSubstr("`map(slow)`: 1 thread, asleep or waiting"));
}

TEST(FitDataset, OneSentenceTellsWhyTheFirstEpochWaitedAndLaterOnesDidNot) {
  const Problem p;
  Sequential model = linear();
  const auto cached = from_tensor_slices(p.x, p.y)
                          .map(
                              [](Tensor x, Tensor y) {
                                const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
                                while (std::chrono::steady_clock::now() < end) {
                                }
                                return std::pair(x, y);
                              },
                              {.num_parallel_calls = AUTOTUNE, .name = "decode"})
                          .cache()
                          .batch(8);
  const std::string text = model.fit(cached, {.epochs = 6, .verbose = 0}).epoch_report().to_string();
  EXPECT_THAT(text, testing::ContainsRegex("training waited [0-9]+ % of epoch 1 for `map.decode, parallel.`: "
                                           "[0-9]+ threads? at [0-9]+ % CPU.*; epoch [2-6] did not because `cache` was "
                                           "full"));
  EXPECT_THAT(text, testing::Not(testing::ContainsRegex("epoch 1 .*\n.*epoch 1 for")));
}

}  // namespace
}  // namespace isochron
