// Files: read whole, read compressed, write so that a crash leaves the old file or the new one.
//
//   std::string text = read_file(path);                      // FileError: [read] data.csv: No such file or directory
//   write_file(path, text);                                  // complete or not at all
//
// Everything here throws FileError naming the path and what the system said.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace isochron {

inline constexpr int64_t kFileSizeLimit = int64_t{4} << 30;

// The whole file. More than `max_bytes` is refused before it is read into memory.
std::string read_file(const std::string& path, int64_t max_bytes = kFileSizeLimit);

// As much of a short file (/proc, /sys) as fits, ended by a zero; 0 when it can't be read. Neither
// allocates nor throws.
size_t read_short_file(const char* path, std::span<char> buffer);

// A file that appears under its name only when it is complete: written to a temporary file in the same
// folder, synced, renamed, and the folder synced. Without commit() nothing remains. Permissions of a
// file that is replaced are kept, and a symbolic link keeps pointing at the file. A pipe or a device (/dev/stdout,
// /dev/null) is written to as it is, and never replaced.
//
//   AtomicFile file(path);
//   file.write(header.data(), header.size());
//   file.write(weights, bytes);
//   file.commit();
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t bytes);
  void commit();

 private:
  [[noreturn]] void fail_with_errno() const;
  void undo();
  std::string path_, temporary_;  // no temporary one for what is written to as it is
  int fd_ = -1;
};

void write_file(const std::string& path, std::string_view bytes);

// Throws now what write_file() would throw before its first byte: for reports at the end of long runs.
void check_writable(const std::string& path);

// Reads a gzip file, or a plain one as it is, piece by piece. FileError when damaged, cut short, or when
// more than `max_bytes` come out of it.
class GzipReader {
 public:
  explicit GzipReader(const std::string& path, int64_t max_bytes = kFileSizeLimit);
  ~GzipReader();
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  // Fewer bytes than asked for only at the end of the file.
  size_t read(void* to, size_t bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string read_gzip_file(const std::string& path, int64_t max_bytes = kFileSizeLimit);

// A new folder of its own, removed with all it holds.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

}  // namespace isochron
