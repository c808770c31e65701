#include "isochron/data/files/opening.h"

#include <algorithm>

#include "isochron/base/clock.h"
#include "isochron/base/error.h"
#include "isochron/base/seconds_text.h"

namespace isochron::data {
namespace {

constexpr size_t kFilesAsked = 32;  // of many, evenly: they stand for the others

}  // namespace

Opening::Opening(const std::vector<std::string>& paths)
    : begin_ns_(monotonic_ns()), reads_(disk_reads_of_this_process()) {
  const size_t step = std::max<size_t>(1, paths.size() / kFilesAsked);
  for (size_t i = 0; i < paths.size(); i += step) {
    const CacheResidency file = cache_residency(paths[i]);
    before_.bytes += file.bytes;
    before_.resident_bytes += file.resident_bytes;
  }
}

void Opening::done() {
  seconds_ = seconds_between(begin_ns_, monotonic_ns());
  reads_ = disk_reads_of_this_process() - reads_;
}

std::string Opening::note(const std::string& source) const {
  const auto mega = [](int64_t bytes) { return static_cast<double>(bytes) * 1e-6; };
  return fmt::format("{}: {:.1f} of {:.1f} MB were in memory at the start; opening took {}, {:.1f} MB from disk",
                     source, mega(before_.resident_bytes), mega(before_.bytes), seconds_text(seconds_),
                     mega(reads_.bytes));
}

}  // namespace isochron::data
