// Numbers of a JSON document that was written by somebody else. The library converts what it finds to the type that is
// asked for, and what a number beyond that type becomes is undefined.
//
//   const json document = with_numbers_in_range(json::parse(text), "metrics");
#pragma once

#include <fmt/core.h>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace isochron {

// The same document in which numbers from 2^31 on are integers, cut where they have a fraction: no conversion of what
// is left is undefined. std::out_of_range for one that is no int64, and for a document that is nested deeper than
// `levels`. Members called `free` keep their numbers.
template <class Json>
Json with_numbers_in_range(Json value, std::string_view free, int levels = 100) {
  constexpr double kLarge = 2147483648.0, kEnd = 9223372036854775808.0;
  if (levels == 0) throw std::out_of_range("it is nested too deeply");
  if (value.is_number_float()) {
    const double number = value.template get<double>();
    if (std::abs(number) < kLarge) return value;
    if (!(std::abs(number) < kEnd)) throw std::out_of_range(fmt::format("{} is no count, time or size", number));
    return static_cast<int64_t>(number);
  }
  if (value.is_array())
    for (Json& item : value) item = with_numbers_in_range(std::move(item), free, levels - 1);
  if (value.is_object())
    for (auto member = value.begin(); member != value.end(); ++member)
      if (member.key() != free) *member = with_numbers_in_range(std::move(*member), free, levels - 1);
  return value;
}

}  // namespace isochron
