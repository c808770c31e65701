#include "isochron/base/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include "isochron/base/error.h"
#include "isochron/base/files.h"

namespace isochron {
namespace {

constexpr size_t kPiece = 256 << 10;
// A frame may ask for a window of up to 2^31 bytes; what `zstd -19` and most others write needs 2^27 at most.
constexpr int kLargestWindowLog = 27;

class Unpacker {
 public:
  virtual ~Unpacker() = default;
  virtual size_t read(char* to, size_t bytes) = 0;
};

class GzipUnpacker : public Unpacker {
 public:
  explicit GzipUnpacker(const std::string& path) : reader_(path, std::numeric_limits<int64_t>::max()) {}
  size_t read(char* to, size_t bytes) override { return reader_.read(to, bytes); }

 private:
  GzipReader reader_;
};

class ZstdUnpacker : public Unpacker {
 public:
  ZstdUnpacker(int fd, const std::string& path) : fd_(fd), path_(path), packed_(kPiece), stream_(ZSTD_createDStream()) {
    if (!stream_) fail<MemoryError>("read", "{}: no memory to decompress", path);
    ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, kLargestWindowLog);
  }
  ~ZstdUnpacker() override { ZSTD_freeDStream(stream_); }
  ZstdUnpacker(const ZstdUnpacker&) = delete;
  ZstdUnpacker& operator=(const ZstdUnpacker&) = delete;

  size_t read(char* to, size_t bytes) override {
    ZSTD_outBuffer out{to, bytes, 0};
    while (out.pos < bytes) {
      if (input_.pos == input_.size) {
        const ssize_t got = pread(fd_, packed_.data(), packed_.size(), offset_);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail<FileError>("read", "{}: {}", path_, std::generic_category().message(errno));
        offset_ += got;
        input_ = {packed_.data(), static_cast<size_t>(got), 0};
      }
      const size_t before = out.pos;
      const bool file_ended = input_.size == 0;
      if (file_ended && frame_ended_) break;
      const size_t hint = ZSTD_decompressStream(stream_, &out, &input_);
      if (ZSTD_isError(hint))
        fail<FileError>("read", "{}: damaged zstd data at offset {} ({})", path_,
                        offset_ - static_cast<int64_t>(input_.size - input_.pos), ZSTD_getErrorName(hint));
      frame_ended_ = hint == 0;
      if (file_ended && out.pos == before && !frame_ended_)
        fail<FileError>("read", "{}: the compressed data ends too early, at offset {}", path_, offset_);
    }
    return out.pos;
  }

 private:
  int fd_;
  const std::string& path_;
  std::vector<char> packed_;
  ZSTD_DStream* stream_;
  ZSTD_inBuffer input_{nullptr, 0, 0};
  int64_t offset_ = 0;
  bool frame_ended_ = true;
};

enum class Packing { none, gzip, zstd };

Packing packing_of(const void* start, size_t bytes) {
  const auto* magic = static_cast<const unsigned char*>(start);
  if (bytes >= 2 && magic[0] == 0x1f && magic[1] == 0x8b) return Packing::gzip;
  if (bytes >= 4 && magic[0] == 0x28 && magic[1] == 0xb5 && magic[2] == 0x2f && magic[3] == 0xfd) return Packing::zstd;
  return Packing::none;
}

}  // namespace

struct InputFile::State {
  State(const std::string& file, int64_t limit) : path(file), max_bytes(limit) {}
  std::string path;
  int64_t max_bytes;
  int fd = -1;
  int64_t offset = 0, file_bytes = 0;
  bool regular = false;
  Packing packing = Packing::none;
  std::unique_ptr<Unpacker> unpacker;

  ~State() {
    unpacker.reset();
    if (fd >= 0) close(fd);
  }

  [[noreturn]] void fail_with_errno() const {
    fail<FileError>("read", "{}: {}", path, std::generic_category().message(errno));
  }
  [[noreturn]] void fail_short_of(int64_t wanted, int64_t end) const {
    fail<FileError>("read", "{}: ends at {}, before the position {} to go on from", path, end, wanted);
  }

  void open_file() {
    fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info {};
    if (fd < 0 || fstat(fd, &info) != 0) fail_with_errno();
    if (S_ISDIR(info.st_mode)) {
      errno = EISDIR;
      fail_with_errno();
    }
    regular = S_ISREG(info.st_mode);
    file_bytes = info.st_size;
    unsigned char magic[4] = {};
    const ssize_t got = regular ? pread(fd, magic, sizeof magic, 0) : 0;
    if (got > 0) packing = packing_of(magic, static_cast<size_t>(got));
    if (regular && packing == Packing::none) posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    start_unpacking();
  }

  void start_unpacking() {
    if (packing == Packing::gzip) unpacker = std::make_unique<GzipUnpacker>(path);
    if (packing == Packing::zstd) unpacker = std::make_unique<ZstdUnpacker>(fd, path);
    offset = 0;
  }

  size_t read_plain(char* to, size_t bytes) {
    size_t filled = 0;
    while (filled < bytes) {
      const ssize_t got = regular ? pread(fd, to + filled, bytes - filled, offset + static_cast<int64_t>(filled))
                                  : ::read(fd, to + filled, bytes - filled);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_with_errno();
      if (got == 0) break;
      filled += static_cast<size_t>(got);
    }
    return filled;
  }
};

InputFile::InputFile(const std::string& path, int64_t max_bytes) : state_(std::make_unique<State>(path, max_bytes)) {
  state_->open_file();
}
InputFile::~InputFile() = default;
InputFile::InputFile(InputFile&&) noexcept = default;
InputFile& InputFile::operator=(InputFile&&) noexcept = default;

size_t InputFile::read(void* to, size_t bytes) {
  char* out = static_cast<char*>(to);
  const size_t got = state_->unpacker ? state_->unpacker->read(out, bytes) : state_->read_plain(out, bytes);
  if (!state_->regular && state_->offset == 0 && packing_of(out, got) != Packing::none)
    fail<FileError>("read", "{}: compressed data comes out of a pipe; unpack it in front, with `zcat` or `zstdcat`",
                    path());
  state_->offset += static_cast<int64_t>(got);
  if (state_->offset > state_->max_bytes)
    fail<FileError>("read", "{}: more than the limit of {} bytes comes out of it", path(), state_->max_bytes);
  return got;
}

void InputFile::seek(int64_t offset) {
  ISO_CHECK(offset >= 0);
  if (state_->regular && !state_->unpacker) {
    struct stat info {};
    if (fstat(state_->fd, &info) != 0) state_->fail_with_errno();
    if (offset > info.st_size) state_->fail_short_of(offset, info.st_size);
    state_->offset = offset;
    return;
  }
  if (offset < state_->offset) {
    if (!state_->regular)
      fail<FileError>("read", "{}: a pipe can't be read again from {}; put it into a file", path(), offset);
    state_->start_unpacking();
  }
  std::vector<char> skipped(std::min<size_t>(kPiece, static_cast<size_t>(offset - state_->offset)));
  while (state_->offset < offset) {
    const size_t piece = std::min(skipped.size(), static_cast<size_t>(offset - state_->offset));
    if (read(skipped.data(), piece) < piece) state_->fail_short_of(offset, state_->offset);
  }
}

int64_t InputFile::offset() const { return state_->offset; }
const std::string& InputFile::path() const { return state_->path; }
bool InputFile::packed() const { return state_->unpacker != nullptr; }
bool InputFile::is_file() const { return state_->regular; }
int64_t InputFile::file_bytes() const { return state_->file_bytes; }

std::string read_input_file(const std::string& path, int64_t max_bytes) {
  InputFile file(path, max_bytes);
  std::string text;
  // A plain file's size is known; of a packed one we take what comes, doubling.
  size_t piece = file.packed() ? kPiece : std::clamp<size_t>(static_cast<size_t>(file.file_bytes()) + 1, 1, 64 << 20);
  for (;;) {
    const size_t before = text.size();
    text.resize(before + piece);
    const size_t got = file.read(text.data() + before, piece);
    text.resize(before + got);
    if (got < piece) return text;
    piece = std::clamp<size_t>(text.size(), kPiece, 64 << 20);
  }
}

}  // namespace isochron
