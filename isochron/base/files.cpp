#include "isochron/base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "isochron/base/durable_file.h"
#include "isochron/base/error.h"
#include "isochron/base/kept_files.h"
#include "isochron/base/run_folder.h"
#include "isochron/base/temporary_name.h"

namespace isochron {
namespace {

[[noreturn]] void fail_with_errno(const char* operation, const std::string& path) {
  fail<FileError>(operation, "{}: {}", path, std::generic_category().message(errno));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  operator int() const { return fd_; }

 private:
  int fd_;
};

// A pipe, a device, a socket: nothing that another file could take the place of.
bool is_stream(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

ssize_t read_some(int fd, char* to, size_t bytes) {
  ssize_t got;
  do got = read(fd, to, bytes);
  while (got < 0 && errno == EINTR);
  return got;
}

}  // namespace

std::string read_file(const std::string& path, int64_t max_bytes) {
  const Descriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (fd < 0 || fstat(fd, &info) != 0) fail_with_errno("read", path);
  const auto too_large = [&](int64_t bytes) {
    fail<FileError>("read", "{}: {} bytes or more, the limit is {}", path, bytes, max_bytes);
  };
  if (info.st_size > max_bytes) too_large(info.st_size);
  // Files of /proc and pipes say 0, and any file may grow: the size is a hint, the end is what read() says.
  std::string text(static_cast<size_t>(info.st_size), '\0');
  size_t filled = 0;
  for (;;) {
    if (filled == text.size()) {
      char more[4096];
      const ssize_t got = read_some(fd, more, sizeof more);
      if (got < 0) fail_with_errno("read", path);
      if (got == 0) return text;
      text.append(more, static_cast<size_t>(got));
      filled = text.size();
    } else {
      const ssize_t got = read_some(fd, text.data() + filled, text.size() - filled);
      if (got < 0) fail_with_errno("read", path);
      if (got == 0) {
        text.resize(filled);
        return text;
      }
      filled += static_cast<size_t>(got);
    }
    if (static_cast<int64_t>(filled) > max_bytes) too_large(static_cast<int64_t>(filled));
  }
}

size_t read_short_file(const char* path, std::span<char> buffer) {
  if (buffer.empty()) return 0;
  const Descriptor fd(open(path, O_RDONLY | O_CLOEXEC));
  size_t filled = 0;
  while (fd >= 0 && filled + 1 < buffer.size()) {
    const ssize_t got = read_some(fd, buffer.data() + filled, buffer.size() - 1 - filled);
    if (got <= 0) break;
    filled += static_cast<size_t>(got);
  }
  buffer[filled] = '\0';
  return filled;
}

AtomicFile::AtomicFile(const std::string& path) : path_(path) {
  if (is_stream(path)) {
    fd_ = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd_ < 0) fail_with_errno();
    return;
  }
  std::error_code ignored;
  if (std::filesystem::is_symlink(path, ignored))
    if (const auto target = std::filesystem::canonical(path, ignored); !ignored) path_ = target.string();
  do {
    temporary_ = temporary_name(path_);
    fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (fd_ < 0 && errno == EEXIST);
  if (fd_ < 0) fail_with_errno();
  if (struct stat info{}; stat(path_.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) errno = EISDIR;
    if (S_ISDIR(info.st_mode) || fchmod(fd_, info.st_mode & 07777) != 0) {
      const int why = errno;
      undo();
      errno = why;
      fail_with_errno();
    }
  }
}

AtomicFile::~AtomicFile() { undo(); }

void AtomicFile::undo() {
  if (fd_ < 0) return;
  close(fd_);
  fd_ = -1;
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void AtomicFile::fail_with_errno() const { isochron::fail_with_errno("write", path_); }

void AtomicFile::write(const void* data, size_t bytes) {
  ISO_CHECK(fd_ >= 0);
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t done = ::write(fd_, from, bytes);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail_with_errno();
    from += done;
    bytes -= static_cast<size_t>(done);
  }
}

void AtomicFile::commit() {
  ISO_CHECK(fd_ >= 0);
  if (temporary_.empty()) return undo();
  if (fsync(fd_) != 0 || rename(temporary_.c_str(), path_.c_str()) != 0) fail_with_errno();
  close(fd_);
  fd_ = -1;
  note_kept_file(path_);
  sync_folder(std::filesystem::path(path_).parent_path().string());
}

void write_file(const std::string& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

void check_writable(const std::string& path) {
  if (!is_stream(path)) AtomicFile{path};
}

TempFolder::TempFolder() : path_(RunFolder::global().file("folder-XXXXXX")) {
  if (!mkdtemp(path_.data())) fail_with_errno("create", path_);
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace isochron
