// Whether a file's bytes are in memory already ("warm") or must come from the disk ("cold"), and what was read from it.
//
//   CacheResidency before = cache_residency(path);        // 12 of 170 MB: the first pass will read the rest
//   DiskReads start = disk_reads_of_this_thread();
//   …
//   DiskReads cost = disk_reads_of_this_thread() - start; // 3 major faults, 158 MB
#pragma once

#include <cstdint>
#include <string>

namespace isochron {

struct CacheResidency {
  int64_t bytes = 0;           // of the file
  int64_t resident_bytes = 0;  // of them in the page cache; an estimate for files of more than 4 MB
  double fraction() const {
    return bytes == 0 ? 1.0 : static_cast<double>(resident_bytes) / static_cast<double>(bytes);
  }
};
// All zero when the file can't be read. The kernel tells only owners and those who may write the file; to others every
// page seems resident.
CacheResidency cache_residency(const std::string& path);

struct DiskReads {
  int64_t major_faults = 0;  // pages of mapped files, or swapped out, that had to be read
  int64_t bytes = 0;         // read from a disk on this account, mapped or not
  DiskReads operator-(const DiskReads& earlier) const {
    return {major_faults - earlier.major_faults, bytes - earlier.bytes};
  }
  DiskReads& operator+=(const DiskReads& more) {
    major_faults += more.major_faults;
    bytes += more.bytes;
    return *this;
  }
};
DiskReads disk_reads_of_this_thread();
DiskReads disk_reads_of_this_process();

// Asks the kernel to forget the clean pages of a file, so that the next read is cold; false when it can't.
bool drop_from_page_cache(const std::string& path);

}  // namespace isochron
