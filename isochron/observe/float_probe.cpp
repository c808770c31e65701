#include "isochron/observe/float_probe.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "isochron/observe/proc_text.h"

namespace isochron::observe {
namespace {

constexpr size_t kPlaces = 2048;
constexpr size_t kAtOnce = 256;     // places per system call
constexpr size_t kPlaceWords = 16;  // 32-bit words looked at in each place
constexpr size_t kEnough = 14;      // of them that must be subnormal
constexpr size_t kLongestMaps = 4 << 20;
constexpr int kMostLooks = 8;                     // at the same places
constexpr double kMemoryMoved = 0.02;             // share by which memory in use must differ for other places
constexpr uint64_t kPresent = uint64_t{1} << 63;  // in an entry of /proc/PID/pagemap

using Place = std::array<uint32_t, kPlaceWords>;

bool subnormal(uint32_t word) { return (word & 0x7f800000) == 0 && (word & 0x007fffff) != 0; }

// Evenly spread, 64-byte aligned, on pages that are in memory.
std::vector<uint64_t> places_in(const std::vector<MemoryRange>& ranges, int pagemap) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  uint64_t total = 0;
  for (const MemoryRange& range : ranges) total += range.end - range.begin;
  const uint64_t stride = std::max<uint64_t>(total / kPlaces / sizeof(Place), 1) * sizeof(Place);
  std::vector<uint64_t> places;
  uint64_t skip = stride / 2 / sizeof(Place) * sizeof(Place);  // carried over from range to range
  for (const MemoryRange& range : ranges) {
    uint64_t at = range.begin + skip;
    for (; at < range.end; at += stride) {
      uint64_t entry = 0;
      if (pread(pagemap, &entry, sizeof entry, static_cast<off_t>(at / page * sizeof entry)) == sizeof entry &&
          (entry & kPresent))
        places.push_back(at);
    }
    skip = at - range.end;
  }
  return places;
}

}  // namespace

std::vector<MemoryRange> written_ranges(std::string_view maps) {
  std::vector<MemoryRange> ranges;
  while (!maps.empty()) {
    const size_t end = std::min(maps.find('\n'), maps.size());
    const std::string_view line = maps.substr(0, end);
    maps.remove_prefix(std::min(end + 1, maps.size()));
    // 7f3a40000000-7f3a44000000 rw-p 00000000 00:00 0    [heap]
    MemoryRange range;
    const char* last = line.data() + line.size();
    const auto begin = std::from_chars(line.data(), last, range.begin, 16);
    if (begin.ec != std::errc() || begin.ptr == last || *begin.ptr != '-') continue;
    const auto until = std::from_chars(begin.ptr + 1, last, range.end, 16);
    if (until.ec != std::errc() || !std::string_view(until.ptr, last).starts_with(" rw-p ")) continue;
    if (line.find('/') != std::string_view::npos || line.find("[stack") != std::string_view::npos) continue;
    ranges.push_back(range);
  }
  return ranges;
}

void FloatProbe::choose_places() {
  ++searches_;
  looks_since_ = 0;
  places_.clear();
  const std::vector<MemoryRange> ranges =
      written_ranges(read_small_file(fmt::format("/proc/{}/maps", pid_), kLongestMaps));
  const int pagemap = open(fmt::format("/proc/{}/pagemap", pid_).c_str(), O_RDONLY | O_CLOEXEC);
  if (pagemap < 0) return;
  places_ = places_in(ranges, pagemap);
  close(pagemap);
}

std::optional<double> FloatProbe::subnormal_share(double resident_bytes) {
  if (places_.empty() || ++looks_since_ >= kMostLooks ||
      std::abs(resident_bytes - bytes_then_) > kMemoryMoved * bytes_then_) {
    choose_places();
    bytes_then_ = resident_bytes;
  }
  size_t read = 0, small = 0;
  std::vector<Place> block(kAtOnce);
  std::vector<iovec> remote(kAtOnce);
  for (size_t at = 0; at < places_.size();) {
    const size_t count = std::min(kAtOnce, places_.size() - at);
    for (size_t i = 0; i < count; ++i) remote[i] = {reinterpret_cast<void*>(places_[at + i]), sizeof(Place)};
    const iovec local{block.data(), count * sizeof(Place)};
    const ssize_t got = process_vm_readv(pid_, &local, 1, remote.data(), count, 0);
    const size_t whole = got > 0 ? static_cast<size_t>(got) / sizeof(Place) : 0;
    for (size_t i = 0; i < whole; ++i)
      small += static_cast<size_t>(std::count_if(block[i].begin(), block[i].end(), subnormal)) >= kEnough;
    read += whole;
    at += std::max<size_t>(whole, 1);  // one that is gone by now is passed over
  }
  if (read == 0) return std::nullopt;
  return static_cast<double>(small) / static_cast<double>(read);
}

}  // namespace isochron::observe
