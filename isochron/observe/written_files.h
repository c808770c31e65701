// The files a command writes: which, how large, how often. The kernel tells us (inotify) when a file in
// one of the watched folders is closed after writing, moved or deleted; files kept open are looked at
// through the process' descriptors. Files that were there before and are not written do not count.
//
//   WrittenFiles files({working_folder});
//   files.update(now);                          // twice a second
//   double bytes = files.total_bytes();
#pragma once

#include <map>
#include <string>
#include <vector>

namespace isochron::observe {

struct WrittenFile {
  double first_time = 0;
  double last_time = 0;
  double bytes = 0;          // size now
  double bytes_written = 0;  // sizes at each closing, summed: what a file rewritten again and again costs
  int writes = 0;            // times it was closed after writing
  bool exists = true;
};

class WrittenFiles {
 public:
  // Watches `folders` and what is below them, to a bounded depth and number. Files whose path begins like one of
  // `ours` are not the command's.
  explicit WrittenFiles(const std::vector<std::string>& folders, std::vector<std::string> ours = {});
  ~WrittenFiles();
  WrittenFiles(const WrittenFiles&) = delete;
  WrittenFiles& operator=(const WrittenFiles&) = delete;

  void update(double now);
  // A file that a process has open for writing.
  void seen_open(const std::string& path, double now);

  const std::map<std::string, WrittenFile>& files() const { return files_; }
  double total_bytes() const;          // of files that exist
  double total_bytes_written() const;  // ever
  int count() const;                   // of files that exist

 private:
  void watch(const std::string& folder, int depth);
  void written(const std::string& path, double now, bool closed);

  struct Folder {
    std::string path;
    int depth;
  };
  int inotify_ = -1;
  std::vector<std::string> ours_;
  std::map<int, Folder> folders_;
  std::map<std::string, WrittenFile> files_;
};

}  // namespace isochron::observe
