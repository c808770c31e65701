// Files this process has written and that are still there: checkpoints, logs, event files.
//
//   note_kept_file(path);                  // by whoever finishes or opens a file that is to stay
//   KeptFiles kept = kept_files();         // how many there are now, and how large they are
//
// Thread-safe. Files that were removed or replaced since are not counted; at most 10,000 names are remembered, the
// latest.
#pragma once

#include <cstdint>
#include <string>

namespace isochron {

struct KeptFiles {
  int64_t files = 0, bytes = 0;
};

void note_kept_file(const std::string& path);
KeptFiles kept_files();

}  // namespace isochron
