// Going on from a checkpoint gives what the uninterrupted run gave, bit for bit, from every step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "isochron/base/files.h"
#include "isochron/isochron.h"
#include "tests/message_of.h"

namespace isochron {
namespace {

using testing::HasSubstr;
using Options = ModelCheckpoint::Options;

// The loss so far after every step, and all metrics after every epoch.
class Losses : public Callback {
 public:
  std::vector<std::pair<std::string, double>> seen;
  void on_epoch_begin(int epoch, const Logs&) override { epoch_ = epoch; }
  void on_train_batch_end(int64_t batch, const Logs& logs) override {
    for (const auto& [name, value] : logs) seen.emplace_back(fmt::format("{}.{}.{}", epoch_, batch, name), value);
  }
  void on_epoch_end(int epoch, const Logs& logs) override {
    for (const auto& [name, value] : logs) seen.emplace_back(fmt::format("{}.{}", epoch, name), value);
  }
  bool needs_batch_logs() const override { return true; }

 private:
  int epoch_ = 0;
};

// Everything that has state: weights that are not trained, noise with and without a seed of its own, a schedule.
Sequential make_model() {
  Sequential model{Dense(16, {.activation = "relu"}),
                   BatchNormalization(),
                   Dropout(0.3),
                   Dense(16),
                   Dropout(0.2, {.seed = 5}),
                   Dense(3)};
  model.compile({.optimizer = Adam({.learning_rate = ExponentialDecay(
                                        {.initial_learning_rate = 0.01, .decay_steps = 7, .decay_rate = 0.9})}),
                 .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  return model;
}

struct Data {
  Tensor x = random_normal({70, 6}, 0, 1, {.seed = 1}).eval();
  Tensor y = random_integers({70}, 0, 3, 2).eval();
  Tensor vx = random_normal({20, 6}, 0, 1, {.seed = 3}).eval();
  Tensor vy = random_integers({20}, 0, 3, 4).eval();
};

using Fit = std::function<History(Model&, FitOptions)>;

// Saves every step, then goes on from every save and compares with what the run itself did from there on.
void expect_exact(const Fit& fit, FitOptions options) {
  const TempFolder folder;
  options.verbose = 0;
  const auto run = [&](Model& model, Losses& losses, std::shared_ptr<Callback> saving, const std::string& from) {
    set_seed(11);
    FitOptions now = options;
    now.resume = from;
    now.callbacks.push_back(std::shared_ptr<Callback>(&losses, [](Callback*) {}));
    if (saving) now.callbacks.push_back(saving);
    return fit(model, now);
  };
  std::vector<std::string> saved;
  const auto note = [&](const CheckpointInfo& info) { saved.push_back(info.path); };
  set_seed(11);
  Sequential reference = make_model();
  Losses all;
  const History history = run(
      reference, all,
      std::make_shared<ModelCheckpoint>(folder.file("{epoch}-{batch}"), Options{.save_freq = 1, .on_saved = note}), "");
  ASSERT_GT(saved.size(), 10u);
  EXPECT_EQ(history.checkpoints().saved, static_cast<int64_t>(saved.size()));
  for (const std::string& path : saved) {
    SCOPED_TRACE(path);
    set_seed(99);  // other weights to start from
    Sequential model = make_model();
    Losses rest;
    const History resumed = run(model, rest, nullptr, path);
    ASSERT_LE(rest.seen.size(), all.seen.size());
    const std::vector<std::pair<std::string, double>> expected(
        all.seen.end() - static_cast<ptrdiff_t>(rest.seen.size()), all.seen.end());
    EXPECT_EQ(rest.seen, expected);
    EXPECT_EQ(resumed.metrics(), history.metrics());
    EXPECT_EQ(resumed.epochs(), history.epochs());
    const std::vector<Tensor> a = reference.get_weights(), b = model.get_weights();
    for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_elements(a[i], b[i])) << i;
  }
}

Fit from_tensors(const Data& data) {
  return [&data](Model& model, FitOptions options) { return model.fit(data.x, data.y, options); };
}

TEST(Resume, IsExactFromEveryStepOfShuffledTensors) {
  const Data data;
  expect_exact(from_tensors(data), {.epochs = 3, .batch_size = 16, .validation_split = 0.2});
}

TEST(Resume, IsExactWithStepsPerEpochThatCrossPasses) {
  const Data data;
  expect_exact(from_tensors(data), {.epochs = 4, .batch_size = 16, .initial_epoch = 1, .steps_per_epoch = 7});
}

TEST(Resume, IsExactInADataSetWithNumbers) {
  const Data data;
  expect_exact(
      [&](Model& model, FitOptions options) {
        const auto train = data::from_tensor_slices(data.x, data.y).shuffle(100, {.seed = 8}).batch(16).prefetch();
        options.validation_data = data::from_tensor_slices(data.vx, data.vy).shuffle(9, {.seed = 9}).batch(6);
        return model.fit(train, options);
      },
      {.epochs = 3});
}

TEST(Resume, IsExactInAStreamWithABuffer) {
  const Data data;
  expect_exact(
      [&](Model& model, FitOptions options) {
        const auto train = data::from_tensor_slices(data.x, data.y)
                               .filter([](const Tensor&, const Tensor& y) { return y.item<int64_t>() >= 0; })
                               .shuffle(13, {.seed = 8})
                               .batch(16);
        return model.fit(train, options);
      },
      {.epochs = 3});
}

// Random numbers without a seed of their own, in every kind of function.
TEST(Resume, IsExactWithRandomNumbersInFunctionsOfTheData) {
  const Data data;
  const auto noisy = [](const Tensor& x, const Tensor& y) { return std::pair((x + random_normal({6})).eval(), y); };
  const std::map<std::string, std::function<data::Dataset()>> pipelines = {
      {"map", [&] { return data::from_tensor_slices(data.x, data.y).map(noisy).shuffle(70).batch(16); }},
      {"parallel map",
       [&] {
         return data::from_tensor_slices(data.x, data.y).map(noisy, {.num_parallel_calls = 2}).batch(16).prefetch();
       }},
      {"filter",
       [&] {
         const auto keep = [](const Tensor&, const Tensor&) { return random_uniform({}).item<float>() < 0.8F; };
         return data::from_tensor_slices(data.x, data.y).filter(keep).map(noisy).batch(16);
       }},
      {"interleaved shuffles",
       [&] {
         const auto part = [&](int64_t i) { return data::from_tensor_slices(data.x, data.y).skip(14 * i).shuffle(7); };
         return data::range(5).interleave(part, {.cycle_length = 2}).take(60).batch(16);
       }},
      {"generator",
       [&] {
         return data::from_generator([&] {
                  const Tensor shift = random_normal({6}).eval();
                  return [&, shift, i = int64_t{0}]() mutable -> std::optional<std::pair<Tensor, Tensor>> {
                    if (i == 60) return std::nullopt;
                    ++i;
                    return std::pair((shift + random_normal({6})).eval(),
                                     reshape(slice(data.y, {i}, {i + 1}), {}).eval());
                  };
                })
             .batch(16);
       }},
      {"collate",
       [&] {
         const auto mixed = [](const std::vector<data::Element>& rows) {
           auto [x, y] = data::stack(rows).tensors<2>();
           return data::Element(std::vector<data::Component>{(x * random_uniform({x.shape()[0], 1})).eval(), y});
         };
         return data::from_tensor_slices(data.x, data.y).collate(16, mixed);
       }},
  };
  for (const auto& [name, make] : pipelines) {
    SCOPED_TRACE(name);
    expect_exact([&](Model& model, FitOptions options) { return model.fit(make(), options); }, {.epochs = 3});
  }
}

TEST(Resume, IsExactInADataSetWithStepsPerEpoch) {
  const Data data;
  expect_exact(
      [&](Model& model, FitOptions options) {
        const auto train = data::from_tensor_slices(data.x, data.y).shuffle(70, {.seed = 8}).batch(16);
        options.validation_data = data::from_tensor_slices(data.vx, data.vy).shuffle(9, {.seed = 9}).batch(6);
        return model.fit(train, options);
      },
      {.epochs = 4, .steps_per_epoch = 3, .validation_steps = 2});
}

TEST(Resume, CallbacksGoOnWithWhatTheyKnew) {
  const TempFolder folder;
  const Data data;
  struct Run {
    std::shared_ptr<EarlyStopping> stopping =
        std::make_shared<EarlyStopping>(EarlyStopping::Options{.patience = 3, .restore_best_weights = true});
    std::shared_ptr<ReduceLROnPlateau> plateau =
        std::make_shared<ReduceLROnPlateau>(ReduceLROnPlateau::Options{.factor = 0.5, .patience = 1});
  };
  const auto model = [] {
    set_seed(4);
    Sequential out{Dense(32, {.activation = "tanh"}), Dense(3)};
    out.compile({.optimizer = Adam(0.05), .loss = SparseCategoricalCrossentropy({.from_logits = true})});
    return out;
  };
  const auto fit = [&](Sequential& net, Run& run, const std::string& csv, std::vector<std::shared_ptr<Callback>> more,
                       const std::string& from) {
    more.insert(more.begin(), {run.stopping, run.plateau, std::make_shared<CSVLogger>(csv)});
    return net.fit(data.x, data.y,
                   {.epochs = 30,
                    .batch_size = 16,
                    .validation_data = ValidationData{data.vx, data.vy},
                    .verbose = 0,
                    .callbacks = more,
                    .resume = from});
  };
  Run whole, rest;
  Sequential a = model(), b = model();
  std::vector<std::string> saved;
  const auto save = std::make_shared<ModelCheckpoint>(
      folder.file("c-{epoch:02d}"), Options{.on_saved = [&](const CheckpointInfo& i) { saved.push_back(i.path); }});
  const History history = fit(a, whole, folder.file("whole.csv"), {save}, "");
  ASSERT_GE(whole.stopping->stopped_epoch(), 4) << "the test needs a run that stops early";
  // The killed run had written rows after its checkpoint, which go.
  const std::string rows = read_file(folder.file("whole.csv"));
  write_file(folder.file("rest.csv"), rows);
  const std::string from = saved[saved.size() - 3];
  const History resumed = fit(b, rest, folder.file("rest.csv"), {}, from);
  EXPECT_EQ(resumed.metrics(), history.metrics());
  EXPECT_EQ(rest.stopping->stopped_epoch(), whole.stopping->stopped_epoch());
  EXPECT_EQ(rest.stopping->best_epoch(), whole.stopping->best_epoch());
  EXPECT_EQ(read_file(folder.file("rest.csv")), rows);
  EXPECT_EQ(a.optimizer().learning_rate(), b.optimizer().learning_rate());
  EXPECT_TRUE(same_elements(a.get_weights()[0], b.get_weights()[0])) << "the best weights are back";
}

TEST(Resume, SaysWhereItGoesOn) {
  const TempFolder folder;
  const Data data;
  Sequential model = make_model();
  model.fit(data.x, data.y,
            {.epochs = 1,
             .batch_size = 16,
             .verbose = 0,
             .callbacks = {std::make_shared<ModelCheckpoint>(folder.file("s-{batch}"), Options{.save_freq = 2})}});
  testing::internal::CaptureStdout();
  model.fit(data.x, data.y, {.epochs = 2, .batch_size = 16, .verbose = 2, .resume = folder.path()});
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_THAT(text, HasSubstr(folder.file("s-4") + ": epoch 1, step 5, "));
  testing::internal::CaptureStdout();
  EXPECT_EQ(
      model.fit(data.x, data.y, {.epochs = 0, .batch_size = 16, .verbose = 2, .resume = folder.path()}).epochs().size(),
      0u);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("it is in epoch 1, beyond the 0 asked for"));
  // More epochs than the run that ended.
  model.fit(data.x, data.y,
            {.epochs = 2, .verbose = 0, .callbacks = {std::make_shared<ModelCheckpoint>(folder.file("end/e"))}});
  EXPECT_EQ(model.fit(data.x, data.y, {.epochs = 5, .verbose = 0, .resume = folder.file("end")}).epochs().size(), 5u);
  testing::internal::CaptureStdout();
  EXPECT_EQ(model.fit(data.x, data.y, {.epochs = 2, .verbose = 2, .resume = folder.file("end")}).epochs().size(), 2u);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("training had ended after epoch 2"));
}

TEST(Resume, RefusesWhatDoesNotFit) {
  const TempFolder folder;
  const Data data;
  Sequential model = make_model();
  const auto save = std::make_shared<ModelCheckpoint>(folder.file("s-{epoch}-{batch}"), Options{.save_freq = 2});
  model.fit(data.x, data.y, {.epochs = 1, .batch_size = 16, .verbose = 0, .callbacks = {save}});
  const auto resume = [&](Model& other, int64_t batch_size) {
    return message_of([&] {
      other.fit(data.x, data.y, {.epochs = 2, .batch_size = batch_size, .verbose = 0, .resume = folder.path()});
    });
  };
  EXPECT_THAT(resume(model, 32), HasSubstr("in mid-epoch of 70 rows in batches of 16"));
  Sequential wide{Dense(17), Dense(3)};
  wide.compile({.optimizer = "adam", .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  const std::string message = resume(wide, 16);
  EXPECT_THAT(message, HasSubstr("weights/dense/kernel is float32(6, 17), saved as float32(6, 16)"));
  EXPECT_THAT(message, HasSubstr("and 30 more"));
  EXPECT_THAT(message_of([&] { model.fit(data.x, data.y, {.verbose = 0, .resume = folder.file("nothing")}); }),
              HasSubstr("nothing: there is no such folder; to begin anew"));
  EXPECT_THAT(message_of([&] { model.fit(data.x, data.y, {.verbose = 0, .resume = "/proc/self/fd"}); }),
              HasSubstr("/proc/self/fd: there is no valid checkpoint"));
  model.save_weights(folder.file("w.safetensors"));
  EXPECT_THAT(message_of([&] { model.fit(data.x, data.y, {.verbose = 0, .resume = folder.file("w.safetensors")}); }),
              HasSubstr("load_weights()"));
  // Changes that all tensors fit.
  EXPECT_THAT(message_of([&] {
                model.fit(data.x, data.y,
                          {.epochs = 2, .batch_size = 16, .shuffle = false, .verbose = 0, .resume = folder.path()});
              }),
              HasSubstr("in mid-epoch of 70 rows in batches of 16, shuffled, this is 70 rows in batches of 16;"));
  EXPECT_THAT(message_of([&] {
                model.fit(data.x, data.y,
                          {.epochs = 2, .batch_size = 16, .steps_per_epoch = 3, .verbose = 0, .resume = folder.path()});
              }),
              HasSubstr(", this is 70 rows in batches of 16, shuffled, 3 steps an epoch;"));
  Sequential decayed = make_model();
  decayed.compile({.optimizer = AdamW({.learning_rate = ExponentialDecay({.initial_learning_rate = 0.01})}),
                   .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                   .metrics = {"accuracy"}});
  EXPECT_THAT(resume(decayed, 16), HasSubstr("was trained by Adam, this model is compiled with AdamW;"));
  // Other data sets.
  const auto batches = [&](int64_t size) { return data::from_tensor_slices(data.x, data.y).batch(size); };
  const auto cut = std::make_shared<ModelCheckpoint>(folder.file("d/s-{epoch}-{batch}"), Options{.save_freq = 2});
  model.fit(batches(16), {.verbose = 0, .callbacks = {cut}});
  const std::string other =
      message_of([&] { model.fit(batches(8), {.epochs = 2, .verbose = 0, .resume = folder.file("d")}); });
  EXPECT_THAT(other, testing::AllOf(HasSubstr("d/s-1-4 was saved with another data set"), HasSubstr("load_weights()")));
}

}  // namespace
}  // namespace isochron
