#include "isochron/base/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "isochron/base/error.h"

namespace isochron {
namespace {

namespace fs = std::filesystem;

class Files : public ::testing::Test {
 protected:
  TempFolder folder;
  std::string path = folder.file("a.txt");
  int entries() const {
    int count = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder.path())) ++count;
    return count;
  }
};

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const FileError& e) {
    return e.what();
  }
  return "no error";
}

TEST_F(Files, WhatIsWrittenIsRead) {
  const std::string text("zero \0 inside", 13);
  write_file(path, text);
  EXPECT_EQ(read_file(path), text);
  write_file(path, "");
  EXPECT_EQ(read_file(path), "");
  EXPECT_EQ(entries(), 1);
}

TEST_F(Files, ReadsFilesThatClaimToBeEmpty) {
  EXPECT_THAT(read_file("/proc/self/status"), ::testing::HasSubstr("VmRSS"));
}

TEST_F(Files, ErrorsNameThePathAndTheReason) {
  EXPECT_EQ(message_of([&] { read_file(path); }), "[read] " + path + ": No such file or directory");
  EXPECT_EQ(message_of([&] { read_gzip_file(path); }), "[read] " + path + ": No such file or directory");
  EXPECT_EQ(message_of([&] { read_file(folder.path()); }), "[read] " + folder.path() + ": Is a directory");
  EXPECT_EQ(message_of([&] { read_gzip_file(folder.path()); }), "[read] " + folder.path() + ": Is a directory");
  const std::string nowhere = folder.file("none/a.txt");
  EXPECT_EQ(message_of([&] { write_file(nowhere, "x"); }), "[write] " + nowhere + ": No such file or directory");
  EXPECT_EQ(message_of([&] { write_file(folder.path(), "x"); }), "[write] " + folder.path() + ": Is a directory");
}

TEST_F(Files, TheSizeLimitHolds) {
  write_file(path, "123456");
  EXPECT_EQ(read_file(path, 6), "123456");
  EXPECT_THAT(message_of([&] { read_file(path, 5); }), ::testing::HasSubstr("the limit is 5"));
  EXPECT_THAT(message_of([&] { read_file("/proc/self/status", 10); }), ::testing::HasSubstr("the limit is 10"));
}

TEST_F(Files, AnUncommittedFileLeavesTheOldOne) {
  write_file(path, "old");
  {
    AtomicFile file(path);
    file.write("new", 3);
    EXPECT_EQ(read_file(path), "old");
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(Files, AFailingWriteLeavesTheOldFileAndNothingElse) {
  write_file(path, "old");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  rlimit small{1000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message = message_of([&] { write_file(path, std::string(5000, 'x')); });
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(message, "[write] " + path + ": File too large");
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(Files, ReplacingKeepsPermissionsAndLinks) {
  write_file(path, "old");
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
  const std::string link = folder.file("link");
  fs::create_symlink("a.txt", link);
  write_file(link, "new");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(read_file(path), "new");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
}

TEST_F(Files, PipesAndDevicesAreWrittenToAndNeverReplaced) {
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const std::string link = folder.file("link");
  fs::create_symlink(path, link);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  check_writable(link);
  write_file(link, "told");
  char text[16] = {};
  EXPECT_EQ(read(reader, text, sizeof text), 4);
  EXPECT_STREQ(text, "told");
  close(reader);
  EXPECT_TRUE(fs::is_fifo(path));
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(entries(), 2);
  EXPECT_THAT(message_of([] { write_file("/dev/full", "lost"); }), ::testing::HasSubstr("No space left on device"));
}

TEST_F(Files, WhatCannotBeWrittenIsKnownBefore) {
  write_file(path, "old");
  check_writable(path);
  check_writable(folder.file("new"));
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(entries(), 1);
  EXPECT_EQ(message_of([&] { check_writable(folder.file("missing/a")); }),
            message_of([&] { write_file(folder.file("missing/a"), ""); }));
  EXPECT_THAT(message_of([&] { check_writable(folder.path()); }), ::testing::HasSubstr("Is a directory"));
}

TEST_F(Files, TempFoldersDifferAndDisappear) {
  std::string gone;
  {
    TempFolder other;
    gone = other.path();
    EXPECT_NE(gone, folder.path());
    write_file(other.file("x"), "x");
  }
  EXPECT_FALSE(fs::exists(gone));
}

void write_gzip(const std::string& path, const std::string& text, const char* mode = "wb") {
  gzFile file = gzopen(path.c_str(), mode);
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
  ASSERT_EQ(gzclose(file), Z_OK);
}

std::string long_text() {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i * 7919 % 10007) + ",";
  return text;
}

TEST_F(Files, GzipPlainAndJoinedFilesAreRead) {
  const std::string text = long_text();
  write_gzip(path, text);
  EXPECT_LT(fs::file_size(path), text.size());
  EXPECT_EQ(read_gzip_file(path), text);
  write_gzip(path, "more", "ab");
  EXPECT_EQ(read_gzip_file(path), text + "more");
  write_file(path, "plain text");
  EXPECT_EQ(read_gzip_file(path), "plain text");
}

TEST_F(Files, GzipReadsInPieces) {
  write_gzip(path, "abcdefgh");
  GzipReader reader(path);
  char piece[3];
  std::string text;
  while (const size_t got = reader.read(piece, sizeof piece)) text.append(piece, got);
  EXPECT_EQ(text, "abcdefgh");
}

TEST_F(Files, DamagedGzipIsRefused) {
  write_gzip(path, long_text());
  const std::string whole = read_file(path);
  write_file(path, whole.substr(0, whole.size() / 2));
  EXPECT_EQ(message_of([&] { read_gzip_file(path); }), "[read] " + path + ": the compressed data ends too early");
  std::string flipped = whole;
  flipped[flipped.size() / 2] = static_cast<char>(~flipped[flipped.size() / 2]);
  write_file(path, flipped);
  EXPECT_THAT(message_of([&] { read_gzip_file(path); }), ::testing::HasSubstr(path + ": damaged gzip data"));
}

TEST_F(Files, ABombIsStoppedAtTheLimit) {
  write_gzip(path, std::string(10'000'000, '0'));
  EXPECT_LT(fs::file_size(path), 20'000u);
  EXPECT_EQ(message_of([&] { read_gzip_file(path, 1'000'000); }),
            "[read] " + path + ": more than the limit of 1000000 bytes comes out of it");
}

}  // namespace
}  // namespace isochron
