// Checkpoints on disk: complete or not there, damage recognised wherever it is, leftovers of crashes harmless.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>

#include "isochron/base/crc32c.h"
#include "isochron/base/durable_file.h"
#include "isochron/base/files.h"
#include "isochron/base/run_folder.h"
#include "isochron/checkpoint/async_writer.h"
#include "isochron/checkpoint/manifest.h"
#include "isochron/isochron.h"
#include "tests/message_of.h"

namespace isochron {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

StateDict example(int64_t number = 1) {
  StateDict state;
  state.put("number", number);
  state.put("weights/a", random_normal({100, 30}, 0, 1, {.seed = static_cast<uint64_t>(number)}).eval());
  return state;
}

void save(const std::string& path, int64_t number) {
  write_checkpoint(path, example(number).tensors(), {.model = "m", .epoch = static_cast<int>(number)});
}

TEST(StateDict, KeepsEveryKindExactly) {
  const TempFolder folder;
  StateDict state;
  state.put("int", std::numeric_limits<int64_t>::min());
  state.put("double", std::nextafter(0.1, 1));
  state.put("nan", std::nan(""));
  state.put("text", std::string("a\0b\n\xff", 5));
  state.put("empty", std::string_view());
  state.put("list", std::vector<double>{1, -INFINITY});
  state.put("none", std::vector<int64_t>{});
  StateDict part;
  part.put("best", 0.5);
  state.put_all("callbacks/x.0", part);
  write_checkpoint(folder.file("c"), state.tensors());
  const StateDict back = read_checkpoint(folder.file("c")).state;
  EXPECT_EQ(back.integer("int"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(back.number("double"), std::nextafter(0.1, 1));
  EXPECT_TRUE(std::isnan(back.number("nan")));
  EXPECT_EQ(back.text("text"), std::string("a\0b\n\xff", 5));
  EXPECT_EQ(back.text("empty"), "");
  EXPECT_EQ(back.numbers("list"), (std::vector<double>{1, -INFINITY}));
  EXPECT_TRUE(back.integers("none").empty());
  EXPECT_EQ(back.part("callbacks/x.0").number("best"), 0.5);
  EXPECT_THAT(message_of([&] { back.number("int"); }), HasSubstr("should be float64"));
  EXPECT_THAT(message_of([&] { back.number("nothing"); }), HasSubstr("holds no \"nothing\""));
}

TEST(Store, WritesReadsAndReplaces) {
  const TempFolder folder;
  const std::string path = folder.file("run/deep/c");
  for (const int64_t number : {1, 2, 3}) {
    const CheckpointInfo written = write_checkpoint(
        path, example(number).tensors(),
        {.model = "net", .epoch = 4, .step = number, .total_steps = 40, .threads = 2, .logs = {{"loss", 0.5}}});
    const Checkpoint back = read_checkpoint(path + "/");
    EXPECT_EQ(back.state.integer("number"), number);
    EXPECT_TRUE(same_elements(back.state.tensor("weights/a"), example(number).tensor("weights/a")));
    EXPECT_EQ(back.info.model, "net");
    EXPECT_EQ(back.info.step, number);
    EXPECT_EQ(back.info.logs.at(0).second, 0.5);
    EXPECT_EQ(back.info.crc32c, written.crc32c);
    EXPECT_EQ(back.info.bytes, static_cast<int64_t>(fs::file_size(path + "/state.safetensors")));
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.file("run/deep")), fs::directory_iterator()), 1)
      << "nothing but the checkpoint is left";
}

TEST(Store, AChangedByteAnywhereIsRecognised) {
  const TempFolder folder;
  save(folder.file("old"), 1);
  save(folder.file("new"), 2);
  for (const char* file : {"state.safetensors", "manifest.json"}) {
    const std::string path = folder.file("new/") + file;
    const std::string bytes = read_file(path);
    const size_t step = bytes.size() > 2000 ? 97 : 1;
    for (size_t at = 0; at < bytes.size(); at += step) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ (1 << (at % 8)));
      std::ofstream(path, std::ios::binary) << changed;
      ASSERT_THROW(read_checkpoint(folder.file("new")), FileError) << file << " byte " << at;
      if (at % 29 == 0) {
        std::vector<std::string> rejected;
        const auto newest = read_newest_checkpoint(folder.path(), &rejected);
        ASSERT_TRUE(newest);
        EXPECT_EQ(newest->state.integer("number"), 1);
        EXPECT_THAT(rejected, testing::ElementsAre(HasSubstr(folder.file("new"))));
      }
    }
    for (const size_t length : {size_t{0}, size_t{1}, bytes.size() / 2, bytes.size() - 1}) {
      std::ofstream(path, std::ios::binary) << bytes.substr(0, length);
      EXPECT_THROW(read_checkpoint(folder.file("new")), FileError) << file << " cut to " << length;
    }
    std::ofstream(path, std::ios::binary) << bytes << "x";
    EXPECT_THROW(read_checkpoint(folder.file("new")), FileError) << file << " longer";
    std::ofstream(path, std::ios::binary) << bytes;
    EXPECT_EQ(read_checkpoint(folder.file("new")).state.integer("number"), 2);
  }
}

// A kill in the middle of a removal leaves a folder that has just changed, and nothing that was lost.
TEST(Store, WhatWasBeingRemovedIsNotTakenForTheNewest) {
  const TempFolder folder;
  save(folder.file("c-1"), 1);
  fs::last_write_time(folder.file("c-1/state.safetensors"), fs::file_time_type::clock::now() - std::chrono::hours(1));
  save(folder.file("c-2"), 2);
  fs::remove(folder.file("c-1/manifest.json"));
  std::vector<std::string> rejected;
  EXPECT_EQ(read_newest_checkpoint(folder.path(), &rejected)->info.epoch, 2);
  EXPECT_TRUE(rejected.empty());
}

TEST(Store, TellsIncompleteForeignAndNewerOnes) {
  const TempFolder folder;
  save(folder.file("c"), 1);
  const std::string manifest = read_file(folder.file("c/manifest.json"));
  fs::remove(folder.file("c/manifest.json"));
  EXPECT_THAT(message_of([&] { read_checkpoint(folder.file("c")); }), HasSubstr("incomplete"));
  write_file(folder.file("c/manifest.json"), R"({"name": "an extension of a browser"})");
  EXPECT_THAT(message_of([&] { read_checkpoint(folder.file("c")); }), HasSubstr("foreign"));
  fs::remove_all(folder.file("c"));
  EXPECT_THAT(message_of([&] { read_checkpoint(folder.file("c")); }), HasSubstr("no such folder"));
  fs::create_directory(folder.file("c"));
  EXPECT_THAT(message_of([&] { read_checkpoint(folder.file("c")); }), HasSubstr("no checkpoint"));
  write_file(folder.file("f"), "a file");
  EXPECT_THROW(save(folder.file("f"), 1), FileError);
  EXPECT_EQ(read_file(folder.file("f")), "a file");
  EXPECT_FALSE(read_newest_checkpoint(folder.path(), nullptr));
}

// What a crash may leave of one gives way to the next; anything else of that name does not.
TEST(Store, TakesThePlaceOfItsOwnRemainsOnly) {
  const TempFolder folder;
  const std::string manifest = folder.file("c/manifest.json");
  for (const std::string& left : {std::string(), std::string(4096, '\0')}) {
    save(folder.file("c"), 1);
    write_file(manifest, left);
    EXPECT_THAT(message_of([&] { read_checkpoint(folder.file("c")); }), HasSubstr("manifest.json is empty"));
    save(folder.file("c"), 2);
    EXPECT_EQ(verify_checkpoint(folder.file("c")).epoch, 2);
  }
  fs::remove(manifest);
  save(folder.file("c"), 3);
  EXPECT_EQ(verify_checkpoint(folder.file("c")).epoch, 3);
  write_file(folder.file("c/notes.txt"), "mine");
  fs::remove(manifest);
  EXPECT_THROW(save(folder.file("c"), 4), FileError);
  fs::remove(folder.file("c/notes.txt"));
  write_file(manifest, R"({"name": "an extension of a browser"})");
  EXPECT_THROW(save(folder.file("c"), 4), FileError);
}

// As after a clock was set back: what lies there was saved tomorrow.
TEST(Store, TheNewestIsTheOneWrittenLastWhateverTheClockSays) {
  const TempFolder folder;
  CheckpointInfo info = write_checkpoint(folder.file("a/c-1"), example(1).tensors(), {.epoch = 1});
  info.saved_at_ns += int64_t{24} * 3600 * 1'000'000'000;
  write_file(folder.file("a/c-1/manifest.json"), manifest_text(info, "state.safetensors"));
  fs::rename(folder.file("a"), folder.file("run"));
  for (const int64_t number : {2, 3}) {
    save(folder.file("run/c-" + std::to_string(number)), number);
    EXPECT_EQ(read_newest_checkpoint(folder.file("run"), nullptr)->info.epoch, number);
  }
}

TEST(Store, ListsNewestFirstAndFallsBackBesideADamagedOne) {
  const TempFolder folder;
  for (const int64_t number : {3, 1, 2}) save(folder.file("c-" + std::to_string(number)), number);
  const auto listed = list_checkpoints(folder.path());
  ASSERT_EQ(listed.size(), 3u);
  EXPECT_EQ(listed[0].path, folder.file("c-2")) << "by the time of saving, not by name";
  fs::resize_file(folder.file("c-2/state.safetensors"), 10);
  // Its place is by its manifest, not by a file system whose clock may lag behind.
  fs::last_write_time(listed[0].path + "/manifest.json", fs::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_THAT(list_checkpoints(folder.path())[0].problem, HasSubstr("has 10 bytes"));
  std::vector<std::string> rejected;
  EXPECT_EQ(read_newest_checkpoint(folder.file("c-2"), &rejected)->info.path, folder.file("c-1"));
  EXPECT_EQ(rejected.size(), 1u);
}

// A process that is gone and whose number is free.
int dead_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

TEST(Store, LeftoversOfDeadProcessesGoAndThoseOfLivingOnesStay) {
  const TempFolder folder;
  save(folder.file("c"), 1);
  // The names writers use are seen while one is at work: take one from a writer that can't finish.
  save(folder.file("probe"), 1);
  std::string host;
  {
    char name[256] = {};
    gethostname(name, sizeof name - 1);
    host = fmt::format("{:04x}", crc32c(name) & 0xFFFF);
  }
  const auto left = [&](const std::string& target, int process, const char* end) {
    const std::string start = process_start(process);
    return folder.file(fmt::format(".{}.{}.{}-{}.0.{}", target, host, process, start.empty() ? "17" : start, end));
  };
  const std::string earlier = folder.file(fmt::format(".c.{}.{}-1.0.tmp", host, getpid()));
  const std::string elsewhere = folder.file(".c.zzzz.7-1.0.tmp"), long_ago = folder.file(".c.zzzz.8-1.0.tmp");
  for (const std::string& path : {earlier, elsewhere, long_ago}) fs::create_directory(path);
  fs::last_write_time(long_ago, fs::file_time_type::clock::now() - std::chrono::hours(30));
  const int dead = dead_process();
  fs::create_directory(left("c", dead, "tmp"));
  write_file(left("c", dead, "tmp") + "/state.safetensors", "half");
  fs::create_directory(left("d", dead, "tmp"));
  fs::rename(folder.file("probe"), left("e", dead, "old"));
  fs::create_directory(left("c", getppid(), "tmp"));
  fs::create_directory(folder.file(".hidden.tmp"));
  remove_leftovers(folder.path());
  EXPECT_FALSE(fs::exists(left("c", dead, "tmp")));
  EXPECT_FALSE(fs::exists(left("d", dead, "tmp")));
  EXPECT_FALSE(fs::exists(earlier)) << "of a process that had this one's id";
  EXPECT_TRUE(fs::exists(elsewhere)) << "nobody knows about other hosts";
  EXPECT_FALSE(fs::exists(long_ago)) << "unless they have not been heard of for a day";
  EXPECT_TRUE(is_checkpoint(folder.file("e"))) << "a complete one gets its name back";
  EXPECT_TRUE(fs::exists(left("c", getppid(), "tmp"))) << "its process lives";
  EXPECT_TRUE(fs::exists(folder.file(".hidden.tmp"))) << "none of ours";
  EXPECT_EQ(verify_checkpoint(folder.file("c")).epoch, 1);
}

TEST(Store, RemovesItsOwnFilesOnly) {
  const TempFolder folder;
  save(folder.file("c"), 1);
  write_file(folder.file("c/notes.txt"), "keep");
  remove_checkpoint(folder.file("c"));
  EXPECT_EQ(read_file(folder.file("c/notes.txt")), "keep");
  EXPECT_FALSE(is_checkpoint(folder.file("c")));
}

TEST(Store, AReadOnlyFolderIsAnError) {
  // Root may write anywhere: /proc takes no folders from anybody.
  const TempFolder folder;
  chmod(folder.path().c_str(), 0555);
  const std::string place = geteuid() == 0 ? "/proc/isochron" : folder.file("c");
  EXPECT_THAT(message_of([&] { save(place, 1); }), HasSubstr(place));
  chmod(folder.path().c_str(), 0755);
}

TEST(DurableFile, WritesBlocksOfAnySizeAndPlace) {
  const TempFolder folder;
  std::string all;
  DurableFile file(folder.file("f"), 0);
  std::vector<char> memory(3 * 4096 + 5000);
  char* page = memory.data() + (4096 - reinterpret_cast<uintptr_t>(memory.data()) % 4096) % 4096;
  for (const auto& [offset, bytes] :
       std::vector<std::pair<size_t, size_t>>{{0, 8192}, {1, 100}, {0, 4096}, {3, 9000}}) {
    for (size_t i = 0; i < bytes; ++i) page[offset + i] = static_cast<char>(all.size() + i * 7);
    const std::string_view piece(page + offset, bytes);
    all += piece;
    file.write(piece);
  }
  file.finish();
  EXPECT_EQ(read_file(folder.file("f")), all);
  EXPECT_EQ(file.bytes(), static_cast<int64_t>(all.size()));
  { DurableFile dropped(folder.file("g"), 100); }
  EXPECT_FALSE(fs::exists(folder.file("g")));
}

TEST(AsyncWriter, WritesWhatTheStateWasWhenItWasSubmitted) {
  const TempFolder folder;
  AsyncWriter writer;
  Variable weights(full({1 << 20}, 1.0), {.name = "w"});
  weights.eval();
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(writer.submit({{"w", weights}}, {{.path = folder.file("c-" + std::to_string(i)), .id = i}}));
    weights.assign(full({1 << 20}, 10.0 + i));
    weights.eval();
  }
  writer.finish();
  const auto outcomes = writer.take_outcomes();
  ASSERT_EQ(outcomes.size(), 5u);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(outcomes[static_cast<size_t>(i)].saved);
    const Tensor saved = read_checkpoint(folder.file("c-" + std::to_string(i))).state.tensor("w");
    EXPECT_TRUE(same_elements(saved, full({1 << 20}, i == 0 ? 1.0 : 9.0 + i))) << i;
  }
}

// The writer's thread makes room for the first while the second is asked for.
TEST(AsyncWriter, RoomMayBeAskedForAgainAtAnyTime) {
  const TempFolder folder;
  AsyncWriter writer;
  const Tensor state = full({1 << 16}, 3.0);
  for (int64_t bytes = 1 << 12; bytes <= 1 << 20; bytes *= 2) writer.reserve(bytes);
  EXPECT_TRUE(writer.submit({{"w", state}}, {{.path = folder.file("c")}}));
  writer.finish();
  EXPECT_TRUE(same_elements(read_checkpoint(folder.file("c")).state.tensor("w"), state));
}

}  // namespace
}  // namespace isochron
