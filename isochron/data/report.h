// What a running pipeline did, stage by stage, and who held up whom.
//
//   fmt::print("{}", dataset.report().to_string());
//
//   stage               elements       busy        each     CPU   made MB   elements/s   MB from disk
//   tfrecord(a.tfrecord)   60000    20.1 ms      0.3 us   100 %     188.2      2985074          158.3
//   map(decode)            60000     9.10 s    151.7 us   100 %    9031.7         6593              -
//   threads of map(decode): 2, up to 4 elements ahead (19.3 MB each), 3.1 ready on average; the consumer waited …
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace isochron::data {

struct StageReport {
  std::string name;
  int64_t elements = 0, skipped = 0, retried = 0;
  double busy_seconds = 0;  // in all threads together
  double cpu_share = -1;    // of the busy time; -1: calls too short to ask
  int64_t bytes = 0;        // of the elements it made
  // What its calls had to read from disks; what they read beside that was in memory already.
  int64_t disk_bytes = 0, major_faults = 0;
  double cpu_seconds = 0, cpu_asked_seconds = 0;  // of calls long enough to ask
};

struct ThreadsReport {
  std::string name, stuck;
  int threads = 0;
  int64_t window = 0, slot_bytes = 0, delivered = 0, waits = 0;
  double wait_seconds = 0, cpu_seconds = 0, ready = 0;
  double delay_seconds = 0;  // ready to run, and no core to run on
  bool sleeping = false;
};

struct PipelineReport {
  std::vector<StageReport> stages;
  std::vector<ThreadsReport> threads;
  std::vector<std::string> notes;  // of caches: how full, stale
  bool cache_full = false;
  std::string to_string() const;
};

// One sentence about an epoch of `seconds`, `waited` of them for input, from what the pipeline did in it (later minus
// earlier report): "training waited 41 % of epoch 1 for `map(decode)`: 2 threads at 100 % CPU". Empty where nobody
// waited to speak of.
std::string input_verdict(const PipelineReport& earlier, const PipelineReport& later, int epoch, double seconds,
                          double waited);

// Goes on after such a sentence about the epoch before, when this one did not wait: "epoch 2 did not because `cache`
// was full". `first` and `before` are the reports before and after that epoch, `after` the one after this epoch.
std::string why_not_waited(const PipelineReport& first, const PipelineReport& before, const PipelineReport& after,
                           int epoch);

}  // namespace isochron::data
