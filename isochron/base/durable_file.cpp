#include "isochron/base/durable_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "isochron/base/error.h"

namespace isochron {
namespace {

// Larger ones are no faster.
constexpr size_t kPiece = size_t{8} << 20;
constexpr size_t kAligned = 4096;

}  // namespace

DurableFile::DurableFile(const std::string& path, int64_t bytes) : path_(path) {
  fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd_ < 0) fail_with_errno();
  // File systems that can't claim room say so; then the writes will tell.
  if (bytes > 0 && fallocate(fd_, 0, 0, bytes) != 0 && errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL) {
    const int why = errno;
    close(fd_);
    unlink(path.c_str());
    fd_ = -1;
    errno = why;
    fail_with_errno();
  }
}

DurableFile::~DurableFile() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(path_.c_str());
}

void DurableFile::fail_with_errno() const {
  fail<FileError>("write", "{}: {}", path_, std::generic_category().message(errno));
}

bool DurableFile::set_direct(bool on) {
  if (on == direct_) return true;
  const int flags = fcntl(fd_, F_GETFL);
  if (flags < 0 || fcntl(fd_, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT) != 0) return false;
  direct_ = on;
  return true;
}

void DurableFile::write_piece(std::string_view piece) {
  const bool whole_pages = reinterpret_cast<uintptr_t>(piece.data()) % kAligned == 0 &&
                           static_cast<size_t>(written_) % kAligned == 0 && piece.size() % kAligned == 0;
  set_direct(whole_pages);
  while (!piece.empty()) {
    const ssize_t done = pwrite(fd_, piece.data(), piece.size(), written_);
    if (done < 0 && errno == EINTR) continue;
    // Some file systems take the flag and refuse the write; a short write leaves the rest unaligned.
    if (done < 0 && errno == EINVAL && direct_ && set_direct(false)) continue;
    if (done <= 0) {
      if (done == 0) errno = EIO;
      fail_with_errno();
    }
    // What goes through the cache starts on its way to the disk at once, so that little is left for fsync.
    if (!direct_) sync_file_range(fd_, written_, done, SYNC_FILE_RANGE_WRITE);
    written_ += done;
    piece.remove_prefix(static_cast<size_t>(done));
  }
}

void DurableFile::write(std::string_view bytes) {
  ISO_CHECK(fd_ >= 0);
  while (!bytes.empty()) {
    size_t count = std::min(kPiece, bytes.size());
    if (count > kAligned) count -= count % kAligned;  // the ragged end comes by itself
    write_piece(bytes.substr(0, count));
    bytes.remove_prefix(count);
  }
}

void DurableFile::finish() {
  ISO_CHECK(fd_ >= 0);
  if (ftruncate(fd_, written_) != 0 || fsync(fd_) != 0) fail_with_errno();
  const int fd = std::exchange(fd_, -1);
  if (close(fd) != 0) {
    unlink(path_.c_str());
    fail_with_errno();
  }
}

void sync_folder(const std::string& path) {
  const int fd = open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // Some file systems can't sync a folder (EINVAL); its entries are as durable as they make them.
  const bool failed = fd < 0 || (fsync(fd) != 0 && errno != EINVAL);
  const int why = errno;
  if (fd >= 0) close(fd);
  if (failed) fail<FileError>("write", "{}: {}", path, std::generic_category().message(why));
}

}  // namespace isochron
