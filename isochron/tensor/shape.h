// The extent of a tensor along each axis, up to rank 8.
//
//   Shape s{32, 784};
//   s.rank();  s[0];  s[-1];  s.elements();     // 2, 32, 784, 25088
//   broadcast("add", {32, 1}, {10});            // (32, 10), NumPy's rule
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isochron/base/error.h"

namespace isochron {

inline constexpr int kMaxRank = 8;

class Shape {
 public:
  Shape() = default;  // a scalar
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}
  Shape(const std::vector<int64_t>& dims) : Shape(std::span<const int64_t>(dims)) {}
  // Throws ShapeError for more than kMaxRank axes, a negative extent, or too many elements (an axis of 0 counts as 1).
  explicit Shape(std::span<const int64_t> dims) : Shape(dims, false) {}
  // Extents of -1 are not known yet: of what a model takes or gives, never of a tensor. elements() is -1 then.
  static Shape partial(std::span<const int64_t> dims) { return Shape(dims, true); }

  int rank() const { return rank_; }
  // Axis i; negative counts from the end. IndexError for one the shape does not have.
  int64_t operator[](int i) const {
    const int axis = i < 0 ? i + rank_ : i;
    if (axis < 0 || axis >= rank_) [[unlikely]]
      no_axis(i);
    return dims_[static_cast<size_t>(axis)];
  }
  int64_t elements() const { return elements_; }
  bool is_partial() const { return elements_ < 0; }
  // The shape with this extent wherever it is not known.
  Shape filled(int64_t extent) const;
  std::span<const int64_t> dims() const { return {dims_.data(), static_cast<size_t>(rank_)}; }
  std::vector<int64_t> to_vector() const { return {dims_.begin(), dims_.begin() + rank_}; }
  const int64_t* begin() const { return dims_.data(); }
  const int64_t* end() const { return dims_.data() + rank_; }
  bool operator==(const Shape& other) const {
    return rank_ == other.rank_ && std::equal(begin(), end(), other.begin());
  }

  // Product of the extents of axes [first, last).
  int64_t elements(int first, int last) const;
  // A copy with axis i set, inserted, or removed.
  Shape with(int i, int64_t extent) const;
  Shape insert(int i, int64_t extent) const;
  Shape erase(int i) const;

 private:
  Shape(std::span<const int64_t> dims, bool may_be_partial);
  [[noreturn]] void no_axis(int i) const;

  std::array<int64_t, kMaxRank> dims_{};
  int64_t elements_ = 1;
  int rank_ = 0;
};

// "(32, 784)", "(3,)", "()", "(None, 8)".
std::string to_string(const Shape& shape);

// NumPy's broadcasting; ShapeError naming `op` when the shapes do not fit.
Shape broadcast(std::string_view op, const Shape& a, const Shape& b);
bool broadcasts_to(const Shape& from, const Shape& to);

// axis in [-rank, rank) -> [0, rank); IndexError naming `op` otherwise.
int normalize_axis(std::string_view op, int64_t axis, int rank);

}  // namespace isochron

template <>
struct fmt::formatter<isochron::Shape> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  template <class Context>
  auto format(const isochron::Shape& value, Context& context) const {
    return fmt::format_to(context.out(), "{}", isochron::to_string(value));
  }
};
