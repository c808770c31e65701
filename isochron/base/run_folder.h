// The one folder in which a process keeps its temporary files: made when first needed, bounded, and gone when the
// process is.
//
//   std::string path = RunFolder::global().file("shuffle.bin");   // …/isochron-1000/run-4711-8812345/shuffle.bin
//   RunFolder::global().take(bytes);                              // FileError beyond the quota, before the disk is
//   full
//
// It lies under ISOCHRON_TMPDIR, or TMPDIR, or /tmp, in a folder of the user's own (mode 0700). A file "owner" in it
// names the process (id, start time, boot) and is locked as long as that lives, in whatever container it runs. The
// folder is removed at exit, and when SIGINT, SIGTERM, SIGHUP or SIGQUIT ends a process that does not handle them. What
// a process that was killed left behind is found and removed when the next one makes its folder, or by `isochron
// clean`. Removing never follows a symbolic link. After fork() the child gets a folder of its own. Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace isochron {

class RunFolder {
 public:
  static RunFolder& global();

  // The folder, made now if need be. FileError when there is no place for it.
  const std::string& path();
  std::string file(std::string_view name) { return path() + "/" + std::string(name); }
  // Whether it has been made.
  bool exists() const;

  // Counts bytes about to be written to it. FileError, counting nothing, when they would exceed the quota:
  // ISOCHRON_TMP_QUOTA (bytes, or 500M, 20G), or else half of what the disk had left.
  void take(int64_t bytes);
  void give_back(int64_t bytes);
  int64_t taken() const;

  // Removes it with all it holds. The next path() makes a new one.
  void remove();

 private:
  RunFolder() = default;
  void make();
  mutable std::mutex mutex_;
  std::string path_;
  int owner_fd_ = -1;
  int pid_ = 0;
  int64_t quota_ = 0, taken_ = 0;
};

// When a process was started, in clock ticks since the machine was; empty when it does not run (any more). With its id
// this tells a process from a later one of that id.
std::string process_start(int pid);

// Where folders of runs of this user lie.
std::string run_folders_root();

// A folder that some run made.
struct RunFolderInfo {
  std::string path;
  int pid = 0;
  bool alive = false;
  std::string command;  // of its process
  int64_t files = 0, bytes = 0;
  int64_t age_seconds = 0;
};

// All of them under `root`, the living included; empty when there is no such folder or it is not this user's.
std::vector<RunFolderInfo> list_run_folders(const std::string& root = run_folders_root());

// Removes those of dead processes and returns them.
std::vector<RunFolderInfo> remove_dead_run_folders(const std::string& root = run_folders_root());

}  // namespace isochron
