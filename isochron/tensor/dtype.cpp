#include "isochron/tensor/dtype.h"

#include <algorithm>
#include <array>
#include <utility>

#include "isochron/base/names.h"

namespace isochron {
namespace {

constexpr std::array<std::string_view, kDTypeCount> kNames = {"float32", "float64", "int32",    "int64",
                                                              "uint8",   "bool",    "bfloat16", "float16"};

constexpr std::pair<std::string_view, DType> kAliases[] = {
    {"float", DType::float32}, {"double", DType::float64},  {"int", DType::int32},
    {"long", DType::int64},    {"boolean", DType::boolean}, {"half", DType::float16},
};

// Position on the promotion ladder.
int rank_of(DType d) {
  switch (d) {
    case DType::boolean:
      return 0;
    case DType::uint8:
      return 1;
    case DType::int32:
      return 2;
    case DType::int64:
      return 3;
    case DType::float16:
    case DType::bfloat16:
      return 4;
    case DType::float32:
      return 5;
    case DType::float64:
      return 6;
  }
  return 0;
}

}  // namespace

std::string_view name_of(DType dtype) { return kNames[static_cast<size_t>(dtype)]; }

DType dtype_from_name(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<DType>(i);
  for (const auto& [alias, dtype] : kAliases)
    if (alias == name) return dtype;
  fail<ValueError>("dtype", "unknown dtype \"{}\"{}", name, did_you_mean(name, {kNames.begin(), kNames.end()}));
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (rank_of(a) == 4 && rank_of(b) == 4) return DType::float32;
  return rank_of(a) > rank_of(b) ? a : b;
}

bfloat16::bfloat16(float value) {
  const uint32_t raw = std::bit_cast<uint32_t>(value);
  if ((raw & 0x7fffffffu) > 0x7f800000u) {
    bits = static_cast<uint16_t>((raw >> 16) | 0x40u);  // keep NaN a NaN
  } else {
    bits = static_cast<uint16_t>((raw + 0x7fffu + ((raw >> 16) & 1u)) >> 16);
  }
}

float16::float16(float value) {
  const uint32_t raw = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (raw >> 16) & 0x8000u;
  const uint32_t magnitude = raw & 0x7fffffffu;
  uint32_t result;
  if (magnitude > 0x7f800000u) {
    result = 0x7e00u;
  } else if (magnitude >= 0x477ff000u) {  // rounds to 65536 or more: infinity
    result = 0x7c00u;
  } else if (magnitude >= 0x38800000u) {  // normal
    const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    result = (rounded - 0x38000000u) >> 13;
  } else {  // subnormal or zero: adding 0.5 aligns the mantissa, the hardware rounds it
    result = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  }
  bits = static_cast<uint16_t>(sign | result);
}

float16::operator float() const {
  const uint32_t sign = (uint32_t{bits} & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  const uint32_t widened = exponent == 31 ? 0x7f800000u : (exponent + 112) << 23;
  return std::bit_cast<float>(sign | widened | (mantissa << 13));
}

}  // namespace isochron
