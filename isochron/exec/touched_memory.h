// Which memory calls have touched since the last barrier: bytes of the arena, and whole inputs and outputs.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace isochron {

class TouchedMemory {
 public:
  // Bytes [begin, end) of the arena.
  struct Range {
    int64_t begin, end;
  };
  void add(Range range) { ranges_.push_back(range); }
  bool overlaps(Range range) const {
    return std::any_of(ranges_.begin(), ranges_.end(),
                       [&](Range r) { return r.begin < range.end && range.begin < r.end; });
  }
  // A value with memory of its own: constant time, for an update touches thousands.
  void add(int kind, int32_t index) {
    std::vector<int32_t>& stamps = stamps_[static_cast<size_t>(kind)];
    if (stamps.size() <= static_cast<size_t>(index)) stamps.resize(static_cast<size_t>(index) + 1, 0);
    stamps[static_cast<size_t>(index)] = now_;
  }
  bool contains(int kind, int32_t index) const {
    const std::vector<int32_t>& stamps = stamps_[static_cast<size_t>(kind)];
    return static_cast<size_t>(index) < stamps.size() && stamps[static_cast<size_t>(index)] == now_;
  }
  void clear() {
    ranges_.clear();
    ++now_;
  }

 private:
  std::vector<Range> ranges_;
  std::array<std::vector<int32_t>, 4> stamps_;
  int32_t now_ = 1;
};

}  // namespace isochron
