#include "isochron/base/page_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace isochron {
namespace {

DiskReads disk_reads(int whose) {
  rusage usage{};
  if (getrusage(whose, &usage) != 0) return {};
  return {usage.ru_majflt, static_cast<int64_t>(usage.ru_inblock) * 512};
}

}  // namespace

CacheResidency cache_residency(const std::string& path) {
  struct stat info {};
  // A pipe is not even opened: its writer would take us for its reader.
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  CacheResidency out;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
    // In windows, so that a file of any size costs little memory.
    constexpr int64_t kWindow = int64_t{1} << 30;
    const int64_t page = sysconf(_SC_PAGESIZE);
    std::vector<unsigned char> pages(static_cast<size_t>((std::min<int64_t>(kWindow, info.st_size) + page - 1) / page));
    for (int64_t at = 0; at < info.st_size; at += kWindow) {
      const auto length = static_cast<size_t>(std::min<int64_t>(kWindow, info.st_size - at));
      void* window = mmap(nullptr, length, PROT_READ, MAP_SHARED, fd, at);
      if (window == MAP_FAILED) break;
      if (mincore(window, length, pages.data()) == 0) {
        const auto used =
            static_cast<std::ptrdiff_t>((length + static_cast<size_t>(page) - 1) / static_cast<size_t>(page));
        out.resident_bytes += page * std::count_if(pages.begin(), pages.begin() + used, [](auto p) { return p & 1; });
      }
      munmap(window, length);
    }
    out.bytes = info.st_size;
    out.resident_bytes = std::min(out.resident_bytes, out.bytes);
  }
  close(fd);
  return out;
}

DiskReads disk_reads_of_this_thread() { return disk_reads(RUSAGE_THREAD); }
DiskReads disk_reads_of_this_process() { return disk_reads(RUSAGE_SELF); }

bool drop_from_page_cache(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  fdatasync(fd);
  const bool done = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0;
  close(fd);
  return done;
}

}  // namespace isochron
