#include "isochron/base/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace isochron {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78u;
constexpr auto kTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int k = 0; k < 8; ++k) c = c & 1 ? kPolynomial ^ (c >> 1) : c >> 1;
    table[i] = c;
  }
  return table;
}();

#if defined(__x86_64__)
// The instruction takes three cycles and can begin one every cycle: long texts go in three lanes side by side.
constexpr size_t kLane = 4096;

// What a register becomes when a lane of zeros follows: linear in its bits, so four tables by byte.
struct LaneShift {
  uint32_t table[4][256] = {};
  __attribute__((target("sse4.2"))) LaneShift() {
    for (unsigned bit = 0; bit < 32; ++bit) {
      uint64_t crc = uint32_t{1} << bit;
      for (size_t i = 0; i < kLane; i += 8) crc = _mm_crc32_u64(crc, 0);
      for (unsigned byte = 0; byte < 256; ++byte)
        if (byte >> (bit % 8) & 1) table[bit / 8][byte] ^= static_cast<uint32_t>(crc);
    }
  }
  uint64_t operator()(uint64_t crc) const {
    return table[0][crc & 0xFF] ^ table[1][crc >> 8 & 0xFF] ^ table[2][crc >> 16 & 0xFF] ^ table[3][crc >> 24 & 0xFF];
  }
};

__attribute__((target("sse4.2"))) uint32_t crc32c_by_instruction(std::string_view bytes, uint32_t before) {
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  uint64_t crc = ~before;
  if (bytes.size() >= 3 * kLane) {
    static const LaneShift shift;
    for (; static_cast<size_t>(end - at) >= 3 * kLane; at += 3 * kLane) {
      uint64_t second = 0, third = 0;
      for (size_t i = 0; i < kLane; i += 8) {
        uint64_t words[3];
        for (size_t lane = 0; lane < 3; ++lane) std::memcpy(&words[lane], at + lane * kLane + i, 8);
        crc = _mm_crc32_u64(crc, words[0]);
        second = _mm_crc32_u64(second, words[1]);
        third = _mm_crc32_u64(third, words[2]);
      }
      crc = shift(shift(crc) ^ second) ^ third;
    }
  }
  for (; end - at >= 8; at += 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    crc = _mm_crc32_u64(crc, word);
  }
  auto rest = static_cast<uint32_t>(crc);
  for (; at < end; ++at) rest = _mm_crc32_u8(rest, static_cast<unsigned char>(*at));
  return ~rest;
}
#endif

// Polynomials over bits, the highest bit the power zero, modulo the checksum's own.
uint32_t product(uint32_t a, uint32_t b) {
  uint32_t out = 0;
  for (; a; a <<= 1) {
    if (a >> 31) out ^= b;
    b = b & 1 ? b >> 1 ^ kPolynomial : b >> 1;
  }
  return out;
}

}  // namespace

uint32_t crc32c_joined(uint32_t first, uint32_t second, uint64_t second_bytes) {
  // Bytes that follow multiply a checksum by x to the power of their bits.
  uint32_t square = uint32_t{1} << 23;  // x to the eighth: one byte
  for (; second_bytes; second_bytes >>= 1) {
    if (second_bytes & 1) first = product(square, first);
    square = product(square, square);
  }
  return first ^ second;
}

uint32_t crc32c_by_table(std::string_view bytes, uint32_t before) {
  uint32_t crc = ~before;
  for (const char c : bytes) crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 0xFF] ^ (crc >> 8);
  return ~crc;
}

uint32_t crc32c(std::string_view bytes, uint32_t before) {
#if defined(__x86_64__)
  static const bool instruction = __builtin_cpu_supports("sse4.2");
  if (instruction) return crc32c_by_instruction(bytes, before);
#endif
  return crc32c_by_table(bytes, before);
}

}  // namespace isochron
