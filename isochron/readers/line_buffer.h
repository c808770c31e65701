// Bytes in pieces -> whole lines, the longest of them cut.
//
//   buffer.feed(bytes, [&](const std::string& line) { … });
//   buffer.finish([&](const std::string& line) { … });   // the last one, if it has no end
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace isochron {

class LineBuffer {
 public:
  static constexpr size_t kLongest = size_t{1} << 20;

  template <class Read>
  void feed(std::string_view bytes, Read read) {
    while (!bytes.empty()) {
      const size_t end = bytes.find('\n');
      if (pending_.size() < kLongest) pending_ += bytes.substr(0, std::min(end, kLongest));
      if (end == std::string_view::npos) return;
      read(std::as_const(pending_));
      pending_.clear();
      bytes.remove_prefix(end + 1);
    }
  }
  template <class Read>
  void finish(Read read) {
    if (!pending_.empty()) read(std::as_const(pending_));
    pending_.clear();
  }

 private:
  std::string pending_;
};

}  // namespace isochron
