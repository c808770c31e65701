// Numbers as they stand in CSV files, eight digits at a time.
//
// The caller guarantees 8 readable bytes behind every place that is looked at. Plain numbers ("-12.375", "7") that fit
// 18 digits are exact: a product or quotient of two exact doubles, rounded once. Everything else is left to
// std::from_chars, which is slower and right for all.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace isochron::data::csv_file {

inline constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                          1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
inline constexpr uint64_t kIntegerPowersOfTen[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

// The digits at p, at most eight: their number and their value.
inline int take_digits(const char* p, uint64_t& value) {
  uint64_t text;
  std::memcpy(&text, p, 8);
  text ^= 0x3030303030303030;  // digits become 0 … 9
  const uint64_t other = ((text + 0x7676767676767676) | text) & 0x8080808080808080;
  if (other & 0x80) return 0;
  const int count = std::countr_zero(other) / 8;  // 8 when all are digits
  text <<= 64 - 8 * count;                        // zeros before the first digit
  text = (text * 2561) >> 8;                      // 10 * a + b in every second byte
  text = ((text & 0x00FF00FF00FF00FF) * 6553601) >> 16;
  value = ((text & 0x0000FFFF0000FFFF) * 42949672960001) >> 32;
  return count;
}

// As many digits as follow, appended to `value`; false when there are more than 18 in all.
inline bool append_digits(const char*& p, uint64_t& value, int& digits) {
  for (;;) {
    uint64_t part = 0;
    const int count = take_digits(p, part);
    if (count == 0) return true;
    value = value * kIntegerPowersOfTen[count] + part;
    digits += count;
    p += count;
    if (digits > 18) return false;
    if (count < 8) return true;
  }
}

// A number at p, which then points behind it; false (p undefined) for what needs the slow way.
inline bool take_number(const char*& p, double& out) {
  const bool negative = *p == '-';
  p += negative;
  uint64_t value = 0;
  int digits = 0, exponent = 0;
  const auto first = static_cast<uint64_t>(static_cast<unsigned char>(*p)) - '0';
  if (p[1] == '.' && first <= 9) {  // most fractions in tables: one digit, then the point
    uint64_t part = 0;
    const int count = take_digits(p + 2, part);
    if (count == 0 || count == 8) {
      value = first;
      digits = 1;
      ++p;
    } else {
      value = first * kIntegerPowersOfTen[count] + part;
      digits = 1 + count;
      exponent = -count;
      p += 2 + count;
    }
  } else if (!append_digits(p, value, digits)) {
    return false;
  }
  if (exponent == 0 && *p == '.') {
    const char* const fraction = ++p;
    if (!append_digits(p, value, digits)) return false;
    exponent = -static_cast<int>(p - fraction);
  }
  if (digits == 0) return false;
  if ((*p | 0x20) == 'e') {
    const char* q = p + 1;
    const bool down = *q == '-';
    q += down || *q == '+';
    uint64_t power = 0;
    const int count = take_digits(q, power);
    if (count == 0 || count > 3) return false;
    p = q + count;
    exponent += down ? -static_cast<int>(power) : static_cast<int>(power);
  }
  if (value > uint64_t{1} << 53 || exponent < -22 || exponent > 22) return false;
  double magnitude = static_cast<double>(value);
  magnitude = exponent < 0 ? magnitude / kPowersOfTen[-exponent] : magnitude * kPowersOfTen[exponent];
  // No branch: signs come as they like.
  out = std::bit_cast<double>(std::bit_cast<uint64_t>(magnitude) | static_cast<uint64_t>(negative) << 63);
  return true;
}

inline bool take_integer(const char*& p, int64_t& out) {
  const bool negative = *p == '-';
  p += negative;
  uint64_t value = 0;
  int digits = 0;
  if (!append_digits(p, value, digits) || digits == 0) return false;
  out = negative ? -static_cast<int64_t>(value) : static_cast<int64_t>(value);
  return true;
}

}  // namespace isochron::data::csv_file
