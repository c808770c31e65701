// An argument of an op: a tensor or a plain number, with the line it was written on.
//
// `x * 2` and `2 * x` need no tensor for the 2: numbers take the dtype of the tensor they meet (a floating number turns
// integers into float32), and an integer that does not fit that of integers is refused. An undefined tensor is none:
// ops refuse it. The implicit conversion happens at the caller's line, and so errors and reports can name it.
#pragma once

#include <optional>
#include <source_location>
#include <string_view>
#include <type_traits>

#include "isochron/tensor/tensor.h"

namespace isochron {

class Operand {
 public:
  Operand(const Tensor& tensor, std::source_location where = std::source_location::current())
      : tensor_(tensor), where_(where) {}
  template <class T>
  requires std::is_arithmetic_v<T> Operand(T number, std::source_location where = std::source_location::current())
      : number_(static_cast<double>(number)), is_number_(true), integral_(std::is_integral_v<T>), where_(where) {
    if constexpr (std::is_integral_v<T>)
      if (std::is_signed_v<T> || static_cast<uint64_t>(number) <= uint64_t{INT64_MAX})
        integer_ = static_cast<int64_t>(number);
  }

  bool is_number() const { return is_number_; }
  double number() const { return number_; }
  bool integral() const { return integral_; }
  std::source_location where() const { return where_; }
  // False for a number that elements of the dtype can't hold.
  bool fits(DType dtype) const;
  // The tensor; a number becomes a scalar of `like`'s dtype, or a ValueError of `op` when it does not fit.
  Tensor tensor(DType like = DType::float32, std::string_view op = "constant") const;
  DType dtype_with(DType other) const;

 private:
  Tensor tensor_;
  double number_ = 0;
  std::optional<int64_t> integer_;  // a whole number to its last digit; none beyond int64
  bool is_number_ = false;
  bool integral_ = false;
  std::source_location where_;
};

// The dtype two operands meet in, and both as tensors of it; `op` is named by errors.
DType meeting_dtype(const Operand& a, const Operand& b);
struct OperandPair {
  Tensor a, b;
};
OperandPair meet(std::string_view op, const Operand& a, const Operand& b);
OperandPair meet(std::string_view op, const Operand& a, const Operand& b, DType dtype);

}  // namespace isochron
