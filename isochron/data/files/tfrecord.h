// TFRecord files: records of bytes, each with checksums of its length and its data; plain, gzip or zstd.
//
//   TfRecordReader reader("train.tfrecord.gz");
//   for (std::string_view record; reader.next(record);) …         // valid until the next call
//
//   TfRecordWriter writer("out.tfrecord");                        // appears complete or not at all
//   writer.write(example.serialize());
//   writer.commit();
//
// Damaged and cut files throw FileError naming the file, the record and its offset.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "isochron/base/deflate.h"
#include "isochron/base/files.h"
#include "isochron/base/input_file.h"
#include "isochron/base/mapped_file.h"

namespace isochron::data {

class TfRecordReader {
 public:
  struct Options {
    bool check_data = true;  // verify the checksum of the data; that of the length is always verified
    int64_t max_record_bytes = int64_t{1} << 30;
  };
  explicit TfRecordReader(const std::string& path) : TfRecordReader(path, Options()) {}
  TfRecordReader(const std::string& path, const Options& options);

  // False at the end. After an error in the data of a record the next call goes on behind it; after one in a length it
  // fails again, because nobody knows where the next record begins.
  bool next(std::string_view& record);
  // Where the next record begins, in unpacked bytes, and going there again.
  int64_t offset() const { return offset_; }
  void seek(int64_t offset);
  const std::string& path() const { return file_.path(); }

 private:
  // At least `bytes` from the current place on, or as many as there are.
  std::string_view ahead(size_t bytes);

  InputFile file_;
  Options options_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;
  int64_t offset_ = 0;
};

// Where each record of a mapped plain file begins. Reads the lengths only.
std::vector<uint64_t> tfrecord_offsets(const MappedFile& file);
// The data of the record at one of those offsets, checked.
std::string_view tfrecord_at(const MappedFile& file, uint64_t offset);

class TfRecordWriter {
 public:
  enum class Packing { none, gzip };
  explicit TfRecordWriter(const std::string& path, Packing packing = Packing::none);
  void write(std::string_view record);
  void commit();

 private:
  void flush();
  AtomicFile file_;
  std::string pending_, packed_;
  std::unique_ptr<Deflater> deflater_;
};

}  // namespace isochron::data
