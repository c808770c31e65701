// Tensors from nothing: literals, ranges, constants.
//
//   tensor({1.f, 2.f, 3.f});  tensor({{1, 2}, {3, 4}}, DType::int32);  tensor(values, {2, 3});
//   zeros({32, 10});  arange(0, 10);  eye(3);
#pragma once

#include <initializer_list>
#include <optional>
#include <vector>

#include "isochron/ops/operand.h"

namespace isochron {

// Literals. Without a dtype, float32 for floating numbers (also double) and int32 for integers.
template <class T>
requires std::is_arithmetic_v<T> Tensor tensor(std::initializer_list<T> values, std::optional<DType> dtype = {});
template <class T>
requires std::is_arithmetic_v<T> Tensor tensor(std::initializer_list<std::initializer_list<T>> rows,
                                               std::optional<DType> dtype = {});
// From a container: copies, and keeps its element type.
template <class T>
Tensor tensor(const std::vector<T>& values, const Shape& shape);
template <class T>
Tensor tensor(const std::vector<T>& values) {
  return tensor(values, Shape{static_cast<int64_t>(values.size())});
}

// A scalar known when the graph is built.
Tensor constant(double value, DType dtype = DType::float32);
Tensor scalar(double value, DType dtype = DType::float32);  // a materialised 0-d tensor

Tensor full(const Shape& shape, const Operand& value, DType dtype = DType::float32);
Tensor zeros(const Shape& shape, DType dtype = DType::float32);
Tensor ones(const Shape& shape, DType dtype = DType::float32);
Tensor full_like(const Tensor& like, const Operand& value);
Tensor zeros_like(const Tensor& like);
Tensor ones_like(const Tensor& like);

// start, start + step, … below stop: int64 when all three are whole numbers, else float32, unless a dtype is given.
// ValueError for a zero step or more elements than fit.
Tensor arange(double start, double stop, double step = 1, std::optional<DType> dtype = {});
Tensor arange(int64_t stop);
Tensor linspace(double start, double stop, int64_t count, DType dtype = DType::float32);
Tensor eye(int64_t rows, int64_t columns = -1, DType dtype = DType::float32);

namespace detail {
Tensor tensor_from_doubles(std::vector<double> values, const Shape& shape, DType dtype);
}

template <class T>
requires std::is_arithmetic_v<T> Tensor tensor(std::initializer_list<T> values, std::optional<DType> dtype) {
  const DType fallback = std::is_same_v<T, bool> ? DType::boolean
                         : std::is_integral_v<T> ? DType::int32
                                                 : DType::float32;
  return detail::tensor_from_doubles({values.begin(), values.end()}, {static_cast<int64_t>(values.size())},
                                     dtype.value_or(fallback));
}

template <class T>
requires std::is_arithmetic_v<T> Tensor tensor(std::initializer_list<std::initializer_list<T>> rows,
                                               std::optional<DType> dtype) {
  const DType fallback = std::is_same_v<T, bool> ? DType::boolean
                         : std::is_integral_v<T> ? DType::int32
                                                 : DType::float32;
  const size_t columns = rows.size() ? rows.begin()->size() : 0;
  std::vector<double> values;
  for (const auto& row : rows) {
    if (row.size() != columns)
      fail<ShapeError>("tensor", "all rows need the same length, got {} and {}", columns, row.size());
    values.insert(values.end(), row.begin(), row.end());
  }
  return detail::tensor_from_doubles(
      std::move(values), {static_cast<int64_t>(rows.size()), static_cast<int64_t>(columns)}, dtype.value_or(fallback));
}

template <class T>
Tensor tensor(const std::vector<T>& values, const Shape& shape) {
  if constexpr (std::is_same_v<T, bool>) {
    std::vector<uint8_t> bytes(values.begin(), values.end());
    Storage storage = Storage::allocate(bytes.size());
    std::memcpy(storage.data(), bytes.data(), bytes.size());
    if (static_cast<int64_t>(bytes.size()) != shape.elements())
      fail<ShapeError>("tensor", "shape {} has {} elements, got {}", shape, shape.elements(), bytes.size());
    return Tensor::from_storage(std::move(storage), {DType::boolean, shape});
  } else {
    return Tensor::from_span(std::span<const T>(values), shape);
  }
}

}  // namespace isochron
