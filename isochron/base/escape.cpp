#include "isochron/base/escape.h"

#include <fmt/core.h>

namespace isochron {
namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20; }

}  // namespace

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (is_control(c))
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + '"';
}

std::string markup_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += is_control(c) && c != '\n' ? ' ' : c;
  }
  return out;
}

}  // namespace isochron
