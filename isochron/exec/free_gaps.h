// The free stretches of an arena that may grow without end.
//
//   FreeGaps gaps;
//   const int64_t at = gaps.take(4096);   // the lowest gap that is long enough
//   gaps.give_back(at, 4096);             // joins the gaps beside it
//
// Gaps are kept by begin and, beside that, by the power of two below their length: of all lengths but one power the
// lowest gap is known at once, so a plan of a thousand layers does not look through a thousand gaps for each of its
// buffers.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <set>

#include "isochron/base/pooled.h"

namespace isochron {

class FreeGaps {
 public:
  FreeGaps() { add(0, INT64_MAX); }

  // Where the lowest `bytes` bytes begin that are free; they are taken. 0 bytes lie where the lowest gap begins.
  int64_t take(int64_t bytes) {
    const int64_t begin = bytes == 0 ? ends_.begin()->first : lowest(bytes), end = ends_.at(begin);
    if (bytes == 0) return begin;
    remove(begin, end);
    if (begin + bytes < end) add(begin + bytes, end);
    return begin;
  }

  // What take() gave for as many bytes.
  void give_back(int64_t begin, int64_t bytes) {
    if (bytes == 0) return;
    int64_t end = begin + bytes;
    auto after = ends_.lower_bound(begin);
    if (after->first == end) {
      end = after->second;
      after = std::next(after);
      remove(std::prev(after)->first, end);
    }
    if (after != ends_.begin() && std::prev(after)->second == begin) {
      const auto [before, middle] = *std::prev(after);
      remove(before, middle);
      begin = before;
    }
    add(begin, end);
  }

 private:
  static size_t power_of(int64_t length) {
    return static_cast<size_t>(std::bit_width(static_cast<uint64_t>(length)) - 1);
  }

  // The gap without end is longer than anything, so there always is one.
  int64_t lowest(int64_t bytes) const {
    const size_t power = power_of(bytes);
    const auto long_enough = [&](int64_t begin) { return ends_.at(begin) - begin >= bytes; };
    const auto found = std::find_if(begins_[power].begin(), begins_[power].end(), long_enough);
    int64_t least = found == begins_[power].end() ? INT64_MAX : *found;
    for (uint64_t longer = used_ >> power >> 1 << power << 1; longer; longer &= longer - 1)
      least = std::min(least, *begins_[static_cast<size_t>(std::countr_zero(longer))].begin());
    return least;
  }
  void add(int64_t begin, int64_t end) {
    ends_.emplace(begin, end);
    const size_t power = power_of(end - begin);
    begins_[power].insert(begin);
    used_ |= uint64_t{1} << power;
  }
  void remove(int64_t begin, int64_t end) {
    const size_t power = power_of(end - begin);
    begins_[power].erase(begin);
    if (begins_[power].empty()) used_ &= ~(uint64_t{1} << power);
    ends_.erase(begin);
  }

  std::map<int64_t, int64_t, std::less<>, PoolAllocator<std::pair<const int64_t, int64_t>>> ends_;  // by begin
  std::array<std::set<int64_t, std::less<>, PoolAllocator<int64_t>>, 63> begins_;                   // by power
  uint64_t used_ = 0;  // powers that have gaps, as bits
};

}  // namespace isochron
