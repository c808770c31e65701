#include "isochron/base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "isochron/base/error.h"
#include "isochron/base/files.h"

namespace isochron {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Logs : public testing::Test {
 protected:
  ~Logs() override { set_log_options({}); }
  std::string text(int old = 0) const {
    log_flush();
    return read_file(old ? file_ + "." + std::to_string(old) : file_);
  }
  const TempFolder folder_;
  const std::string file_ = folder_.file("log");
};

TEST_F(Logs, GoToStandardErrorFromWarningsOn) {
  testing::internal::CaptureStderr();
  log_line(LogLevel::info, "test", "not this");
  log_line(LogLevel::warning, "test", "but this");
  log_flush();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "isochron: warning: test: but this\n");
}

TEST_F(Logs, HaveLevels) {
  set_log_options({.level = LogLevel::error, .file = file_});
  log_line(LogLevel::warning, "test", "low");
  log_line(LogLevel::error, "test", "high");
  EXPECT_THAT(text(), HasSubstr("error   test: high\n"));
  EXPECT_THAT(text(), Not(HasSubstr("low")));
  EXPECT_FALSE(log_enabled(LogLevel::warning));
  set_log_options({.level = LogLevel::off, .file = file_});
  EXPECT_FALSE(log_enabled(LogLevel::error));
}

TEST_F(Logs, OfAForkedChildAreWrittenToo) {
  set_log_options({.file = file_});
  log_line(LogLevel::warning, "test", "of the parent");
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // ends it where it would wait for a thread it does not have
    log_line(LogLevel::warning, "test", "of the child");
    log_flush();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(text(), HasSubstr("test: of the parent\n"));
  EXPECT_THAT(text(), HasSubstr("test: of the child\n"));
}

TEST_F(Logs, MayBeSetUpAnewWhileLinesAreWritten) {
  std::thread chatty([&] {
    for (int i = 0; i < 300; ++i) log_line(LogLevel::warning, "test", "line");
  });
  for (int i = 0; i < 30; ++i) set_log_options({.file = folder_.file(std::to_string(i % 2)), .lines_of_a_topic = 1000});
  chatty.join();
  set_log_options({.file = file_});
  log_line(LogLevel::warning, "test", "last");
  EXPECT_THAT(text(), HasSubstr("last"));
}

TEST_F(Logs, OfOneTopicAreLimitedInRate) {
  set_log_options({.file = file_, .lines_of_a_topic = 3, .topic_seconds = 1000});
  for (int i = 0; i < 50; ++i) log_line(LogLevel::warning, "chatty", "line " + std::to_string(i));
  log_line(LogLevel::warning, "quiet", "heard");
  EXPECT_THAT(text(), HasSubstr("line 2\n"));
  EXPECT_THAT(text(), Not(HasSubstr("line 3\n")));
  EXPECT_THAT(text(), HasSubstr("heard"));
}

TEST_F(Logs, SayWhatWasLeftOut) {
  set_log_options({.file = file_, .lines_of_a_topic = 1, .topic_seconds = 0.02});
  for (int i = 0; i < 8; ++i) log_line(LogLevel::warning, "chatty", "line");
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  log_line(LogLevel::warning, "chatty", "later");
  EXPECT_THAT(text(), HasSubstr("chatty: 7 lines were left out\n"));
  EXPECT_THAT(text(), HasSubstr("chatty: later\n"));
}

TEST_F(Logs, Rotate) {
  set_log_options({.file = file_, .rotate_bytes = 100, .kept = 2, .lines_of_a_topic = 1000});
  for (int i = 0; i < 8; ++i) {
    log_line(LogLevel::warning, "test", fmt::format("{:060}", i));
    log_flush();
  }
  // A line and its date are 90 bytes: one fits into each file.
  EXPECT_THAT(text(), HasSubstr("7\n"));
  EXPECT_THAT(text(1), HasSubstr("6\n"));
  EXPECT_THAT(text(2), HasSubstr("5\n"));
  EXPECT_FALSE(std::filesystem::exists(file_ + ".3"));
}

TEST_F(Logs, OptionsAreChecked) {
  EXPECT_THROW(set_log_options({.rotate_bytes = 0}), ValueError);
  setenv("ISOCHRON_LOG", "warnign", 1);
  EXPECT_THROW(log_options_from_environment(), ValueError);
  setenv("ISOCHRON_LOG", "debug", 1);
  EXPECT_EQ(log_options_from_environment().level, LogLevel::debug);
  unsetenv("ISOCHRON_LOG");
}

// In a process of its own, where nobody has logged before.
TEST_F(Logs, AWrongLevelInTheEnvironmentIsToldAndEndsNoThread) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("ISOCHRON_LOG", "warnign", 1);
        std::thread([] { log_line(LogLevel::warning, "test", "a line"); }).join();
        log_flush();
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "the level is warning: .*unknown level \"warnign\".*test: a line");
}

}  // namespace
}  // namespace isochron
