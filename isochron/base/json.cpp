#include "isochron/base/json.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace isochron {

Json parse_json(std::string_view text, const Json::parser_callback_t& watch) { return Json::parse(text, watch); }
Json parse_json_if_valid(std::string_view text) { return Json::parse(text, nullptr, false); }

std::string json_text(const Json& document, int indent) {
  return document.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json with_numbers_in_range(Json value, std::string_view free, int levels) {
  constexpr double kLarge = 2147483648.0, kEnd = 9223372036854775808.0;
  if (levels == 0) throw std::out_of_range("it is nested too deeply");
  if (value.is_number_float()) {
    const double number = value.get<double>();
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
