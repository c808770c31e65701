// The bytes of a file from start to end; gzip and zstd files, told by their first bytes, are unpacked on the way.
//
//   InputFile file("train.csv.zst");
//   while (size_t got = file.read(buffer, sizeof buffer)) …
//   file.seek(offset);                     // of unpacked bytes
//
// Pipes are read once, from start to end; what comes packed out of them is refused. Reading uses bounded memory
// whatever the file claims. Everything throws FileError naming the path, and the offset where packed data is damaged or
// ends too early. One thread at a time.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

namespace isochron {

class InputFile {
 public:
  // More than `max_bytes` coming out of it is an error.
  explicit InputFile(const std::string& path, int64_t max_bytes = std::numeric_limits<int64_t>::max());
  ~InputFile();
  InputFile(InputFile&&) noexcept;
  InputFile& operator=(InputFile&&) noexcept;

  // Fewer bytes than asked for only at the end of the file.
  size_t read(void* to, size_t bytes);
  int64_t offset() const;
  // Plain files go there at once; packed ones unpack what lies between, from the start when it is behind.
  void seek(int64_t offset);

  const std::string& path() const;
  bool packed() const;
  // And no pipe, which waits for whoever writes into it.
  bool is_file() const;
  // Of the file as it lies on the disk; 0 for pipes.
  int64_t file_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// All that comes out of it; MemoryError rather than more than `max_bytes`.
std::string read_input_file(const std::string& path, int64_t max_bytes);

}  // namespace isochron
