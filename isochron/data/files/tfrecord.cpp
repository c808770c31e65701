#include "isochron/data/files/tfrecord.h"

#include <algorithm>
#include <cstring>

#include "isochron/base/error.h"
#include "isochron/base/record_frame.h"

namespace isochron::data {
namespace {

constexpr size_t kPiece = 256 << 10;

template <class T>
T load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

[[noreturn]] void fail_cut(const std::string& path, uint64_t offset, uint64_t needed, uint64_t left) {
  fail<FileError>("read_tfrecord", "{}: the file is cut short: the record at offset {} needs {} bytes, {} are left",
                  path, offset, needed, left);
}

// The length in a record's header, whose 12 bytes are there.
uint64_t checked_length(const char* header, const std::string& path, uint64_t offset) {
  if (load<uint32_t>(header + 8) != masked_crc32c({header, 8}))
    fail<FileError>("read_tfrecord", "{}: no TFRecord file, or damaged: the length at offset {} has a wrong checksum",
                    path, offset);
  return load<uint64_t>(header);
}

std::string_view checked_data(const char* record, uint64_t length, const std::string& path, uint64_t offset) {
  const std::string_view data(record + kRecordHeader, length);
  if (load<uint32_t>(record + kRecordHeader + length) != masked_crc32c(data))
    fail<FileError>("read_tfrecord", "{}: damaged: the {} bytes of the record at offset {} have a wrong checksum", path,
                    length, offset);
  return data;
}

}  // namespace

TfRecordReader::TfRecordReader(const std::string& path, const Options& options) : file_(path), options_(options) {
  if (options.max_record_bytes < 0)
    fail<ValueError>("read_tfrecord", "max_record_bytes must not be negative, got {}", options.max_record_bytes);
}

std::string_view TfRecordReader::ahead(size_t bytes) {
  if (end_ - begin_ < bytes) {
    if (begin_ < end_) std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    // By doubling: a length that lies makes us allocate no more than twice what the file really holds.
    for (bool ended = false; end_ < bytes && !ended;) {
      if (end_ == buffer_.size() || buffer_.size() < kPiece) buffer_.resize(std::max(kPiece, 2 * buffer_.size()));
      const size_t room = buffer_.size() - end_, got = file_.read(buffer_.data() + end_, room);
      end_ += got;
      ended = got < room;
    }
  }
  return {buffer_.data() + begin_, end_ - begin_};
}

bool TfRecordReader::next(std::string_view& record) {
  std::string_view bytes = ahead(kRecordHeader);
  if (bytes.empty()) return false;
  const auto offset = static_cast<uint64_t>(offset_);
  if (bytes.size() < kRecordHeader) fail_cut(path(), offset, kRecordHeader, bytes.size());
  const uint64_t length = checked_length(bytes.data(), path(), offset);
  if (length > static_cast<uint64_t>(options_.max_record_bytes))
    fail<FileError>("read_tfrecord", "{}: the record at offset {} has {} bytes, the limit is {}", path(), offset,
                    length, options_.max_record_bytes);
  const size_t whole = kRecordHeader + length + kRecordFooter;
  bytes = ahead(whole);
  if (bytes.size() < whole) fail_cut(path(), offset, whole, bytes.size());
  begin_ += whole;
  offset_ += static_cast<int64_t>(whole);
  record =
      options_.check_data ? checked_data(bytes.data(), length, path(), offset) : bytes.substr(kRecordHeader, length);
  return true;
}

void TfRecordReader::seek(int64_t offset) {
  file_.seek(offset);
  begin_ = end_ = 0;
  offset_ = offset;
}

std::vector<uint64_t> tfrecord_offsets(const MappedFile& file) {
  std::vector<uint64_t> offsets;
  for (uint64_t at = 0; at < file.size();) {
    const uint64_t left = file.size() - at;
    if (left < kRecordHeader) fail_cut(file.path(), at, kRecordHeader, left);
    const uint64_t length = checked_length(file.data() + at, file.path(), at);
    if (left - kRecordHeader < kRecordFooter || length > left - kRecordHeader - kRecordFooter)
      fail_cut(file.path(), at, kRecordHeader + length + kRecordFooter, left);
    offsets.push_back(at);
    at += kRecordHeader + length + kRecordFooter;
  }
  return offsets;
}

std::string_view tfrecord_at(const MappedFile& file, uint64_t offset) {
  const char* record = file.data() + offset;
  return checked_data(record, load<uint64_t>(record), file.path(), offset);
}

TfRecordWriter::TfRecordWriter(const std::string& path, Packing packing) : file_(path) {
  if (packing == Packing::gzip) deflater_ = std::make_unique<Deflater>(Deflater::Format::gzip);
}

void TfRecordWriter::write(std::string_view record) {
  append_record(pending_, record);
  if (pending_.size() >= kPiece) flush();
}

void TfRecordWriter::flush() {
  if (deflater_) {
    deflater_->add(pending_, packed_);
    file_.write(packed_.data(), packed_.size());
    packed_.clear();
  } else {
    file_.write(pending_.data(), pending_.size());
  }
  pending_.clear();
}

void TfRecordWriter::commit() {
  flush();
  if (deflater_) {
    deflater_->finish(packed_);
    file_.write(packed_.data(), packed_.size());
  }
  file_.commit();
}

}  // namespace isochron::data
