// The element types of tensors.
//
//   DType d = dtype_of<float>();             // DType::float32
//   size_of(DType::bfloat16);                // 2
//   visit_dtype(d, [&]<class T>(Type<T>) { …T is float… });
//
// bfloat16 and float16 are storage types: they convert to and from float32, and ops compute in float32.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "isochron/base/error.h"

namespace isochron {

enum class DType : uint8_t { float32, float64, int32, int64, uint8, boolean, bfloat16, float16 };
inline constexpr int kDTypeCount = 8;

// 16-bit floats as bit patterns with conversions that round to nearest even.
struct bfloat16 {
  uint16_t bits = 0;
  bfloat16() = default;
  explicit bfloat16(float value);
  operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
};
struct float16 {
  uint16_t bits = 0;
  float16() = default;
  explicit float16(float value);
  operator float() const;
};

std::string_view name_of(DType dtype);
// "float32", "float", "double", "int", "bool", … Throws ValueError (with a suggestion) for others.
DType dtype_from_name(std::string_view name);

constexpr size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::float64:
    case DType::int64:
      return 8;
    case DType::float32:
    case DType::int32:
      return 4;
    case DType::bfloat16:
    case DType::float16:
      return 2;
    case DType::uint8:
    case DType::boolean:
      return 1;
  }
  return 0;
}

constexpr bool is_floating(DType d) {
  return d == DType::float32 || d == DType::float64 || d == DType::bfloat16 || d == DType::float16;
}
constexpr bool is_integral(DType d) { return d == DType::int32 || d == DType::int64 || d == DType::uint8; }

// The dtype two operands meet in: bool < uint8 < int32 < int64 < float16/bfloat16 < float32 < float64;
// float16 with bfloat16 gives float32.
DType promote(DType a, DType b);

template <class T>
struct Type {
  using type = T;
};

// The C++ types elements have.
template <class T>
concept ElementType =
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, int32_t> || std::same_as<T, int64_t> ||
    std::same_as<T, uint8_t> || std::same_as<T, bool> || std::same_as<T, bfloat16> || std::same_as<T, float16>;

// Calls f(Type<T>{}) with the C++ type that stores `dtype`.
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::float32:
      return f(Type<float>{});
    case DType::float64:
      return f(Type<double>{});
    case DType::int32:
      return f(Type<int32_t>{});
    case DType::int64:
      return f(Type<int64_t>{});
    case DType::uint8:
      return f(Type<uint8_t>{});
    case DType::boolean:
      return f(Type<bool>{});
    case DType::bfloat16:
      return f(Type<bfloat16>{});
    case DType::float16:
      return f(Type<float16>{});
  }
  throw InternalError("a known dtype", __FILE__, __LINE__);
}

template <ElementType T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<float>() {
  return DType::float32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::float64;
}
template <>
constexpr DType dtype_of<int32_t>() {
  return DType::int32;
}
template <>
constexpr DType dtype_of<int64_t>() {
  return DType::int64;
}
template <>
constexpr DType dtype_of<uint8_t>() {
  return DType::uint8;
}
template <>
constexpr DType dtype_of<bool>() {
  return DType::boolean;
}
template <>
constexpr DType dtype_of<bfloat16>() {
  return DType::bfloat16;
}
template <>
constexpr DType dtype_of<float16>() {
  return DType::float16;
}

// Whether an element of type T can hold the number, less its fraction. Floats round and bool takes its truth: they hold
// every one.
template <ElementType T, class Number>
bool holds(Number number) {
  if constexpr (!std::is_integral_v<T> || std::is_same_v<T, bool>) {
    return true;
  } else if constexpr (std::is_integral_v<Number>) {
    return std::in_range<T>(number);
  } else {
    using Limits = std::numeric_limits<T>;
    const double whole = std::trunc(static_cast<double>(number));
    // The largest int64 is no double; 2^63 is, and lies above it.
    return whole >= static_cast<double>(Limits::min()) && whole < static_cast<double>(Limits::max()) + 1;
  }
}

}  // namespace isochron

template <>
struct fmt::formatter<isochron::DType> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  template <class Context>
  auto format(isochron::DType value, Context& context) const {
    return fmt::format_to(context.out(), "{}", isochron::name_of(value));
  }
};
