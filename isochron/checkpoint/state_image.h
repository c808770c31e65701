// The bytes of the file a state becomes, wherever they lie in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace isochron {

struct StateImage {
  std::vector<std::string_view> pieces;  // of a safetensors file, one after the other
  std::optional<uint32_t> crc32c = {};   // of all of them, where whoever copied them has worked it out

  int64_t bytes() const {
    int64_t sum = 0;
    for (const std::string_view piece : pieces) sum += static_cast<int64_t>(piece.size());
    return sum;
  }
};

}  // namespace isochron
