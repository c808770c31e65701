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

// Where small things are kept between runs: $ISOCHRON_CACHE_DIR, else $XDG_CACHE_HOME/isochron, else
// ~/.cache/isochron. Empty (ISOCHRON_CACHE_DIR set to nothing, no home): nothing is kept.
std::string cache_folder();

// By the fingerprint of a pipeline on this number of CPUs. Files that can't be read or written are as good as none.
Tunings load_tunings(const std::string& fingerprint);
void store_tunings(const std::string& fingerprint, const Tunings& tunings);

// 64 bits of a text, as 16 hexadecimal digits.
std::string hashed(std::string_view text);

}  // namespace isochron::data
