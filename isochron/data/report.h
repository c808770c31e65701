// What a running pipeline did, stage by stage, and who held up whom.
//
//   fmt::print("{}", dataset.report().to_string());
//
//   stage                      elements   busy s   us each   CPU   MB/s
//   from_tensor_slices(…)         60000     0.02       0.3     -    …
//   map(decode)                   60000     9.10     151.7  100 %
//   threads of map(decode): 2, window 4, 3.1 ready on average, the consumer waited 0.41 s in 120 of 1875 calls
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
};

struct ThreadsReport {
  std::string name, stuck;
  int threads = 0;
  int64_t window = 0, slot_bytes = 0, delivered = 0, waits = 0;
  double wait_seconds = 0, cpu_seconds = 0, ready = 0;
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
// earlier report). Empty where nobody waited to speak of.
std::string input_verdict(const PipelineReport& earlier, const PipelineReport& later, int epoch, double seconds,
                          double waited);

}  // namespace isochron::data
