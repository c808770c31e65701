// A new file whose bytes are on the disk when finish() returns, written without going through the page cache where the
// file system allows it: a gigabyte of state then neither displaces the training data from memory nor costs the CPU
// time of copying it.
//
//   DurableFile file(folder + "/state.safetensors", bytes);   // room is claimed first: a full disk shows here
//   file.write(image);                                        // fastest for blocks that begin at a page
//   file.finish();
//
// Errors are FileError naming the path and what the system said. Without finish() the file is removed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace isochron {

class DurableFile {
 public:
  DurableFile(const std::string& path, int64_t bytes);
  ~DurableFile();
  DurableFile(const DurableFile&) = delete;
  DurableFile& operator=(const DurableFile&) = delete;

  void write(std::string_view bytes);
  void finish();
  int64_t bytes() const { return written_; }

 private:
  [[noreturn]] void fail_with_errno() const;
  bool set_direct(bool on);
  void write_piece(std::string_view piece);

  std::string path_;
  int fd_ = -1;
  bool direct_ = false;
  int64_t written_ = 0;
};

// Makes the entries of a folder durable: files created, renamed and removed in it.
void sync_folder(const std::string& path);

}  // namespace isochron
