// What a pipeline learnt about itself, kept for its next run: threads, slots and costs by the name of a stage.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace isochron::data {

struct Tuning {
  int threads = 0;  // 0: unknown
  int64_t window = 0, part_ns = 0;
};
using Tunings = std::map<std::string, Tuning>;

// By the fingerprint of a pipeline on this number of CPUs. Files that can't be read or written are as good as none.
Tunings load_tunings(const std::string& fingerprint);
void store_tunings(const std::string& fingerprint, const Tunings& tunings);

}  // namespace isochron::data
