#include "isochron/base/run_folder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "isochron/base/error.h"
#include "isochron/base/files.h"
#include "tests/base/file_size_limit.h"

namespace isochron {
namespace {

namespace fs = std::filesystem;

// ISOCHRON_TMPDIR is a folder of the test's own.
class RunFolders : public testing::Test {
 protected:
  RunFolders() {
    char path[] = "/tmp/isochron-test-XXXXXX";
    top_ = mkdtemp(path);
    setenv("ISOCHRON_TMPDIR", top_.c_str(), 1);
    RunFolder::global().remove();
  }
  ~RunFolders() override {
    RunFolder::global().remove();
    unsetenv("ISOCHRON_TMPDIR");
    fs::remove_all(top_);
  }

  // A process that makes a folder with a file in it, and then does `what`. Returns its status when it has ended.
  int in_child(const std::function<void()>& what) const {
    const pid_t child = fork();
    if (child == 0) {
      write(RunFolder::global().file("data"), 1000);
      what();
      _exit(9);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }
  static void write(const std::string& path, size_t bytes) { std::ofstream(path) << std::string(bytes, 'x'); }

  std::string top_;
};

TEST_F(RunFolders, AreMadeWhenNeededAndNotBefore) {
  EXPECT_FALSE(RunFolder::global().exists());
  EXPECT_TRUE(fs::is_empty(top_));
  const std::string path = RunFolder::global().path();
  EXPECT_TRUE(path.starts_with(top_ + "/"));
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  RunFolder::global().remove();
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(RunFolders, GoAtExit) {
  EXPECT_TRUE(WIFEXITED(in_child([] { std::exit(0); })));
  EXPECT_TRUE(list_run_folders().empty());
}

TEST_F(RunFolders, GoWhenASignalEndsTheProcess) {
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    const int status = in_child([&] {
      fs::create_directories(RunFolder::global().file("a/b/c"));
      write(RunFolder::global().file("a/b/c/d"), 10);
      raise(number);
    });
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == number);
    EXPECT_TRUE(list_run_folders().empty());
  }
}

TEST_F(RunFolders, OfAKilledProcessAreFoundAndRemoved) {
  in_child([] { raise(SIGKILL); });
  const std::vector<RunFolderInfo> left = list_run_folders();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_FALSE(left[0].alive);
  EXPECT_EQ(left[0].files, 2);  // "data" and "owner"
  EXPECT_GE(left[0].bytes, 1000);
  // The next run that makes its folder removes it.
  RunFolder::global().path();
  EXPECT_FALSE(fs::exists(left[0].path));
}

TEST_F(RunFolders, OfALivingProcessAreLeftAlone) {
  int ready[2], end[2];
  ASSERT_EQ(pipe(ready) + pipe(end), 0);
  const pid_t child = fork();
  if (child == 0) {
    RunFolder::global().path();
    char byte = 1;
    if (::write(ready[1], &byte, 1) + ::read(end[0], &byte, 1) != 2) _exit(1);
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_TRUE(remove_dead_run_folders().empty());
  ASSERT_EQ(list_run_folders().size(), 1u);
  EXPECT_TRUE(list_run_folders()[0].alive);
  EXPECT_EQ(list_run_folders()[0].pid, child);
  ASSERT_EQ(::write(end[1], &byte, 1), 1);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(remove_dead_run_folders().size(), 1u);
}

TEST_F(RunFolders, AnotherProcessOfTheSameNumberIsNotTheOwner) {
  in_child([] { raise(SIGKILL); });
  const std::string path = list_run_folders()[0].path;
  // This process lives, but it was started at another time.
  std::ofstream(path + "/owner") << "pid " << getpid() << "\nstart 1\nboot x\ncommand y\n";
  EXPECT_EQ(remove_dead_run_folders().size(), 1u);
}

TEST_F(RunFolders, RemovingDoesNotFollowLinks) {
  fs::create_directories(top_ + "/precious");
  write(top_ + "/precious/file", 10);
  in_child([&] {
    fs::create_directory_symlink(top_ + "/precious", RunFolder::global().file("link"));
    fs::create_symlink(top_ + "/precious/file", RunFolder::global().file("file link"));
    raise(SIGKILL);
  });
  // A whole folder that is a link is not one of ours either.
  fs::create_directory_symlink(top_ + "/precious", run_folders_root() + "/run-1-1");
  EXPECT_EQ(remove_dead_run_folders().size(), 1u);
  EXPECT_TRUE(fs::exists(top_ + "/precious/file"));
  EXPECT_TRUE(fs::exists(run_folders_root() + "/run-1-1/file"));
}

TEST_F(RunFolders, HaveAQuota) {
  setenv("ISOCHRON_TMP_QUOTA", "2K", 1);
  RunFolder& folder = RunFolder::global();
  folder.take(1500);
  EXPECT_THROW(folder.take(600), FileError);
  EXPECT_EQ(folder.taken(), 1500);
  folder.give_back(1000);
  folder.take(600);
  RunFolder::global().remove();
  for (const char* quota : {"much", "nan", "-1"}) {
    setenv("ISOCHRON_TMP_QUOTA", quota, 1);
    EXPECT_THROW(folder.take(1), ValueError) << quota;
  }
  unsetenv("ISOCHRON_TMP_QUOTA");
}

TEST_F(RunFolders, ThatCannotBeMadeWholeLeaveNothing) {
  {
    const FileSizeLimit full(10);
    EXPECT_THROW(RunFolder::global().path(), FileError);
  }
  EXPECT_TRUE(fs::is_empty(run_folders_root()));
  EXPECT_TRUE(fs::exists(RunFolder::global().path()));
}

TEST_F(RunFolders, AChildGetsOneOfItsOwn) {
  const std::string own = RunFolder::global().path();
  EXPECT_TRUE(WIFEXITED(in_child([&] { std::exit(RunFolder::global().path() == own); })));
  EXPECT_TRUE(fs::exists(own));
}

TEST_F(RunFolders, HoldTemporaryFolders) {
  const TempFolder folder;
  EXPECT_TRUE(folder.path().starts_with(RunFolder::global().path() + "/"));
}

TEST_F(RunFolders, ARootThatIsNotOursIsRefused) {
  write(run_folders_root(), 1);
  EXPECT_THROW(RunFolder::global().path(), FileError);
}

}  // namespace
}  // namespace isochron
