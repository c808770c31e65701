// Numbers as they stand in CSV files, eight digits at a time.
//
// The caller guarantees 8 readable bytes behind every place that is looked at. What is answered here is the number that
// std::from_chars gives, to the last bit; what would need more care is refused, and left to std::from_chars.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace isochron::data::csv_file {

inline constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                          1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
inline constexpr double kInversePowersOfTen[] = {1e-0,  1e-1,  1e-2,  1e-3,  1e-4,  1e-5,  1e-6,  1e-7,
                                                 1e-8,  1e-9,  1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15,
                                                 1e-16, 1e-17, 1e-18, 1e-19, 1e-20, 1e-21, 1e-22};
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

// As many digits as follow, appended to `value`; false when there are more than 18 behind leading zeros.
inline bool append_digits(const char*& p, uint64_t& value, int& digits) {
  for (;;) {
    uint64_t part = 0;
    const int count = take_digits(p, part);
    if (count == 0) return true;
    if (value == 0) digits = 0;
    value = value * kIntegerPowersOfTen[count] + part;
    digits += count;
    p += count;
    if (digits > 18) return false;
    if (count < 8) return true;
  }
}

// The decimal number at p, which then points behind it: value * 10^exponent. False (p undefined) for what is none, or
// has too many digits.
inline bool take_decimal(const char*& p, uint64_t& value, int& exponent, bool& negative) {
  negative = *p == '-';
  p += negative;
  value = 0;
  exponent = 0;
  const char* const start = p;
  int digits = 0;
  if (!append_digits(p, value, digits)) return false;
  bool any = p > start;
  if (*p == '.') {
    const char* const fraction = ++p;
    if (!append_digits(p, value, digits)) return false;
    exponent = -static_cast<int>(p - fraction);
    any = any || p > fraction;
  }
  if (!any) return false;
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
  return true;
}

// value * 10^exponent, rounded once: a product or quotient of two exact doubles. False where it is not.
inline bool to_double(uint64_t value, int exponent, bool negative, double& out) {
  if (value > uint64_t{1} << 53 || exponent < -22 || exponent > 22) return false;
  double magnitude = static_cast<double>(value);
  magnitude = exponent < 0 ? magnitude / kPowersOfTen[-exponent] : magnitude * kPowersOfTen[exponent];
  // No branch: signs come as they like.
  out = std::bit_cast<double>(std::bit_cast<uint64_t>(magnitude) | static_cast<uint64_t>(negative) << 63);
  return true;
}

// To the float nearest to a number that is at most three units of the last place of `near` away: the one nearest to
// `near`, unless that lies close to the middle between two floats.
inline constexpr uint64_t kFraction = (uint64_t{1} << 29) - 1, kMiddle = uint64_t{1} << 28, kMargin = 8;
inline bool round_to_float(double near, bool negative, float& out) {
  if (((std::bit_cast<uint64_t>(near) - kMiddle + kMargin) & kFraction) < 2 * kMargin) return false;
  const auto rounded = static_cast<float>(near);
  out = std::bit_cast<float>(std::bit_cast<uint32_t>(rounded) | static_cast<uint32_t>(negative) << 31);
  return true;
}
inline bool to_float(uint64_t value, int exponent, bool negative, float& out) {
  if (exponent < -22 || exponent > 22) return false;
  const auto digits = static_cast<double>(static_cast<int64_t>(value));
  const double scale = exponent < 0 ? kInversePowersOfTen[-exponent] : kPowersOfTen[exponent];
  return round_to_float(digits * scale, negative, out);
}

inline bool take_number(const char*& p, double& out) {
  uint64_t value;
  int exponent;
  bool negative;
  return take_decimal(p, value, exponent, negative) && to_double(value, exponent, negative, out);
}

inline bool take_number(const char*& p, float& out) {
  uint64_t value;
  int exponent;
  bool negative;
  return take_decimal(p, value, exponent, negative) && to_float(value, exponent, negative, out);
}

inline bool take_number(const char*& p, int64_t& out) {
  const bool negative = *p == '-';
  p += negative;
  uint64_t value = 0;
  int digits = 0;
  const char* const start = p;
  if (!append_digits(p, value, digits) || p == start) return false;
  out = negative ? -static_cast<int64_t>(value) : static_cast<int64_t>(value);
  return true;
}

}  // namespace isochron::data::csv_file
