#include "isochron/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "isochron/base/error.h"

namespace isochron {

MappedFile::MappedFile(const std::string& path) : path_(path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info {};
  bool good = fd >= 0 && fstat(fd, &info) == 0;
  if (good && !S_ISREG(info.st_mode)) {
    errno = S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
    good = false;
  }
  if (good && info.st_size > 0) {
    void* memory = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (memory == MAP_FAILED) {
      good = false;
    } else {
      data_ = static_cast<char*>(memory);
      size_ = static_cast<size_t>(info.st_size);
    }
  }
  const int why = errno;
  if (fd >= 0) close(fd);
  if (!good) fail<FileError>("read", "{}: {}", path, std::generic_category().message(why));
}

MappedFile::~MappedFile() {
  if (data_) munmap(data_, size_);
}

}  // namespace isochron
