#include "isochron/tensor/attributes.h"

#include <fmt/core.h>

#include "isochron/base/joined.h"

namespace isochron {

Attributes::Attributes(std::initializer_list<Item> items) : items_(items) {}

void Attributes::set(std::string_view name, AttributeValue value) {
  for (auto& [key, old] : items_)
    if (key == name) {
      old = std::move(value);
      return;
    }
  items_.emplace_back(name, std::move(value));
}

bool Attributes::operator==(const Attributes& other) const {
  if (items_.size() != other.items_.size()) return false;
  for (size_t i = 0; i < items_.size(); ++i)
    if (items_[i].first != other.items_[i].first || items_[i].second != other.items_[i].second) return false;
  return true;
}

std::string to_string(const Attributes& attributes) {
  std::string text;
  for (const auto& [name, value] : attributes.items()) {
    if (!text.empty()) text += ' ';
    text += name;
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
