// What the epochs of a run wrote, and how many files of it they left behind.
#pragma once

#include <string>
#include <vector>

#include "isochron/timeline/run_record.h"

namespace isochron {

struct EpochFiles {
  std::string text;  // "1.2 MB an epoch, 34 MB in all; 12 files of 30 MB kept"; empty: nothing to speak of
  // By epoch, "1.2 MB" and "12"; empty where that is not known of every epoch: shorter ones share a reading.
  std::vector<std::string> written, kept;
};
EpochFiles epoch_files(const RunRecord& run);

}  // namespace isochron
