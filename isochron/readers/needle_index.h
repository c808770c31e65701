// Which of many texts stand in a line, in one pass over it.
//
//   const NeedleIndex index({"no space left on device", "keyboardinterrupt", …});
//   index.find(line_lower, [](size_t needle) { …; return true; });    // false ends the search
//
// A log of a million lines is asked for two hundred texts; searching for each by itself would take most of the time.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace isochron {

class NeedleIndex {
 public:
  // Needles of four bytes and more, in lower case. A needle that occurs twice in the list is reported for each.
  explicit NeedleIndex(const std::vector<std::string_view>& needles) {
    for (size_t i = 0; i < needles.size(); ++i) {
      needles_.emplace_back(needles[i]);
      if (needles[i].size() < kPrefix) {
        short_.push_back(i);
        continue;
      }
      const uint32_t slot = slot_of(needles[i].data());
      starts_.set(slot);
      buckets_[slot % kBuckets].push_back(i);
    }
  }

  template <class Use>
  void find(std::string_view text, const Use& use) const {
    for (const size_t i : short_)
      if (text.find(needles_[i]) != std::string_view::npos && !use(i)) return;
    for (size_t at = 0; at + kPrefix <= text.size(); ++at) {
      const uint32_t slot = slot_of(text.data() + at);
      if (!starts_.test(slot)) continue;
      for (const size_t i : buckets_[slot % kBuckets])
        if (text.substr(at).starts_with(needles_[i]) && !use(i)) return;
    }
  }

 private:
  static constexpr size_t kPrefix = 4;
  static constexpr size_t kSlots = size_t{1} << 15;
  static constexpr size_t kBuckets = 256;

  static uint32_t slot_of(const char* at) {
    uint32_t four = 0;
    std::memcpy(&four, at, kPrefix);
    return (four * 2654435761u) >> 17;
  }

  std::vector<std::string> needles_;
  std::vector<size_t> short_;
  std::bitset<kSlots> starts_;
  std::array<std::vector<size_t>, kBuckets> buckets_;
};

}  // namespace isochron
