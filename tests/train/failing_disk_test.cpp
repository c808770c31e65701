// Checkpoints on a disk that fails: training goes on, nothing saved is lost, and it is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "isochron/base/files.h"
#include "isochron/isochron.h"
#include "tests/base/captured_stderr.h"
#include "tests/base/file_size_limit.h"
#include "tests/train/checkpoint_problem.h"

namespace isochron {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(FailingDisk, TrainingGoesOnAndEarlierCheckpointsStay) {
  const TempFolder folder;
  Problem problem;
  problem.fit(2, {checkpoint(folder.file("c-{epoch}"), {.keep_last = 1})});
  testing::internal::CaptureStderr();
  History history;
  {
    const FileSizeLimit full(1000);
    history = problem.fit(5, {checkpoint(folder.file("c-{epoch}"), {.keep_last = 1})}, folder.path());
  }
  const std::string told = captured_stderr();
  EXPECT_EQ(history.epochs().size(), 5u);
  EXPECT_THAT(names_in(folder.path()), ElementsAre("c-2"));
  EXPECT_EQ(verify_checkpoint(folder.file("c-2")).epoch, 2);
  EXPECT_FALSE(history.checkpoints().last_on_disk);
  EXPECT_THAT(told, HasSubstr("can't save " + folder.file("c-3")));
  EXPECT_THAT(told, HasSubstr("File too large"));
  EXPECT_THAT(told, HasSubstr(" are free)"));
  ASSERT_THAT(told, HasSubstr("(needs "));
  EXPECT_GE(std::stoull(told.substr(told.find("(needs ") + 7)),
            fs::file_size(folder.file("c-2/state.safetensors")) + fs::file_size(folder.file("c-2/manifest.json")));
  EXPECT_THAT(told, HasSubstr("the last state is NOT on disk"));
  EXPECT_EQ(told.find("can't save"), told.rfind("can't save")) << "told once:\n" << told;
  EXPECT_THAT(history.epoch_report().to_string(), HasSubstr("Checkpoints: none written.\n"));
}

TEST(EpochReport, TellsTheFilesOfAShortTraining) {
  const TempFolder folder;
  Problem problem;
  const History history = problem.fit(2, {checkpoint(folder.file("c"))});
  const std::string text = history.epoch_report().to_string();
  EXPECT_THAT(text, testing::ContainsRegex("Written: .*[0-9]+ files? of .* kept"));
}

TEST(FailingDisk, SavesAgainWhenThereIsRoom) {
  const TempFolder folder;
  Problem problem;
  std::optional<FileSizeLimit> full;
  full.emplace(1000);
  const auto make_room =
      std::make_shared<LambdaCallback>(LambdaCallback::Hooks{.on_epoch_begin = [&](int epoch, const Logs&) {
        if (epoch == 3) full.reset();
      }});
  testing::internal::CaptureStderr();
  const History history = problem.fit(5, {make_room, checkpoint(folder.file("c-{epoch}"))});
  EXPECT_THAT(captured_stderr(), HasSubstr("saving works again"));
  EXPECT_TRUE(history.checkpoints().last_on_disk);
  EXPECT_GE(history.checkpoints().failed, 1);
  EXPECT_EQ(verify_checkpoint(folder.file("c-5")).epoch, 5);
}

TEST(FailingDisk, AnAttemptAtTheEndSavesTheLastState) {
  const TempFolder folder;
  Problem problem;
  std::optional<FileSizeLimit> full;
  full.emplace(1000);
  // Room comes after the last save has failed, and before fit ends.
  class Late : public Callback {
   public:
    std::optional<FileSizeLimit>& limit;
    explicit Late(std::optional<FileSizeLimit>& l) : limit(l) {}
    void between_steps(TrainRun& run) override {
      if (!run.training_ends()) return;
      while (run.saving()) std::this_thread::yield();
      limit.reset();
    }
  };
  testing::internal::CaptureStderr();
  const History history =
      problem.fit(2, {checkpoint(folder.file("s-{epoch}-{batch}"), {.save_freq = 9}), std::make_shared<Late>(full)});
  captured_stderr();
  EXPECT_TRUE(history.checkpoints().last_on_disk);
  EXPECT_EQ(verify_checkpoint(folder.file("s-2-4")).total_steps, 9);
}

TEST(FailingDisk, AFolderThatWasRemovedMeanwhileIsNotCalledSaved) {
  const TempFolder folder;
  Problem problem;
  class Removes : public Callback {
   public:
    std::string path;
    explicit Removes(std::string p) : path(std::move(p)) {}
    void between_steps(TrainRun& run) override {
      if (run.epoch_ended()) return;  // after the save of the epoch before
      while (run.saving()) std::this_thread::yield();
      if (run.epoch() == 2) fs::remove_all(path);
    }
  };
  testing::internal::CaptureStderr();
  const History history = problem.fit(
      3, {checkpoint(folder.file("run/c-{epoch}"), {.period = 2}), std::make_shared<Removes>(folder.file("run"))});
  EXPECT_THAT(captured_stderr(), HasSubstr("the last state is NOT on disk"));
  EXPECT_FALSE(history.checkpoints().last_on_disk);
  EXPECT_EQ(history.checkpoints().newest, "");
}

TEST(FailingDisk, IsToldByTheLog) {
  const TempFolder folder;
  fs::create_directories(folder.file("c-1"));
  write_file(folder.file("c-1/thesis.txt"), "irreplaceable");
  set_log_options({.file = folder.file("log")});
  testing::internal::CaptureStderr();
  Problem problem;
  problem.fit(1, {checkpoint(folder.file("c-{epoch}"))});
  EXPECT_EQ(captured_stderr(), "");
  EXPECT_THAT(read_file(folder.file("log")),
              testing::AllOf(HasSubstr("warning checkpoint: can't save "), HasSubstr("error   checkpoint: the last")));
  set_log_options({});
}

TEST(FailingDisk, AForeignFolderOfThatNameIsLeftAlone) {
  const TempFolder folder;
  fs::create_directories(folder.file("c-1"));
  write_file(folder.file("c-1/thesis.txt"), "irreplaceable");
  Problem problem;
  testing::internal::CaptureStderr();
  const History history = problem.fit(1, {checkpoint(folder.file("c-{epoch}"))});
  EXPECT_THAT(captured_stderr(), HasSubstr("exists and is no checkpoint"));
  EXPECT_FALSE(history.checkpoints().last_on_disk);
  EXPECT_EQ(read_file(folder.file("c-1/thesis.txt")), "irreplaceable");
}

}  // namespace
}  // namespace isochron
