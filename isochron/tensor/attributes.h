// The constant arguments of a node: axes, factors, names. A handful of named values, compared and
// hashed as part of a graph's signature.
//
//   Attributes a{{"axes", std::vector<int64_t>{0, 1}}, {"keepdims", true}};
//   a.get<bool>("keepdims");
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "isochron/base/error.h"

namespace isochron {

using AttributeValue = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>>;

// A name known when the program is compiled: it is kept as it is given.
class AttributeName {
 public:
  consteval AttributeName(const char* literal) : name_(literal) {}
  operator std::string_view() const { return name_; }
  bool operator==(const AttributeName&) const = default;

 private:
  std::string_view name_;
};

class Attributes {
 public:
  struct Item {
    AttributeName name;
    AttributeValue value;
    bool operator==(const Item&) const = default;
  };
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
    for (const Item& item : items_)
      if (std::string_view(item.name) == name) return &item.value;
    return nullptr;
  }
  void set(AttributeName name, AttributeValue value);

  bool empty() const { return items_.empty(); }
  const std::vector<Item>& items() const { return items_; }
  bool operator==(const Attributes& other) const = default;

 private:
  std::vector<Item> items_;
};

// "axes=[0, 1] keepdims=true".
std::string to_string(const Attributes& attributes);

}  // namespace isochron
