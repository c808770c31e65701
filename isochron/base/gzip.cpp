#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <system_error>

#include "isochron/base/error.h"
#include "isochron/base/files.h"

namespace isochron {

struct GzipReader::State {
  std::string path;
  int64_t left;  // bytes that may still come out
  int64_t limit;
  gzFile file = nullptr;

  [[noreturn]] void fail_reading() const {
    int code = Z_OK;
    const char* text = gzerror(file, &code);
    if (code == Z_ERRNO) fail<FileError>("read", "{}: {}", path, std::generic_category().message(errno));
    if (code == Z_BUF_ERROR) fail<FileError>("read", "{}: the compressed data ends too early", path);
    fail<FileError>("read", "{}: damaged gzip data ({})", path, text);
  }
};

GzipReader::GzipReader(const std::string& path, int64_t max_bytes)
    : state_(std::make_unique<State>(State{path, max_bytes, max_bytes})) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail<FileError>("read", "{}: {}", path, std::generic_category().message(errno));
  state_->file = gzdopen(fd, "rb");
  if (!state_->file) {
    close(fd);
    fail<MemoryError>("read", "{}: no memory to decompress", path);
  }
  gzbuffer(state_->file, 128 << 10);
}

GzipReader::~GzipReader() {
  if (state_->file) gzclose_r(state_->file);
}

size_t GzipReader::read(void* to, size_t bytes) {
  size_t filled = 0;
  while (filled < bytes) {
    const auto piece = static_cast<unsigned>(std::min<size_t>(bytes - filled, INT_MAX));
    const int got = gzread(state_->file, static_cast<char*>(to) + filled, piece);
    if (got < 0) state_->fail_reading();
    filled += static_cast<size_t>(got);
    state_->left -= got;
    if (state_->left < 0)
      fail<FileError>("read", "{}: more than the limit of {} bytes comes out of it", state_->path, state_->limit);
    if (got < static_cast<int>(piece)) {
      int code = Z_OK;
      gzerror(state_->file, &code);
      if (code != Z_OK) state_->fail_reading();
      break;
    }
  }
  return filled;
}

std::string read_gzip_file(const std::string& path, int64_t max_bytes) {
  GzipReader reader(path, max_bytes);
  std::string text;
  for (;;) {
    // Doubling, so that a small file that claims much never makes us allocate much.
    const size_t before = text.size(), piece = std::clamp<size_t>(before, 64 << 10, 64 << 20);
    text.resize(before + piece);
    const size_t got = reader.read(text.data() + before, piece);
    if (got < piece) {
      text.resize(before + got);
      return text;
    }
  }
}

}  // namespace isochron
