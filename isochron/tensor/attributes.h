// The constant arguments of a node: axes, factors, names. A handful of named values, compared and
// hashed as part of a graph's signature.
//
//   Attributes a{{"axes", std::vector<int64_t>{0, 1}}, {"keepdims", true}};
//   a.get<bool>("keepdims");
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "isochron/base/error.h"

namespace isochron {

using AttributeValue = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>>;

class Attributes {
 public:
  // Names are string literals: they are kept as they are given.
  using Item = std::pair<std::string_view, AttributeValue>;
  Attributes() = default;
  Attributes(std::initializer_list<Item> items);

  template <class T>
  const T& get(std::string_view name) const {
    const AttributeValue* value = find(name);
    ISO_CHECK(value != nullptr);
    const T* typed = std::get_if<T>(value);
    ISO_CHECK(typed != nullptr);
    return *typed;
  }
  template <class T>
  T get_or(std::string_view name, T otherwise) const {
    const AttributeValue* value = find(name);
    if (!value) return otherwise;
    const T* typed = std::get_if<T>(value);
    ISO_CHECK(typed != nullptr);
    return *typed;
  }
  const AttributeValue* find(std::string_view name) const {
    for (const auto& [key, value] : items_)
      if (key == name) return &value;
    return nullptr;
  }
  void set(std::string_view name, AttributeValue value);
  template <class Name>
  requires std::same_as<std::remove_cvref_t<Name>, std::string>
  void set(Name&& name, AttributeValue value) = delete;  // would not outlive the call

  bool empty() const { return items_.empty(); }
  const std::vector<Item>& items() const { return items_; }
  bool operator==(const Attributes& other) const;

 private:
  std::vector<Item> items_;
};

// "axes=[0, 1] keepdims=true".
std::string to_string(const Attributes& attributes);

}  // namespace isochron
