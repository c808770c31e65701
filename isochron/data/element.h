// What flows through a pipeline: a few components, each an array or strings, by position or by name.
//
//   Element e = make_element(image, label);          // two components
//   Tensor x = e[0];                                 // no copy: the tensor shares the bytes
//   auto [image, label] = e.tensors<2>();
//   e["label"].item<int64_t>();
//
// A component is lighter than a Tensor (no graph node): a view of shared bytes, or up to 16 bytes kept inside. Copying
// an element copies handles. Nobody writes to the bytes of a component that others may see.
#pragma once

#include <array>
#include <concepts>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "isochron/base/small_vector.h"
#include "isochron/tensor/tensor.h"

namespace isochron::data {

using Strings = std::vector<std::string>;

// What is known of a component before it is there. A negative extent in `dims` is unknown.
struct ComponentSpec {
  DType dtype = DType::float32;
  std::vector<int64_t> dims = {};
  bool text = false;
  bool operator==(const ComponentSpec&) const = default;
};
// "float32(28, 28, 3)", "string(?)".
std::string to_string(const ComponentSpec& spec);
// "(float32(28, 28, 3), int64())".
std::string to_string(const std::vector<ComponentSpec>& specs);

class Component {
 public:
  Component() = default;
  Component(const Tensor& tensor);  // computes it if it is pending
  Component(std::string text) : texts_(std::make_shared<Strings>(1, std::move(text))) {}
  // Strings of a shape; as many as it has elements.
  Component(Strings texts, const Shape& shape);
  // `bytes` must live as long as `owner` does.
  Component(const TensorSpec& spec, const std::byte* bytes, Storage owner)
      : spec_(spec), data_(bytes), owner_(std::move(owner)) {}
  // Like the last, but what is small is copied, so that nobody counts references.
  static Component row(const TensorSpec& spec, const std::byte* bytes, const Storage& owner) {
    return Component(Row{}, spec, bytes, owner);
  }
  // Row i of an array of them.
  static Component row(const Component& column, int64_t i) { return Component(Row{}, column, i); }
  template <class T>
  requires std::is_arithmetic_v<T>
  static Component scalar(T value) { return Component(Scalar{}, value); }
  // The same in its place: element.emplace(Component::Scalar{}, value).
  struct Scalar {};
  template <class T>
  Component(Scalar, T value) {
    spec_.dtype = dtype_of<T>();
    std::memcpy(small_.data(), &value, sizeof value);
  }

  bool is_text() const { return texts_ != nullptr; }
  const Shape& shape() const { return spec_.shape; }
  DType dtype() const { return spec_.dtype; }  // of an array
  const TensorSpec& spec() const { return spec_; }
  ComponentSpec component_spec() const { return {spec_.dtype, spec_.shape.to_vector(), is_text()}; }
  int64_t bytes() const;
  const Storage& owner() const { return owner_; }

  // The bytes of an array, row-major; DTypeError for strings.
  const std::byte* data() const {
    if (texts_) refuse_text();
    return data_ ? data_ : small_.data();
  }
  template <class T>
  T item() const;
  // Shares the bytes.
  Tensor tensor() const;
  operator Tensor() const { return tensor(); }

  // The only string, or all of them; DTypeError for arrays.
  const std::string& text() const;
  const Strings& texts() const;

 private:
  static constexpr size_t kInline = 16;
  [[noreturn]] void refuse_text() const;
  struct Row {};
  Component(Row, const TensorSpec& spec, const std::byte* bytes, const Storage& owner) : spec_(spec) {
    hold(bytes, owner);
  }
  Component(Row, const Component& column, int64_t i) : spec_{column.spec_.dtype, column.spec_.shape.erase(0)} {
    hold(column.data() + i * spec_.bytes(), column.owner_);
  }
  void hold(const std::byte* bytes, const Storage& owner) {
    const auto size = static_cast<size_t>(spec_.bytes());
    if (size <= kInline) {
      std::memcpy(small_.data(), bytes, size);
    } else {
      data_ = bytes;
      owner_ = owner;
    }
  }
  TensorSpec spec_;
  std::array<std::byte, kInline> small_{};
  const std::byte* data_ = nullptr;  // nullptr: in small_
  Storage owner_;
  std::shared_ptr<const Strings> texts_;
};

using Names = std::shared_ptr<const std::vector<std::string>>;

class Element {
 public:
  Element() = default;
  explicit Element(std::vector<Component> components, Names names = nullptr);

  size_t size() const { return components_.size(); }
  bool empty() const { return components_.empty(); }
  template <std::integral I>
  Component& operator[](I i) {
    return at(static_cast<size_t>(i));
  }
  template <std::integral I>
  const Component& operator[](I i) const {
    return const_cast<Element*>(this)->at(static_cast<size_t>(i));
  }
  // ValueError, with a suggestion, for names that are not there.
  const Component& operator[](std::string_view name) const;
  const Component& operator[](const char* name) const { return (*this)[std::string_view(name)]; }
  const Names& names() const { return names_; }
  void set_names(Names names) { names_ = std::move(names); }

  Component* begin() { return components_.begin(); }
  Component* end() { return components_.end(); }
  const Component* begin() const { return components_.begin(); }
  const Component* end() const { return components_.end(); }
  void add(Component component) { components_.push_back(std::move(component)); }
  template <class... Args>
  void emplace(Args&&... args) {
    components_.emplace_back(std::forward<Args>(args)...);
  }
  void clear() { components_.clear(); }
  // Becomes what `make` gives, without a move; empty if it throws. `make` does not look at this element.
  template <class Make>
  void become(Make&& make) {
    std::destroy_at(this);
    try {
      new (this) Element(make());
    } catch (...) {
      new (this) Element;
      throw;
    }
  }
  int64_t bytes() const;

  // The first N components as tensors: auto [x, y] = batch.tensors<2>();
  template <size_t N>
  std::array<Tensor, N> tensors() const {
    return [&]<size_t... I>(std::index_sequence<I...>) { return std::array<Tensor, N>{(*this)[I].tensor()...}; }
    (std::make_index_sequence<N>());
  }

 private:
  Component& at(size_t i) {
    if (i >= components_.size()) refuse_index(i);
    return components_[i];
  }
  [[noreturn]] void refuse_index(size_t i) const;
  SmallVector<Component, 2> components_;
  Names names_;
};

// "(float32(28, 28, 3), int64())".
std::string describe(const Element& element);

// One component each: tensors, strings, numbers.
template <class T>
Component make_component(T&& value) {
  using Plain = std::remove_cvref_t<T>;
  if constexpr (std::is_same_v<Plain, bool>)
    return Component::scalar(value);
  else if constexpr (std::is_integral_v<Plain>)
    return Component::scalar(static_cast<std::conditional_t<sizeof(Plain) <= 4, int32_t, int64_t>>(value));
  else if constexpr (std::is_floating_point_v<Plain>)
    return Component::scalar(value);
  else if constexpr (std::is_constructible_v<std::string, T>)
    return Component(std::string(std::forward<T>(value)));
  else
    return Component(std::forward<T>(value));
}

template <class... T>
Element make_element(T&&... values) {
  Element out;
  const auto add = [&]<class One>(One&& value) {
    if constexpr (std::is_same_v<std::remove_cvref_t<One>, Component>)
      out.emplace(std::forward<One>(value));
    else
      out.emplace(make_component(std::forward<One>(value)));
  };
  (add(std::forward<T>(values)), ...);
  return out;
}

template <class T>
T Component::item() const {
  if (spec_.shape.elements() != 1) fail<ShapeError>("item", "needs exactly one element, got shape {}", spec_.shape);
  const std::byte* bytes_here = data();
  return visit_dtype(spec_.dtype, [&]<class From>(Type<From>) {
    From value;
    std::memcpy(&value, bytes_here, sizeof value);
    return static_cast<T>(value);
  });
}

// The place of a pipeline in its data, as bytes: written and read in the same order.
class StateWriter {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const T& value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void put(const std::string& text);
  void put(const Element& element);
  template <class Elements>
  void put_all(const Elements& elements) {
    put(static_cast<uint64_t>(elements.size()));
    for (const Element& element : elements) put(element);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// StateError when the bytes end early or do not fit. What they hold may be anything: numbers that say where something
// lies are read by get_count().
class StateReader {
 public:
  static constexpr int64_t kMostCount = int64_t{1} << 60;  // further on, sums would overflow
  explicit StateReader(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  requires std::is_trivially_copyable_v<T> T get() {
    if constexpr (std::is_same_v<T, bool>) {
      return get_flag();
    } else {
      T value;
      std::memcpy(&value, take(sizeof value), sizeof value);
      return value;
    }
  }
  // A number of 0 … most.
  int64_t get_count(int64_t most = kMostCount);
  std::string get_string();
  Element get_element();
  template <class Elements>
  void get_all(Elements& elements, int64_t most = kMostCount) {
    elements.clear();
    for (auto left = get_count(most); left > 0; --left) elements.push_back(get_element());
  }
  bool done() const { return bytes_.empty(); }

 private:
  bool get_flag();
  const char* take(size_t bytes);
  std::string_view bytes_;
};

}  // namespace isochron::data
