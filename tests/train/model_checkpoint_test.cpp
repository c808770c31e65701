// ModelCheckpoint and BackupAndRestore: what is saved when, and what is kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "isochron/base/files.h"
#include "isochron/isochron.h"
#include "tests/base/captured_stderr.h"
#include "tests/message_of.h"
#include "tests/train/checkpoint_problem.h"

namespace isochron {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using Options = ModelCheckpoint::Options;

TEST(ModelCheckpoint, NamesFilesAsKerasDoes) {
  const Logs logs{{"loss", 0.12345}, {"val_loss", 1.5}};
  EXPECT_EQ(checkpoint_path("a/w-{epoch:04d}-{val_loss:.2f}-{batch:02d}.h5", 7, 3, logs), "a/w-0007-1.50-03.h5");
  EXPECT_EQ(checkpoint_path("{{x}}{epoch}", 7, 3, logs), "{x}7");
  EXPECT_THAT(message_of([&] { checkpoint_path("{val_acc:.2f}", 1, 1, logs); }),
              HasSubstr("no \"val_acc\" to put into the name; there are epoch, batch, loss, val_loss"));
  EXPECT_THROW(checkpoint("{epoch:.2f}"), ValueError);
  EXPECT_THROW(checkpoint("{val_loss:04d}"), ValueError);
  EXPECT_THROW(checkpoint("{epoch"), ValueError);
  EXPECT_THROW(checkpoint(""), ValueError);
  EXPECT_THROW(checkpoint("w.safetensors"), ValueError) << "a whole state is a folder";
  EXPECT_THROW(checkpoint("w", {.save_weights_only = true}), ValueError);
  EXPECT_THROW(checkpoint("w", {.save_freq = "batch"}), ValueError);
  EXPECT_THROW(checkpoint("w", {.save_freq = 0}), ValueError);
  EXPECT_THROW(checkpoint("w", {.save_freq = 5, .period = 2}), ValueError);
  EXPECT_THROW(checkpoint("w", {.monitor = "zeal", .save_best_only = true}), ValueError);
  EXPECT_THAT(message_of([] { checkpoint("w-{epoch}-{batch}"); }), HasSubstr("there is no batch to put into the name"));
}

TEST(ModelCheckpoint, SavesModelsToLoad) {
  const TempFolder folder;
  Problem problem;
  const History history = problem.fit(
      5, {checkpoint(folder.file("m-{epoch}.iso"), {.keep_last = 2}), checkpoint(folder.file("state-{epoch}")),
          checkpoint(folder.file("w.safetensors"), {.save_weights_only = true})});
  EXPECT_THAT(names_in(folder.path()), ElementsAre("m-4.iso", "m-5.iso", "state-1", "state-2", "state-3", "state-4",
                                                   "state-5", "w.safetensors"));
  EXPECT_TRUE(history.checkpoints().last_on_disk);
  // Training goes on from the file as it does from the model.
  const std::shared_ptr<Model> earlier = load_model(folder.file("m-4.iso")), last = load_model(folder.file("m-5.iso"));
  EXPECT_TRUE(allclose(last->predict(problem.x), problem.model.predict(problem.x), 0, 0));
  EXPECT_FALSE(allclose(earlier->predict(problem.x), problem.model.predict(problem.x), 0, 0));
  const FitOptions once{.batch_size = 8, .shuffle = false, .verbose = 0};
  EXPECT_EQ(last->fit(problem.x, problem.y, once)["loss"], problem.model.fit(problem.x, problem.y, once)["loss"]);

  Sequential odd{Input({4}), Lambda([](const Tensor& x) { return x * 2.0; }), Dense(1)};
  odd.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_THAT(message_of([&] {
                odd.fit(problem.x, problem.y, {.verbose = 0, .callbacks = {checkpoint(folder.file("odd.iso"))}});
              }),
              HasSubstr("Lambda"));
  EXPECT_EQ(odd.optimizer().iterations().item<int64_t>(), 0) << "told before training";
  EXPECT_THROW(checkpoint("m.keras"), ValueError);
}

TEST(ModelCheckpoint, SavesWeightsEveryFiveEpochsInEveryFormat) {
  for (const char* ending : {"safetensors", "npz", "weights.h5"}) {
    const TempFolder folder;
    Problem problem;
    problem.fit(12,
                {checkpoint(folder.file("deep/w-{epoch:04d}.") + ending, {.save_weights_only = true, .period = 5})});
    EXPECT_THAT(names_in(folder.file("deep")),
                ElementsAre(std::string("w-0005.") + ending, std::string("w-0010.") + ending));
    Problem other;
    other.model.load_weights(folder.file("deep/w-0010.") + ending);
    const std::vector<Tensor> before = problem.model.get_weights();
    problem.model.load_weights(folder.file("deep/w-0010.") + ending);
    EXPECT_TRUE(same_elements(other.model.get_weights()[0], problem.model.get_weights()[0]));
    EXPECT_FALSE(same_elements(before[0], problem.model.get_weights()[0])) << "two epochs later";
  }
}

TEST(ModelCheckpoint, KeepsTheLast) {
  const TempFolder folder;
  Problem problem;
  const History history = problem.fit(7, {checkpoint(folder.file("c-{epoch}"), {.keep_last = 2})});
  EXPECT_THAT(names_in(folder.path()), ElementsAre("c-6", "c-7"));
  EXPECT_EQ(history.checkpoints().saved, 7);
  EXPECT_TRUE(history.checkpoints().last_on_disk);
  EXPECT_EQ(history.checkpoints().newest, folder.file("c-7"));
  EXPECT_GT(history.checkpoints().bytes, 7 * 4 * (4 * 8 + 8 + 8 + 1));
  Problem other;
  other.model.load_weights(folder.file("c-7"));
  EXPECT_TRUE(same_elements(other.model.get_weights()[0], problem.model.get_weights()[0]));
  // Those of before the resume are kept and removed as if it had been one run.
  problem.fit(9, {checkpoint(folder.file("c-{epoch}"), {.keep_last = 2})}, folder.path());
  EXPECT_THAT(names_in(folder.path()), ElementsAre("c-8", "c-9"));
}

TEST(ModelCheckpoint, FindsItsFilesByTheFormOfTheirNames) {
  const TempFolder folder;
  const auto found = [&](const std::string& filepath) {
    std::vector<std::string> names;
    for (const std::string& path : paths_like(folder.file(filepath)))
      names.push_back(path.substr(folder.path().size() + 1));
    std::sort(names.begin(), names.end());
    return names;
  };
  for (const char* name : {"c-0001", "c-0012", "c-best-0001", "c-0001-0.25", "c-0002--1e-05", "c-0003-nan", ".c-0001",
                           "c-", "w-0.5.h5", "w-1.h5", "last"})
    write_file(folder.file(name), "x");
  fs::create_directories(folder.file("run-7"));
  write_file(folder.file("run-7/c-1"), "x");
  EXPECT_THAT(found("c-{epoch:04d}"), ElementsAre("c-0001", "c-0012"));
  EXPECT_THAT(found("c-best-{epoch}"), ElementsAre("c-best-0001"));
  EXPECT_THAT(found("c-{epoch:04d}-{loss:.2f}"), ElementsAre("c-0001-0.25", "c-0002--1e-05", "c-0003-nan"));
  EXPECT_THAT(found("w-{val_loss}.h5"), ElementsAre("w-0.5.h5", "w-1.h5"));
  EXPECT_THAT(found("run-{epoch}/c-{batch}"), ElementsAre("run-7/c-1"));
  EXPECT_THAT(found("last"), ElementsAre("last"));
  EXPECT_THAT(found("nothing/{epoch}"), ElementsAre());
}

// A run that was killed leaves more than its last state knows of.
TEST(ModelCheckpoint, WhatARunLeavesOnTheDiskIsFoundAgain) {
  const TempFolder folder;
  write_file(folder.file("c-2.notes"), "mine");
  const std::string other = folder.file("c-99");
  {
    Problem before;
    before.fit(1, {checkpoint(other)});
  }
  Problem problem;
  problem.fit(6, {checkpoint(folder.file("c-{epoch}"))});
  fs::remove(folder.file("c-3/manifest.json"));  // its removal was interrupted
  fs::remove_all(folder.file("c-5"));
  fs::create_directory(folder.file("c-5"));  // almost at its end
  // Goes on from an early one: those after it are there, unknown to it.
  const std::string early = folder.file("elsewhere");
  fs::rename(folder.file("c-1"), early);
  problem.fit(7, {checkpoint(folder.file("c-{epoch}"), {.keep_last = 2})}, early);
  EXPECT_THAT(names_in(folder.path()), ElementsAre("c-2.notes", "c-6", "c-7", "c-99", "elsewhere"));
  EXPECT_EQ(verify_checkpoint(folder.file("c-7")).epoch, 7);
}

TEST(ModelCheckpoint, WeightsLeftOnTheDiskAreFoundAgain) {
  const TempFolder folder;
  Problem problem;
  const Options options{.monitor = "loss", .save_weights_only = true, .keep_last = 1, .keep_best = 1};
  problem.fit(3, {checkpoint(folder.file("w-{epoch}.npz"), {.save_weights_only = true}), checkpoint(folder.file("s"))});
  problem.fit(5, {checkpoint(folder.file("w-{epoch}.npz"), options), checkpoint(folder.file("s"))}, folder.file("s"));
  EXPECT_THAT(names_in(folder.path()), ElementsAre("s", "w-5.npz"));
}

TEST(ModelCheckpoint, TellsWhatItWillKeepOnTheDisk) {
  Problem problem;
  problem.fit(1, {});
  int64_t weights = 0, all = 0;
  for (const Tensor& tensor : problem.model.get_weights()) weights += tensor.spec().bytes();
  for (const Variable& variable : problem.model.optimizer().variables()) all += variable.spec().bytes();
  // Beside the tensors a header, what a file leaves of its last block, and a manifest, a block each.
  constexpr int64_t kBlock = 4096;
  all += weights + 3 * kBlock;
  weights += 2 * kBlock;
  const auto need = [&](const std::string& path, Options options) {
    ModelCheckpoint callback(path, std::move(options));
    callback.set_model(&problem.model);
    callback.set_params({.epochs = 10, .steps = 5});
    return callback.disk_need().bytes;
  };
  EXPECT_EQ(need("c-{epoch}", {}), 10 * all);
  EXPECT_EQ(need("c-{epoch}", {.period = 5}), 2 * all);
  EXPECT_EQ(need("c-{batch}", {.save_freq = 25}), 2 * all);
  EXPECT_EQ(need("c-{epoch}", {.keep_last = 3}), 4 * all);
  EXPECT_EQ(need("last", {}), 2 * all);
  EXPECT_EQ(need("last", {.period = 100}), 0);
  EXPECT_EQ(need("w-{epoch}.npz", {.save_weights_only = true, .period = 10}), weights);
}

TEST(ModelCheckpoint, WarnsWhenTheDiskIsTooSmall) {
  const TempFolder folder;
  class Large : public ModelCheckpoint {
   public:
    using ModelCheckpoint::ModelCheckpoint;
    DiskNeed disk_need() const override { return {ModelCheckpoint::disk_need().path, int64_t{1} << 60}; }
  };
  Problem problem;
  testing::internal::CaptureStderr();
  problem.fit(1, {std::make_shared<Large>(folder.file("c-{epoch}"))});
  EXPECT_THAT(captured_stderr(), HasSubstr("will take 1152922 TB, the disk has "));
}

// The metric called "score" of epoch e is values[e].
class Scripted : public Callback {
 public:
  Scripted(std::vector<double> values, std::shared_ptr<ModelCheckpoint> inner)
      : values_(std::move(values)), inner_(inner) {}
  void on_train_begin(const Logs& logs) override { inner_->on_train_begin(logs); }
  void between_steps(TrainRun& run) override {
    struct Shown : TrainRun {
      TrainRun& real;
      Logs shown;
      Shown(TrainRun& r, Logs l) : real(r), shown(std::move(l)) {}
      int epoch() const override { return real.epoch(); }
      int64_t step() const override { return real.step(); }
      int64_t total_steps() const override { return real.total_steps(); }
      bool epoch_ended() const override { return real.epoch_ended(); }
      bool training_ends() const override { return real.training_ends(); }
      Logs logs() const override { return shown; }
      void expect_saves(bool weights) override { real.expect_saves(weights); }
      bool saving() const override { return real.saving(); }
      void save(SaveRequest request) override { real.save(std::move(request)); }
      void remove(std::vector<std::string> paths) override { real.remove(std::move(paths)); }
    };
    if (!run.epoch_ended()) return;
    runs_.push_back(std::make_shared<Shown>(run, Logs{{"score", values_.at(static_cast<size_t>(run.epoch() - 1))}}));
    inner_->between_steps(*runs_.back());
  }

 private:
  std::vector<double> values_;
  std::shared_ptr<ModelCheckpoint> inner_;
  std::vector<std::shared_ptr<TrainRun>> runs_;
};

TEST(ModelCheckpoint, SavesTheBestOnlyAndKeepsTheBest) {
  const std::vector<double> scores{0.3, 0.5, 0.4, 0.45, 0.9, 0.1};
  {
    const TempFolder folder;
    Problem problem;
    const auto best = checkpoint(folder.file("b-{epoch}-{score:.1f}"),
                                 {.monitor = "score", .save_best_only = true, .initial_value_threshold = 0.35});
    problem.fit(6, {std::make_shared<Scripted>(scores, best)});
    EXPECT_THAT(names_in(folder.path()), ElementsAre("b-2-0.5", "b-5-0.9"));
    EXPECT_EQ(best->best(), 0.9);
  }
  {
    const TempFolder folder;
    Problem problem;
    problem.fit(
        6, {std::make_shared<Scripted>(
               scores, checkpoint(folder.file("k-{epoch}"), {.monitor = "score", .keep_last = 1, .keep_best = 2}))});
    EXPECT_THAT(names_in(folder.path()), ElementsAre("k-2", "k-5", "k-6"));
  }
  {
    const TempFolder folder;  // the last one is not among the best: nobody says that it is on the disk
    Problem problem;
    testing::internal::CaptureStderr();
    const History history =
        problem.fit(6, {std::make_shared<Scripted>(
                           scores, checkpoint(folder.file("k-{epoch}"), {.monitor = "score", .keep_best = 1}))});
    EXPECT_EQ(captured_stderr(), "");
    EXPECT_THAT(names_in(folder.path()), ElementsAre("k-5"));
    EXPECT_FALSE(history.checkpoints().last_on_disk);
    EXPECT_EQ(history.checkpoints().newest, folder.file("k-5"));
  }
  {
    const TempFolder folder;  // one name for all: each takes the place of the one before
    Problem problem;
    problem.fit(6, {std::make_shared<Scripted>(
                       scores, checkpoint(folder.file("best"), {.monitor = "score", .save_best_only = true}))});
    EXPECT_THAT(names_in(folder.path()), ElementsAre("best"));
    EXPECT_EQ(verify_checkpoint(folder.file("best")).epoch, 5);
  }
}

TEST(ModelCheckpoint, CountsStepsAcrossEpochs) {
  const TempFolder folder;
  Problem problem;  // five steps an epoch
  problem.fit(3, {checkpoint(folder.file("s-{epoch}-{batch}"), {.save_freq = 4})});
  EXPECT_THAT(names_in(folder.path()), ElementsAre("s-1-4", "s-2-3", "s-3-2"));
  const CheckpointInfo info = read_checkpoint_info(folder.file("s-3-2"));
  EXPECT_EQ(info.epoch, 2);
  EXPECT_EQ(info.step, 2);
  EXPECT_EQ(info.total_steps, 12);
}

TEST(ModelCheckpoint, TheEpochReportTellsWhatWasSaved) {
  const TempFolder folder;
  Problem problem;
  const History history = problem.fit(4, {checkpoint(folder.file("c-{epoch}"))});
  EXPECT_GT(history.record().epochs[1].phases[static_cast<size_t>(Phase::checkpoint)], 0);
  EXPECT_THAT(history.epoch_report().to_string(), HasSubstr("Checkpoints: 4 written, "));
}

// Stops training as a crash would: an exception out of the step.
std::shared_ptr<Callback> crash_at(int epoch, int64_t batch) {
  auto now = std::make_shared<int>(0);
  return std::make_shared<LambdaCallback>(
      LambdaCallback::Hooks{.on_epoch_begin = [now](int e, const Logs&) { *now = e; },
                            .on_train_batch_begin =
                                [=](int64_t b, const Logs&) {
                                  if (*now == epoch && b == batch) throw std::runtime_error("power cut");
                                }});
}

TEST(BackupAndRestore, GoesOnAfterACrashAndCleansUp) {
  const TempFolder folder;
  const std::string place = folder.file("b");
  Problem whole, crashed, fresh;
  crashed.model.set_weights(whole.model.get_weights());
  set_seed(3);
  const History expected = whole.fit(50, {});
  set_seed(3);
  EXPECT_THROW(crashed.fit(50, {std::make_shared<BackupAndRestore>(place), crash_at(45, 2)}), std::runtime_error);
  const auto left = list_checkpoints(place);  // with the one before it, if its removal had not come yet
  ASSERT_THAT(left.size(), testing::AnyOf(1u, 2u));
  const int saved = left[0].info->epoch;
  EXPECT_GT(saved, 0);
  EXPECT_LE(saved, 45);
  set_seed(1234);
  const History resumed = fresh.fit(50, {std::make_shared<BackupAndRestore>(place)});
  EXPECT_EQ(resumed.metrics(), expected.metrics());
  EXPECT_TRUE(same_elements(fresh.model.get_weights()[0], whole.model.get_weights()[0]));
  EXPECT_FALSE(fs::exists(place)) << "removed when training ended";
  // Without a backup it starts anew.
  EXPECT_EQ(fresh.fit(2, {std::make_shared<BackupAndRestore>(place)}).epochs().size(), 2u);
}

TEST(BackupAndRestore, ByStepsAndKept) {
  const TempFolder folder;
  Problem problem;
  problem.fit(2, {std::make_shared<BackupAndRestore>(
                     folder.file("b"), BackupAndRestore::Options{.save_freq = 3, .delete_checkpoint = false})});
  const auto kept = list_checkpoints(folder.file("b"));
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_LE(kept[0].info->total_steps, 10);
  EXPECT_GE(kept[0].info->total_steps, 3);
}

// A run that only notes what it is asked for.
struct NotedRun : TrainRun {
  int64_t steps = 0;
  std::vector<SaveRequest> saves;
  std::vector<std::string> removed;

  int epoch() const override { return 0; }
  int64_t step() const override { return steps; }
  int64_t total_steps() const override { return steps; }
  bool epoch_ended() const override { return false; }
  bool training_ends() const override { return false; }
  Logs logs() const override { return {}; }
  void expect_saves(bool) override {}
  bool saving() const override { return false; }
  void save(SaveRequest request) override { saves.push_back(std::move(request)); }
  void remove(std::vector<std::string> paths) override { removed.insert(removed.end(), paths.begin(), paths.end()); }
};

// Word of a backup comes when the next one has been asked for, and a quick writer has that one on the disk by then: it
// was removed as a backup of old.
TEST(BackupAndRestore, LateWordOfOneDoesNotRemoveTheNext) {
  const TempFolder folder;
  BackupAndRestore backup(folder.file("b"), {.save_freq = 1});
  NotedRun run;
  backup.on_train_begin({});
  for (run.steps = 1; run.steps <= 3; ++run.steps) {
    backup.between_steps(run);
    fs::create_directories(run.saves.back().path);
  }
  run.saves[1].done({.info = {.path = run.saves[1].path}, .saved = true});
  EXPECT_THAT(run.removed, ElementsAre(run.saves[0].path));
}

// Others that save at every step keep the writer busy all the time.
TEST(BackupAndRestore, IsNotPutOffForEver) {
  const TempFolder folder;
  Problem problem;
  std::vector<int64_t> steps;
  const auto backup = std::make_shared<BackupAndRestore>(
      folder.file("b"), BackupAndRestore::Options{.save_freq = 3, .on_saved = [&](const CheckpointInfo& info) {
                                                    steps.push_back(info.total_steps);
                                                  }});
  problem.fit(8, {backup, checkpoint(folder.file("s"), {.save_freq = 1})});
  ASSERT_GE(steps.size(), 5u);
  for (size_t i = 0; i < steps.size(); ++i) EXPECT_LE(steps[i] - (i ? steps[i - 1] : 0), 7);
}

TEST(BackupAndRestore, ADamagedBackupIsPassedOver) {
  const TempFolder folder;
  Problem problem;
  // Epochs this short may outrun the disk; the last state of a training is always written.
  for (int epochs : {2, 4})
    problem.fit(epochs, {std::make_shared<BackupAndRestore>(
                            folder.file("b"),
                            BackupAndRestore::Options{.delete_checkpoint = false, .double_checkpoint = true})});
  const auto kept = list_checkpoints(folder.file("b"));
  ASSERT_EQ(kept.size(), 2u);
  fs::resize_file(kept[0].path + "/state.safetensors", 100);
  testing::internal::CaptureStderr();
  const History history = problem.fit(402, {std::make_shared<BackupAndRestore>(folder.file("b"))});
  const std::string told = captured_stderr();
  EXPECT_THAT(told, HasSubstr("state.safetensors has 100 bytes, its manifest says"));
  EXPECT_THAT(told, HasSubstr("the newest valid checkpoint is " + kept[1].path));
  EXPECT_EQ(history.epochs().size(), 402u);
}

}  // namespace
}  // namespace isochron
