// JSON documents: one type for all of them, and what is long to compile about it in one place.
//
//   const Json document = with_numbers_in_range(parse_json(text), "metrics");
//   return json_text({{"epochs", 5}}, 1);
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace isochron {

using Json = nlohmann::ordered_json;

// Json::exception for text that is none.
Json parse_json(std::string_view text, const Json::parser_callback_t& watch = nullptr);
// A discarded document (is_object() and its like are false) for text that is none.
Json parse_json_if_valid(std::string_view text);
// Bytes that are no UTF-8 are replaced. indent < 0: on one line.
std::string json_text(const Json& document, int indent = -1);

// Numbers of a document that was written by somebody else: the library converts what it finds to the type that is asked
// for, and what a number beyond that type becomes is undefined. The same document in which numbers from 2^31 on are
// integers, cut where they have a fraction: no conversion of what is left is undefined. std::out_of_range for one that
// is no int64, and for a document that is nested deeper than `levels`. Members called `free` keep their numbers.
Json with_numbers_in_range(Json value, std::string_view free, int levels = 100);

}  // namespace isochron
