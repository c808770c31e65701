// Rows of text to arrays.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>

#include "isochron/base/input_file.h"
#include "isochron/data/files/csv_schema.h"
#include "isochron/data/files/slabs.h"

namespace isochron::data::csv_file {

// Whole rows of a file, with bytes around them that may be read too.
class TextBlock {
 public:
  std::string_view text() const { return {start_, size}; }
  size_t size = 0;
  int64_t offset = 0;   // of unpacked bytes
  size_t row_ends = 0;  // there are no more rows than these

 private:
  friend class BlockReader;
  struct Free {
    void operator()(char* bytes) const { std::free(bytes); }
  };
  // Room for so many bytes in front of the first page and behind its start. Contents are lost.
  void make_room(size_t in_front, size_t behind);
  // Text begins so many bytes in front of the first page: what is read behind them then starts with that page, as some
  // CPUs copy to the first bytes of a page four times as slowly as to the page.
  char* begin_at(size_t in_front) { return start_ = bytes_.get() + front_ - in_front; }
  void pad() { std::memset(start_ + size, 0, 64); }
  std::unique_ptr<char, Free> bytes_;
  char* start_ = nullptr;
  size_t front_ = 0, capacity_ = 0;
};

// Cuts a file into blocks of whole rows.
class BlockReader {
 public:
  BlockReader(const std::string& path, int64_t max_row_bytes) : file_(path), max_row_bytes_(max_row_bytes) {}
  // False at the end. A block always ends with a newline.
  bool next(TextBlock& block);
  // Whether the last block was the last one.
  bool ended() const { return ended_; }
  // Where the next block begins; a block's end, or what seek() was given.
  int64_t offset() const { return offset_; }
  void seek(int64_t offset);
  const std::string& path() const { return file_.path(); }
  // No pipe: reading it never waits for somebody else.
  bool in_file() const { return file_.is_file(); }

 private:
  InputFile file_;
  int64_t max_row_bytes_;
  std::vector<char> rest_;  // the row that the last block cut
  int64_t offset_ = 0;
  bool ended_ = false;
};

struct Rows {
  int64_t count = 0;
  std::vector<Storage> arrays;  // one an output; capacity may exceed count rows
  std::vector<Strings> texts;   // of outputs that are strings
};

// A value that its column's type can't hold. `wider` is the type that could; skipped when the type was said.
struct FieldError {
  size_t column;
  int64_t offset;  // in the file
  Type wider;
  std::string text, why;
};

// The rows of a block, the first of them `from` bytes behind its start. With `slabs` their arrays are slices of those.
Rows parse_rows(const Schema& schema, const TextBlock& block, size_t from = 0, Slabs* slabs = nullptr);
// The row that holds byte `at`, from its first byte to behind its end. Where quotes are broken it ends with the line.
struct RowPlace {
  size_t begin = 0, end = 0;
};
RowPlace row_at(std::string_view text, size_t at, char delimiter);
// Throws the FileError for a field, with the line counted from the start of the file.
[[noreturn]] void fail_field(const std::string& path, const Schema& schema, const FieldError& error);

}  // namespace isochron::data::csv_file
