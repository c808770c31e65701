#include "isochron/readers/byte_source.h"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "isochron/base/error.h"
#include "isochron/base/files.h"

namespace isochron {
namespace {

// Real traces and logs shrink 10 to 100 times; what unpacks to a thousand times its size was made to fill memory.
constexpr size_t kLargestRatio = 1000;
constexpr size_t kAlwaysAllowed = size_t{256} << 20;

}  // namespace

ByteSource::ByteSource(const std::string& path) : path_(path) {
  const std::string file = path == "-" ? "/dev/stdin" : path;
  limit_ = std::numeric_limits<size_t>::max();
  std::error_code error;
  if (const auto size = std::filesystem::file_size(file, error); !error) limit_ = size * kLargestRatio + kAlwaysAllowed;
  reader_ = std::make_unique<GzipReader>(file, std::numeric_limits<int64_t>::max());
}
ByteSource::~ByteSource() = default;

void ByteSource::fill() {
  buffer_.resize(kPiece);
  size_t got = 0;
  try {
    // In steps, because damage is thrown and takes the step's good bytes with it.
    while (got < kPiece) {
      const size_t now = reader_->read(buffer_.data() + got, std::min(kPiece - got, size_t{64} << 10));
      got += now;
      if (now == 0) {
        ended_ = true;
        break;
      }
    }
  } catch (const FileError& e) {
    problem_ = e.what();
    ended_ = true;
  }
  bytes_read_ += got;
  if (bytes_read_ > limit_) {
    problem_ = "unpacks to more than a thousand times its size; the rest was not read";
    ended_ = true;
  }
  buffer_.resize(got);
}

std::string_view ByteSource::peek() {
  if (!peeked_) {
    fill();
    peeked_ = true;
  }
  return buffer_;
}

std::string_view ByteSource::next() {
  if (peeked_) {
    peeked_ = false;
    return buffer_;
  }
  if (ended_) return {};
  fill();
  return buffer_;
}

}  // namespace isochron
