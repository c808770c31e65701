#include "isochron/tensor/attributes.h"

#include <fmt/core.h>

#include "isochron/base/joined.h"

namespace isochron {

Attributes::Attributes(std::initializer_list<Item> items) : items_(items) {}

void Attributes::set(AttributeName name, AttributeValue value) {
  for (Item& item : items_)
    if (item.name == name) {
      item.value = std::move(value);
      return;
    }
  items_.push_back({name, std::move(value)});
}

std::string to_string(const Attributes& attributes) {
  std::string text;
  for (const auto& [name, value] : attributes.items()) {
    if (!text.empty()) text += ' ';
    text += std::string_view(name);
    text += '=';
    std::visit(
        [&]<class T>(const T& v) {
          if constexpr (std::is_same_v<T, std::vector<int64_t>>)
            text += fmt::format("[{}]", joined(v));
          else
            text += fmt::format("{}", v);
        },
        value);
  }
  return text;
}

}  // namespace isochron
