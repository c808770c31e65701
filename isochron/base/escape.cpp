#include "isochron/base/escape.h"

#include <fmt/core.h>

#include <algorithm>

namespace isochron {
namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20; }

// Bytes of the character at the start of `text`; 0 where it is no UTF-8, as in names of files and in broken logs.
size_t character_bytes(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  const size_t bytes = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  for (size_t i = 1; i < bytes; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  // Longer than need be, halves of UTF-16 pairs, beyond the last character.
  const bool refused = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) >= 0xA0) ||
                       (first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) >= 0x90);
  return refused ? 0 : bytes;
}

}  // namespace

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const char c = text.front();
    const size_t bytes = character_bytes(text);
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (is_control(c))
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    else if (bytes == 0)
      out += "\\ufffd";
    else
      out += text.substr(0, bytes);
    text.remove_prefix(std::max<size_t>(1, bytes));
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
