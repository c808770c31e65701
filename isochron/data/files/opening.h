// What opening the files of a source took, and whether they had to come from a disk, for reports.
#pragma once

#include <string>
#include <vector>

#include "isochron/base/page_cache.h"

namespace isochron::data {

class Opening {
 public:
  // Before the files are touched.
  explicit Opening(const std::vector<std::string>& paths);
  void done();
  // "csv(a.csv): 12 of 170 MB were in memory at the start; opening took 0.41 s, 158 MB from disk".
  std::string note(const std::string& source) const;

 private:
  CacheResidency before_;
  int64_t begin_ns_;
  DiskReads reads_;  // of the whole process: files are parsed by several threads
  double seconds_ = 0;
};

}  // namespace isochron::data
