// CRC-32C (Castagnoli), the checksum of TFRecord and event files: by the processor's own instruction where it has one.
//
//   crc32c("123456789")                     // 0xe3069283
//   crc32c(second, crc32c(first))           // of both, one after the other
#pragma once

#include <cstdint>
#include <string_view>

namespace isochron {

uint32_t crc32c(std::string_view bytes, uint32_t before = 0);
// Of two texts one after the other, from the checksum of each: what several threads have read, each its part.
uint32_t crc32c_joined(uint32_t first, uint32_t second, uint64_t second_bytes);
// The slow way, for processors without the instruction and for tests.
uint32_t crc32c_by_table(std::string_view bytes, uint32_t before = 0);

// TensorFlow stores checksums rotated and shifted, so that a checksum of checksums stays a good one.
inline uint32_t masked_crc32c(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}

}  // namespace isochron
