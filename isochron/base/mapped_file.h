// A file as memory: pages are read when they are touched, and shared with everyone who maps the same file.
//
//   auto file = std::make_shared<MappedFile>(path);
//   parse(file->bytes());
//
// Writing to the memory changes this process' copy only, never the file. The file must not be cut shorter while it is
// mapped: touching a page that is gone ends the process (SIGBUS), as with every memory-mapped file. Readers that must
// survive that use InputFile (input_file.h).
#pragma once

#include <string>
#include <string_view>

namespace isochron {

class MappedFile {
 public:
  // FileError when it can't be opened or is no regular file.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  char* data() const { return data_; }
  size_t size() const { return size_; }
  std::string_view bytes() const { return {data_, size_}; }

 private:
  std::string path_;
  char* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace isochron
