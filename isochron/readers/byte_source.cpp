#include "isochron/readers/byte_source.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>

#include "isochron/base/error.h"
#include "isochron/base/files.h"

namespace isochron {
namespace {

// Real traces and logs shrink 10 to 100 times; what unpacks to far more was made to fill memory (deflate's most is
// 1032).
constexpr size_t kLargestRatio = 200;
constexpr size_t kAlwaysAllowed = size_t{256} << 20;

// Opening a named pipe that nobody writes into would wait for ever. This waits some seconds for the first bytes, keeps
// them there until the pipe has been opened, and holds a writing end so that opening it does not wait for another.
class WrittenPipe {
 public:
  explicit WrittenPipe(const std::string& path) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0 || !S_ISFIFO(info.st_mode)) return;
    file_ = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    pollfd ready{file_, POLLIN, 0};
    if (file_ >= 0 && poll(&ready, 1, kPatience) > 0 && (ready.revents & POLLIN)) {
      writing_ = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
      return;
    }
    if (file_ >= 0) close(file_);
    fail<FileError>("read", "{}: nothing came through this pipe for {} s", path, kPatience / 1000);
  }
  ~WrittenPipe() {
    if (file_ >= 0) close(file_);
    if (writing_ >= 0) close(writing_);
  }
  WrittenPipe(const WrittenPipe&) = delete;
  WrittenPipe& operator=(const WrittenPipe&) = delete;

 private:
  static constexpr int kPatience = 5000;  // milliseconds
  int file_ = -1, writing_ = -1;
};

bool is_packed(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return file.get() == 0x1F && file.get() == 0x8B;
}

}  // namespace

ByteSource::ByteSource(const std::string& path) : path_(path) {
  const std::string file = path == "-" ? "/dev/stdin" : path;
  const WrittenPipe pipe(path);
  limit_ = std::numeric_limits<size_t>::max();
  std::error_code error;
  if (std::filesystem::is_regular_file(file, error)) {
    const auto size = std::filesystem::file_size(file, error);
    packed_ = is_packed(file);
    // A file that grows while we read it counts as it was.
    if (!error) limit_ = packed_ ? size * kLargestRatio + kAlwaysAllowed : size;
  }
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
    if (packed_) problem_ = fmt::format("{}: unpacks to more than {} times its size", path_, kLargestRatio);
    if (!packed_) got -= bytes_read_ - limit_;
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
