#include "isochron/base/page_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace isochron {
namespace {

DiskReads disk_reads(int whose) {
  rusage usage{};
  if (getrusage(whose, &usage) != 0) return {};
  return {usage.ru_majflt, static_cast<int64_t>(usage.ru_inblock) * 512};
}

// Of a mapped file. Of a large one some places are asked for that lie evenly in it: to ask for every page of 100 GB
// takes seconds.
double resident_share(void* file, int64_t bytes) {
  constexpr int64_t kPlaces = 128, kPagesThere = 8;
  const int64_t page = sysconf(_SC_PAGESIZE), pages = (bytes + page - 1) / page;
  const bool all = pages <= kPlaces * kPagesThere;
  const int64_t places = all ? 1 : kPlaces, there = all ? pages : kPagesThere;
  std::array<unsigned char, kPlaces * kPagesThere> resident{};
  int64_t found = 0;
  for (int64_t i = 0; i < places; ++i) {
    // In floating point: the product may not fit for an absurd size.
    const auto first = static_cast<int64_t>(static_cast<double>(pages - there) * static_cast<double>(i) /
                                            static_cast<double>(std::max<int64_t>(1, places - 1)));
    const auto length = static_cast<size_t>(std::min(there * page, bytes - first * page));
    if (mincore(static_cast<char*>(file) + first * page, length, resident.data()) != 0) return 0;
    found += std::count_if(resident.begin(), resident.begin() + there, [](unsigned char p) { return p & 1; });
  }
  return static_cast<double>(found) / static_cast<double>(places * there);
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
    void* const file = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_SHARED, fd, 0);
    if (file != MAP_FAILED) {
      out.resident_bytes = static_cast<int64_t>(resident_share(file, info.st_size) * static_cast<double>(info.st_size));
      munmap(file, static_cast<size_t>(info.st_size));
    }
    out.bytes = info.st_size;
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
