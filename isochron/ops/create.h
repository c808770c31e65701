// Tensors from nothing: literals, ranges, constants.
//
//   tensor({1.f, 2.f, 3.f});  tensor({{1, 2}, {3, 4}}, DType::int64);  tensor(3.f);  tensor(values, {2, 3});
//   zeros({32, 10});  arange(0, 10);  eye(3);
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "isochron/ops/operand.h"

namespace isochron {

namespace detail {

template <class T>
concept Number = std::is_arithmetic_v<T>;

// Lists in lists (or vectors in vectors), and what is in the innermost.
template <class T>
struct Nesting {
  using Innermost = T;
  static constexpr size_t depth = 0;
};
template <class T>
struct Nesting<std::initializer_list<T>> {
  using Innermost = typename Nesting<T>::Innermost;
  static constexpr size_t depth = Nesting<T>::depth + 1;
};
template <class T>
struct Nesting<std::vector<T>> : Nesting<std::initializer_list<T>> {};

constexpr int64_t kUnknown = -1;

// Appends the innermost numbers, and finds the extents of the axes from `axis` on, which must be those of all rows.
template <class Nested, class T>
void flatten_into(std::vector<T>& values, std::vector<int64_t>& dims, const Nested& nested, size_t axis = 0) {
  const auto length = static_cast<int64_t>(nested.size());
  if (dims[axis] == kUnknown) dims[axis] = length;
  if (dims[axis] != length)
    fail<ShapeError>("tensor", "all rows need the same length, got {} and {}", dims[axis], length);
  for (const auto& part : nested) {
    if constexpr (Nesting<Nested>::depth > 1)
      flatten_into(values, dims, part, axis + 1);
    else
      values.push_back(static_cast<T>(part));
  }
}

template <class T, class Nested>
std::pair<std::vector<T>, Shape> flattened(const Nested& nested) {
  std::vector<T> values;
  std::vector<int64_t> dims(Nesting<Nested>::depth, kUnknown);
  flatten_into(values, dims, nested);
  for (int64_t& extent : dims) extent = std::max<int64_t>(extent, 0);
  return {std::move(values), Shape(dims)};
}

// The widest type of a number's kind, which holds it exactly.
template <Number T>
using Wide =
    std::conditional_t<std::is_floating_point_v<T>, double, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
template <Number T>
inline constexpr DType kLiteralDType = std::is_same_v<T, bool> ? DType::boolean
                                       : std::is_integral_v<T> ? DType::int32
                                                               : DType::float32;

// Of int64_t, uint64_t or double; ValueError for a number that does not fit the dtype.
template <class T>
Tensor tensor_from_numbers(const std::vector<T>& values, const Shape& shape, DType dtype);
inline Tensor tensor_from_doubles(const std::vector<double>& values, const Shape& shape, DType dtype) {
  return tensor_from_numbers(values, shape, dtype);
}

template <class Nested>
Tensor literal(const Nested& nested, std::optional<DType> dtype) {
  using T = typename Nesting<Nested>::Innermost;
  const auto [values, shape] = flattened<Wide<T>>(nested);
  return tensor_from_numbers(values, shape, dtype.value_or(kLiteralDType<T>));
}

Tensor integer_range(int64_t start, int64_t stop, int64_t step, std::optional<DType> dtype);

}  // namespace detail

// Literals. Without a dtype, float32 for floating numbers (also double) and int32 for integers.
template <detail::Number T>
Tensor tensor(std::initializer_list<T> values, std::optional<DType> dtype = {}) {
  return detail::literal(values, dtype);
}
template <detail::Number T>
Tensor tensor(std::initializer_list<std::initializer_list<T>> rows, std::optional<DType> dtype = {}) {
  return detail::literal(rows, dtype);
}
template <detail::Number T>
Tensor tensor(std::initializer_list<std::initializer_list<std::initializer_list<T>>> planes,
              std::optional<DType> dtype = {}) {
  return detail::literal(planes, dtype);
}
template <detail::Number T>
Tensor tensor(T value, std::optional<DType> dtype = {}) {
  return detail::tensor_from_numbers<detail::Wide<T>>({static_cast<detail::Wide<T>>(value)}, {},
                                                      dtype.value_or(detail::kLiteralDType<T>));
}

// From memory and containers: copies, and keeps the element type.
template <class T, size_t count>
requires ElementType<std::remove_const_t<T>> Tensor tensor(std::span<T, count> values, const Shape& shape) {
  return Tensor::from_span(std::span<const std::remove_const_t<T>>(values), shape);
}
template <ElementType T>
Tensor tensor(const std::vector<T>& values, const Shape& shape) {
  if constexpr (std::is_same_v<T, bool>) {  // whose elements are bits
    const auto truths = std::make_unique<bool[]>(values.size());
    std::copy(values.begin(), values.end(), truths.get());
    return Tensor::from_span(std::span<const bool>(truths.get(), values.size()), shape);
  } else {
    return Tensor::from_span(std::span<const T>(values), shape);
  }
}
template <ElementType T>
Tensor tensor(const std::vector<T>& values) {
  return tensor(values, {static_cast<int64_t>(values.size())});
}
template <ElementType T, size_t count>
Tensor tensor(const std::array<T, count>& values) {
  return Tensor::from_span(std::span<const T>(values), {static_cast<int64_t>(count)});
}
// Vectors in vectors; ShapeError unless those of one level are equally long.
template <class T>
requires ElementType<typename detail::Nesting<T>::Innermost> Tensor tensor(const std::vector<std::vector<T>>& rows) {
  const auto [values, shape] = detail::flattened<typename detail::Nesting<T>::Innermost>(rows);
  return tensor(values, shape);
}

// A scalar known when the graph is built.
Tensor constant(double value, DType dtype = DType::float32);
// A materialised 0-d tensor.
template <detail::Number T>
Tensor scalar(T value, DType dtype = DType::float32) {
  return tensor(value, dtype);
}

Tensor full(const Shape& shape, const Operand& value, DType dtype = DType::float32);
Tensor zeros(const Shape& shape, DType dtype = DType::float32);
Tensor ones(const Shape& shape, DType dtype = DType::float32);
Tensor full_like(const Tensor& like, const Operand& value);
Tensor zeros_like(const Tensor& like);
Tensor ones_like(const Tensor& like);

// start, start + step, … below stop: int64 when all three are whole numbers, else float32, unless a dtype is given.
// ValueError for a zero step, more elements than fit, or integers that do not fit the dtype.
Tensor arange(double start, double stop, double step = 1, std::optional<DType> dtype = {});
template <std::integral A, std::integral B, std::integral C = int>
Tensor arange(A start, B stop, C step = 1, std::optional<DType> dtype = {}) {
  return detail::integer_range(static_cast<int64_t>(start), static_cast<int64_t>(stop), static_cast<int64_t>(step),
                               dtype);
}
Tensor arange(int64_t stop);
constexpr int64_t kLongestRange = int64_t{1} << 40;  // elements
Tensor linspace(double start, double stop, int64_t count, DType dtype = DType::float32);
Tensor eye(int64_t rows, int64_t columns = -1, DType dtype = DType::float32);

}  // namespace isochron
