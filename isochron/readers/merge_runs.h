// What several inputs tell of one run, put together.
#pragma once

#include <string>
#include <vector>

#include "isochron/readers/tfevents.h"
#include "isochron/timeline/run_record.h"

namespace isochron {

// What the readers gathered.
struct Gathered {
  std::vector<RunRecord> logs;     // console
  std::vector<RunRecord> tables;   // csv, JSON lines
  std::vector<RunRecord> records;  // our own
  std::vector<Profile> profiles;
  std::string profile_framework;
  EventSeries events;
};

// The runs in order. A log says what its epochs are; tables and events add what it leaves out, or stand for it where it
// tells of fewer epochs than they do. Traces go to the longest run.
std::vector<RunRecord> merge_runs(Gathered gathered);

}  // namespace isochron
