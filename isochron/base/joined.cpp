#include "isochron/base/joined.h"

namespace isochron {
namespace {

template <class Range, class Text>
std::string join(const Range& items, std::string_view separator, Text text) {
  std::string out;
  for (const auto& item : items) {
    if (&item != &*items.begin()) out += separator;
    out += text(item);
  }
  return out;
}

}  // namespace

std::string joined(std::span<const int64_t> numbers, std::string_view separator) {
  return join(numbers, separator, [](int64_t number) { return std::to_string(number); });
}
std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  return join(words, separator, [](std::string_view word) { return word; });
}
std::string joined(const std::vector<std::string_view>& words, std::string_view separator) {
  return join(words, separator, [](std::string_view word) { return word; });
}

}  // namespace isochron
