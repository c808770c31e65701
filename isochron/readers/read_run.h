// Files, folders and standard input -> the runs they tell of. What a file is, its content says.
//
//   Reading reading = read_run({"train.log", "out/tb", "trace.json.gz"});
//   for (const RunRecord& run : reading.runs) …
//
// Inputs of one run are merged: the log gives epochs and facts, event files place their steps in time, traces add
// profiles. Several fits or several logs give several runs. Nothing that stands in a file can make this throw; a path
// that does not exist does (FileError).
#pragma once

#include <string>
#include <vector>

#include "isochron/timeline/run_record.h"

namespace isochron {

struct ReadInput {
  std::string path;
  std::string kind;     // "console", "kineto", "xplane", "tfevents", "csv", "jsonl", "wrapped", "notebook", "record"
  std::string problem;  // cut short, damaged, …: what was read before it counts
};

struct Reading {
  std::vector<RunRecord> runs;   // never empty; a run without epochs if nothing was found
  std::vector<ReadInput> files;  // those that were understood
  std::vector<std::string> skipped;
};

Reading read_run(const std::vector<std::string>& paths);

}  // namespace isochron
