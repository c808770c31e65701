// Text inside JSON and markup, whatever characters it holds.
#pragma once

#include <string>
#include <string_view>

namespace isochron {

// `text` as a JSON string, with its quotes. Bytes that are no UTF-8 become U+FFFD: JSON has no place for them.
std::string json_quoted(std::string_view text);

// `text` as it may stand in an element or a quoted attribute of HTML and SVG. Control characters become spaces, which
// leaves no byte a browser would refuse.
std::string markup_escaped(std::string_view text);

}  // namespace isochron
