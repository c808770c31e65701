// What fit() does with data and options, against closed forms and against the order Keras documents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isochron/isochron.h"
#include "tests/message_of.h"

namespace isochron {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

// y = 2 a - b + 1 for rows (a, b).
struct Line {
  Tensor x = random_normal({64, 2}, 0, 1, {.seed = 7}).eval();
  Tensor y = (matmul(x, tensor({{2.0}, {-1.0}})) + 1).eval();
};

// Predicts 0 whatever it sees, and hardly learns: losses are those of the targets alone.
Sequential zero_model() {
  Sequential model{Input({1}), Dense(1, {.use_bias = false, .kernel_initializer = "zeros"})};
  model.compile({.optimizer = SGD(1e-12), .loss = "mse"});
  return model;
}
const Tensor five_x = tensor({{1.0}, {1.0}, {1.0}, {1.0}, {1.0}});
const Tensor five_y = tensor({{1.0}, {2.0}, {3.0}, {4.0}, {5.0}});

TEST(Fit, LearnsALine) {
  const Line line;
  Sequential model{Dense(1)};
  model.compile({.optimizer = SGD(0.1), .loss = "mse", .metrics = {"mae"}});
  const History history = model.fit(line.x, line.y, {.epochs = 40, .batch_size = 16, .verbose = 0});
  EXPECT_LT(history["loss"].back(), 1e-6);
  EXPECT_EQ(history.metrics().size(), 2u);
  EXPECT_EQ(history["mae"].size(), 40u);
  const std::vector<Tensor> weights = model.get_weights();
  EXPECT_THAT(weights[0].to_vector<double>(), ElementsAre(DoubleNear(2, 1e-3), DoubleNear(-1, 1e-3)));
  EXPECT_NEAR(weights[1].item(), 1, 1e-3);
}

TEST(Fit, RaggedLastBatchCountsByItsExamples) {
  Sequential model = zero_model();
  const History history = model.fit(five_x, five_y, {.batch_size = 2, .verbose = 0});
  EXPECT_NEAR(history["loss"][0], 55.0 / 5, 1e-5);
  EXPECT_EQ(model.optimizer().iterations().item<int64_t>(), 3);
  EXPECT_EQ(history.record().epochs[0].examples, 5);
}

TEST(Fit, ValidationIsTheLastPartOrWhatIsGiven) {
  Sequential model = zero_model();
  const History split = model.fit(five_x, five_y, {.validation_split = 0.4, .verbose = 0});
  EXPECT_NEAR(split["loss"][0], (1 + 4 + 9) / 3.0, 1e-5);
  EXPECT_NEAR(split["val_loss"][0], (16 + 25) / 2.0, 1e-5);

  const History given = model.fit(five_x, five_y,
                                  {.epochs = 4,
                                   .validation_data = {tensor({{1.0}, {1.0}}), tensor({{6.0}, {8.0}})},
                                   .validation_batch_size = 1,
                                   .validation_freq = 2,
                                   .verbose = 0});
  EXPECT_THAT(given["val_loss"], ElementsAre(DoubleNear(50, 1e-4), DoubleNear(50, 1e-4)));
  EXPECT_EQ(given["loss"].size(), 4u);
  const std::vector<Epoch>& epochs = given.record().epochs;
  EXPECT_EQ(epochs[0].metrics.count("val_loss"), 0u);
  EXPECT_EQ(epochs[3].metrics.count("val_loss"), 1u);
}

// As in Keras: the loss that gradients are taken of is scaled up, gradients are scaled down, logs tell the loss itself.
TEST(Fit, ScalingTheLossChangesNeitherWeightsNorLogs) {
  const auto trained = [](std::optional<double> factor) {
    Sequential model{Dense(1, {.kernel_initializer = "ones"})};
    model.compile({.optimizer = SGD({.learning_rate = 0.01, .loss_scale_factor = factor}), .loss = "mse"});
    const double loss = model.fit(five_x, five_y, {.epochs = 3, .shuffle = false, .verbose = 0})["loss"].back();
    Variable w(ones({}));
    SGD by_hand({.learning_rate = 0.1, .loss_scale_factor = factor});
    by_hand.minimize([&] { return square(w); }, {w});
    return std::vector<double>{loss, model.get_weights()[0].item(), w.item()};
  };
  EXPECT_EQ(trained(4), trained({}));
  EXPECT_NEAR(trained(4)[2], 0.8, 1e-6);
}

TEST(Fit, WeightsOfClassesAndSamplesMultiply) {
  Sequential model = zero_model();
  const Tensor y = tensor({{0.0}, {1.0}, {1.0}, {2.0}, {2.0}});
  const FitOptions classes{.class_weight = {{0, 1}, {1, 10}, {2, 0.5}}, .verbose = 0};
  EXPECT_NEAR(model.fit(five_x, y, classes)["loss"][0], (0 + 10 + 10 + 2 + 2) / 5.0, 1e-5);
  FitOptions both = classes;
  both.sample_weight = tensor({1.0, 1.0, 0.0, 1.0, 3.0});
  EXPECT_NEAR(model.fit(five_x, y, both)["loss"][0], (0 + 10 + 0 + 2 + 6) / 5.0, 1e-5);
  EXPECT_NEAR(logs_value(model.evaluate(five_x, y, {.sample_weight = both.sample_weight, .verbose = 0}), "loss"),
              (0 + 1 + 0 + 4 + 12) / 5.0, 1e-5);
}

TEST(Fit, ValidationCountsClassesAlike) {
  Sequential model = zero_model();
  const History history =
      model.fit(five_x, five_y, {.validation_split = 0.4, .class_weight = {{4, 10}, {5, 10}}, .verbose = 0});
  EXPECT_NEAR(history["val_loss"][0], (16 + 25) / 2.0, 1e-5);
}

TEST(Fit, EndsWithTheAverageOfTheWeights) {
  // The gradient is -2 whatever the weight: 0.2, then 0.4. The average starts at the first of them.
  Sequential model{Input({1}), Dense(1, {.use_bias = false, .kernel_initializer = "zeros"})};
  model.compile({.optimizer = SGD({.learning_rate = 0.1, .use_ema = true, .ema_momentum = 0.5}),
                 .loss = [](const Tensor&, const Tensor& p) { return -2 * mean(p, {-1}); }});
  model.fit(tensor({{1.0}, {1.0}}), zeros({2, 1}), {.batch_size = 1, .verbose = 0});
  EXPECT_NEAR(model.get_weights()[0].item(), 0.5 * 0.2 + 0.5 * 0.4, 1e-6);
}

TEST(Fit, OnlyWeightedMetricsAreWeighted) {
  Sequential model{Input({1}), Dense(1, {.kernel_initializer = "zeros"})};
  model.compile({.optimizer = SGD(0.0), .loss = "mse", .metrics = {"mae"}, .weighted_metrics = {"mae", "mae", "mse"}});
  const Tensor y = tensor({{0.0}, {1.0}, {1.0}, {2.0}, {2.0}}), weight = tensor({1.0, 1.0, 0.0, 1.0, 3.0});
  const std::vector<std::pair<std::string, double>> expected = {
      {"loss", 17 / 5.0}, {"mae", 6 / 5.0}, {"weighted_mae", 9 / 6.0}, {"weighted_mae_1", 9 / 6.0}, {"mse", 17 / 6.0}};
  const std::string path = testing::TempDir() + "weighted_metrics.iso";
  model.fit(five_x, y, {.verbose = 0});
  model.save(path);
  for (const std::shared_ptr<Model>& one :
       {std::shared_ptr<Model>(std::make_shared<Sequential>(model)), load_model(path)}) {
    const Logs logs = one->evaluate(five_x, y, {.sample_weight = weight, .verbose = 0});
    ASSERT_EQ(logs.size(), expected.size());
    for (size_t i = 0; i < logs.size(); ++i) {
      EXPECT_EQ(logs[i].first, expected[i].first);
      EXPECT_NEAR(logs[i].second, expected[i].second, 1e-6) << logs[i].first;
    }
  }
}

TEST(Fit, MetricsLeaveMaskedStepsOut) {
  Sequential model{Input({3, 1}), Masking(), Dense(1, {.kernel_initializer = "zeros"})};
  model.compile({.optimizer = SGD(0.0), .loss = "mse", .metrics = {"mae"}, .weighted_metrics = {"mae"}});
  const Tensor x = reshape(tensor({1.f, 1.f, 0.f, 1.f, 0.f, 0.f}), {2, 3, 1}).eval();
  const Tensor y = reshape(tensor({1.f, 2.f, 9.f, 6.f, 9.f, 9.f}), {2, 3, 1}).eval();
  const Logs logs = model.evaluate(x, y, {.sample_weight = tensor({1.0, 2.0}), .verbose = 0});
  EXPECT_NEAR(logs_value(logs, "mae"), (1 + 2 + 6) / 3.0, 1e-6);
  EXPECT_NEAR(logs_value(logs, "weighted_mae"), (1 + 2 + 2 * 6) / 4.0, 1e-6);
  EXPECT_NEAR(logs_value(logs, "loss"), (1 + 4 + 2 * 36) / 3.0, 1e-5);
  EXPECT_EQ(logs["mae"], logs_value(logs, "mae"));
  EXPECT_TRUE(logs.contains("weighted_mae") && !logs.contains("val_mae"));
  EXPECT_EQ(message_of([&] { (void)logs["maee"]; }), "[Logs] no metric \"maee\"; did you mean \"mae\"?");
}

TEST(Fit, ClassesWithoutAWeightWeighOne) {
  const auto loss_with = [](const std::map<int64_t, double>& weights) {
    Sequential model{Input({1}), Dense(2, {.kernel_initializer = "ones"})};
    model.compile({.optimizer = SGD(0.0), .loss = SparseCategoricalCrossentropy({.from_logits = true})});
    const Tensor x = tensor({{1.f}, {2.f}, {3.f}, {4.f}}), y = tensor({0, 1, 1, 0});
    return model.fit(x, y, {.class_weight = weights, .verbose = 0})["loss"][0];
  };
  EXPECT_EQ(loss_with({{0, 3}}), loss_with({{0, 3}, {1, 1}}));
  EXPECT_NE(loss_with({{0, 3}}), loss_with({{0, 1}, {1, 1}}));
}

// Tells the hooks of evaluate() and predict() in the order of their calls.
struct Listener : Callback {
  std::string heard;
  void on_test_begin(const Logs&) override { heard += "test "; }
  void on_test_batch_end(int64_t batch, const Logs&) override { heard += fmt::format("tested {} ", batch); }
  void on_test_end(const Logs& logs) override { heard += fmt::format("loss {:.0f} ", logs_value(logs, "loss")); }
  void on_predict_begin(const Logs&) override { heard += model() ? "predict " : "no model "; }
  void on_predict_batch_begin(int64_t batch, const Logs&) override { heard += fmt::format("{} ", batch); }
  void on_predict_batch_end(int64_t batch, const Logs&) override { heard += fmt::format("done {} ", batch); }
  void on_predict_end(const Logs&) override { heard += "end "; }
};

TEST(Evaluate, AndPredictCallHooksAndStopAfterSomeSteps) {
  Sequential model = zero_model();
  const auto heard = [](auto&& call) {
    const auto listener = std::make_shared<Listener>();
    call(std::vector<std::shared_ptr<Callback>>{listener});
    return listener->heard;
  };
  const data::Dataset batches = data::from_tensor_slices(five_x, five_y).batch(2);
  const char* const tested = "test tested 0 tested 1 tested 2 loss 11 ";
  EXPECT_EQ(
      heard([&](auto list) { model.evaluate(five_x, five_y, {.batch_size = 2, .verbose = 0, .callbacks = list}); }),
      tested);
  EXPECT_EQ(heard([&](auto list) { model.evaluate(batches, {.verbose = 0, .callbacks = list}); }), tested);
  const char* const predicted = "predict 0 done 0 1 done 1 2 done 2 end ";
  EXPECT_EQ(heard([&](auto list) { model.predict(five_x, {.batch_size = 2, .callbacks = list}); }), predicted);
  const data::Dataset inputs = data::from_tensor_slices(five_x).batch(2);
  EXPECT_EQ(heard([&](auto list) { model.predict(inputs, {.callbacks = list}); }), predicted);

  EXPECT_EQ(model.predict(five_x, {.batch_size = 2, .steps = 2}).shape(), Shape({4, 1}));
  EXPECT_EQ(model.predict(five_x, {.batch_size = 2, .steps = 9}).shape(), Shape({5, 1}));
  EXPECT_EQ(model.predict(inputs.repeat(), {.steps = 4}).shape(), Shape({7, 1}));
  EXPECT_THROW(model.predict(inputs.repeat()), ValueError);
  EXPECT_THROW(model.predict(five_x, {.steps = 0}), ValueError);
  EXPECT_THROW(model.evaluate(five_x, five_y, {.steps = 0}), ValueError);
  EXPECT_THROW(model.predict(five_x, {.callbacks = {nullptr}}), ValueError);
}

TEST(Fit, AModelWithoutWeightsHasALossAndNothingToLearn) {
  Sequential model{Input({2}), Flatten()};
  model.compile({.optimizer = "adam", .loss = "mse"});
  const History history = model.fit(zeros({4, 2}), ones({4, 2}), {.epochs = 2, .verbose = 0});
  EXPECT_EQ(history["loss"], (std::vector<double>{1, 1}));
}

TEST(Fit, InitialEpochAndStepsPerEpoch) {
  Sequential model = zero_model();
  const History late = model.fit(five_x, five_y, {.epochs = 5, .initial_epoch = 3, .verbose = 0});
  EXPECT_THAT(late.epochs(), ElementsAre(3, 4));
  EXPECT_EQ(model.optimizer().iterations().item<int64_t>(), 2);

  // Three batches a pass, two steps an epoch: the second epoch takes the ragged batch and the next pass's first.
  Sequential again = zero_model();
  const History history =
      again.fit(five_x, five_y, {.epochs = 3, .batch_size = 2, .shuffle = false, .steps_per_epoch = 2, .verbose = 0});
  EXPECT_THAT(history["loss"],
              ElementsAre(DoubleNear((1 + 4 + 9 + 16) / 4.0, 1e-5), DoubleNear((25 + 1 + 4) / 3.0, 1e-5),
                          DoubleNear((9 + 16 + 25) / 3.0, 1e-5)));
}

class Recorder : public Callback {
 public:
  std::vector<std::string> seen;
  void on_train_begin(const Logs&) override { seen.push_back("train begin"); }
  void on_train_end(const Logs&) override { seen.push_back("train end"); }
  void on_epoch_begin(int epoch, const Logs&) override { seen.push_back(fmt::format("epoch {}", epoch)); }
  void on_epoch_end(int epoch, const Logs& logs) override {
    seen.push_back(fmt::format("epoch {} end, {} logs", epoch, logs.size()));
  }
  void on_train_batch_begin(int64_t batch, const Logs&) override { seen.push_back(fmt::format("batch {}", batch)); }
  void on_train_batch_end(int64_t batch, const Logs& logs) override {
    seen.push_back(fmt::format("batch {} end, {} logs", batch, logs.size()));
  }
  void on_test_begin(const Logs&) override { seen.push_back("test"); }
  void on_test_end(const Logs&) override { seen.push_back("test end"); }
  void on_test_batch_begin(int64_t batch, const Logs&) override { seen.push_back(fmt::format("test {}", batch)); }
  void on_test_batch_end(int64_t batch, const Logs&) override { seen.push_back(fmt::format("test {} end", batch)); }
  bool needs_batch_logs() const override { return true; }
};

TEST(Fit, CallsHooksInTheOrderOfKeras) {
  Sequential model = zero_model();
  const auto recorder = std::make_shared<Recorder>();
  model.fit(five_x, five_y, {.batch_size = 3, .validation_split = 0.2, .verbose = 0, .callbacks = {recorder}});
  EXPECT_EQ(recorder->model(), &model);
  EXPECT_THAT(recorder->seen,
              ElementsAre("train begin", "epoch 0", "batch 0", "batch 0 end, 1 logs", "batch 1", "batch 1 end, 1 logs",
                          "test", "test 0", "test 0 end", "test end", "epoch 0 end, 2 logs", "train end"));
}

TEST(Fit, ACallbackEndsTraining) {
  Sequential model = zero_model();
  const auto stop = std::make_shared<LambdaCallback>(
      LambdaCallback::Hooks{.on_epoch_end = [&](int epoch, const Logs&) { model.stop_training = epoch == 2; }});
  EXPECT_THAT(model.fit(five_x, five_y, {.epochs = 10, .verbose = 0, .callbacks = {stop}}).epochs(),
              ElementsAre(0, 1, 2));
  EXPECT_EQ(model.fit(five_x, five_y, {.epochs = 2, .verbose = 0}).epochs().size(), 2u) << "it is asked anew";
}

TEST(Fit, VerboseSaysNothingOrALineAnEpoch) {
  Sequential model = zero_model();
  testing::internal::CaptureStdout();
  model.fit(five_x, five_y, {.epochs = 3, .verbose = 0});
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  testing::internal::CaptureStdout();
  model.fit(five_x, five_y, {.epochs = 3, .verbose = 2});
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_THAT(text, testing::HasSubstr("Epoch 3/3"));
  EXPECT_THAT(text, testing::HasSubstr("loss: 11"));
}

TEST(Fit, SingleBatchesAndPredictions) {
  Sequential model{Input({1}), Dense(1)};
  model.compile({.optimizer = SGD(0.1), .loss = "mse"});
  model.set_weights({tensor({{2.0}}), tensor({1.0})});
  EXPECT_NEAR(logs_value(model.test_on_batch(five_x, five_y), "loss"), (4 + 1 + 0 + 1 + 4) / 5.0, 1e-5);
  EXPECT_NEAR(logs_value(model.train_on_batch(five_x, five_y + 1), "loss"), (1 + 0 + 1 + 4 + 9) / 5.0, 1e-5);
  const Tensor prediction = model.predict(five_x, {.batch_size = 2});
  EXPECT_EQ(prediction.shape(), (Shape{5, 1}));
  EXPECT_TRUE(same_elements(prediction, model.predict_on_batch(five_x)));
  EXPECT_TRUE(allclose(prediction, model(five_x)));
  // y + 1 - 3 has mean 1: weight and bias move by 0.1 * 2 * 1.
  EXPECT_NEAR(model.get_weights()[0].item(), 2.2, 1e-5);
  EXPECT_NEAR(model.get_weights()[1].item(), 1.2, 1e-5);
}

// Weights assigned between calls (clipped, loaded, reset) are pending until somebody needs them.
TEST(Fit, StepsAndPredictionsSeeWhatWasAssignedBeforeThem) {
  Sequential model = zero_model();
  const Variable kernel = model.weights()[0];
  EXPECT_NEAR(model.train_on_batch(five_x, five_y)[0].second, 55.0 / 5, 1e-5);
  EXPECT_NEAR(model.test_on_batch(five_x, five_y)[0].second, 55.0 / 5, 1e-5);
  EXPECT_NEAR(model.predict(five_x).item({4, 0}), 0, 1e-5);

  kernel.assign(kernel * 0 + 3);
  EXPECT_NEAR(model.predict(five_x).item({4, 0}), 3, 1e-5);
  kernel.assign(kernel - 1);
  EXPECT_NEAR(model.test_on_batch(five_x, five_y)[0].second, (1 + 0 + 1 + 4 + 9) / 5.0, 1e-5);
  kernel.assign(kernel - 1);
  EXPECT_NEAR(model.train_on_batch(five_x, five_y)[0].second, (0 + 1 + 4 + 9 + 16) / 5.0, 1e-5);
  const Tensor before = square(kernel);
  EXPECT_NEAR(model.fit(five_x, five_y, {.batch_size = 5, .verbose = 0})["loss"][0], 6, 1e-5);
  EXPECT_NEAR(before.item(), 1, 1e-5);
}

// As in a loop of reinforcement learning, where the targets of a loss are predictions of another model.
TEST(Predict, BetweenForwardAndBackwardKeepsTheHistory) {
  Sequential other = zero_model();
  const Variable w(tensor({{2.0f}}));
  for (int i = 0; i < 2; ++i) {
    w.zero_grad();
    const Tensor prediction = matmul(cast(five_x, DType::float32), w);
    const Tensor loss = mse_loss(prediction, other.predict(five_x) + 1);
    loss.backward();
    EXPECT_NEAR(w.grad().item(), 2 * (2 - 1), 1e-5);
  }
}

TEST(Fit, SameSeedGivesTheSameBits) {
  const auto trained = [] {
    const Line line;
    set_seed(11);
    set_random_counter(0);
    Sequential model{Dense(16, {.activation = "tanh"}), Dense(1)};
    model.compile({.optimizer = Adam(0.01), .loss = "mse"});
    model.fit(line.x, line.y, {.epochs = 3, .batch_size = 10, .verbose = 0});
    return model.get_weights();
  };
  const std::vector<Tensor> first = trained(), second = trained();
  for (size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(same_elements(first[i], second[i])) << "weight " << i;
}

TEST(Fit, ACopyOutlivesTheModelItWasMadeFrom) {
  auto original = std::make_unique<Sequential>(zero_model());
  original->fit(five_x, five_y, {.verbose = 0});
  Sequential copy = *original;
  original.reset();
  // Rows of another number ask for a new plan, and so for the model itself.
  EXPECT_NEAR(copy.fit(five_x, five_y, {.batch_size = 4, .verbose = 0})["loss"][0], 11, 1e-4);
}

TEST(Fit, TheRecordExplainsEpochsAndSurvivesJson) {
  const Tensor x = random_normal({2048, 64}, 0, 1, {.seed = 1}), y = random_normal({2048, 1}, 0, 1, {.seed = 2});
  Sequential model{Dense(128, {.activation = "relu"}), Dense(1)};
  model.compile({.optimizer = "adam", .loss = "mse"});
  const History history = model.fit(x, y, {.epochs = 9, .verbose = 0});
  double least_other = 1;
  for (const Epoch& epoch : history.record().epochs) {
    EXPECT_EQ(epoch.steps, 64);
    double phases = 0;
    for (const double phase : epoch.phases) phases += phase;
    EXPECT_NEAR(phases, epoch.seconds, 1e-6 + 1e-3 * epoch.seconds);
    least_other = std::min(least_other, epoch.phases[static_cast<size_t>(Phase::other)] / epoch.seconds);
  }
  // Of the epoch that other processes disturbed least.
  EXPECT_LE(least_other, 0.05);
  EXPECT_THAT(history.epoch_report().sentence(), testing::HasSubstr("Epoch 1"));
  const auto setting = [&](const char* key) { return history.record().find_fact(key)->value; };
  EXPECT_EQ(setting("threads"), std::to_string(get_num_threads()));
  EXPECT_EQ(setting("batch_size"), "32");
  EXPECT_EQ(setting("parameters"), std::to_string(64 * 128 + 128 + 128 + 1));
  EXPECT_EQ(setting("optimizer"), "Adam");
  const std::string json = history.record().to_json();
  EXPECT_EQ(RunRecord::from_json(json).to_json(), json);
  EXPECT_EQ(RunRecord::from_json(json).epochs[8].metrics.at("loss"), history["loss"][8]);
}

TEST(Fit, AMetricWithOneValueAClassIsLoggedClassByClass) {
  Sequential model{Input({2}), Dense(3, {.activation = "softmax"})};
  model.compile({.optimizer = "sgd", .loss = "categorical_crossentropy", .metrics = {F1Score()}});
  const Tensor x = random_normal({6, 2}, 0, 1, {.seed = 3}), y = one_hot(tensor({0, 1, 2, 0, 1, 2}), 3);
  const History history = model.fit(x, y, {.epochs = 2, .validation_split = 0.5, .verbose = 0});
  for (const char* name : {"f1_score_0", "f1_score_1", "f1_score_2", "val_f1_score_2"}) {
    ASSERT_EQ(history[name].size(), 2u) << name;
    EXPECT_GE(history[name][1], 0);
    EXPECT_LE(history[name][1], 1);
  }
}

}  // namespace
}  // namespace isochron
