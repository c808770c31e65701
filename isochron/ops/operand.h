// An argument of an op: a tensor or a plain number, with the line it was written on.
//
// `x * 2` and `2 * x` need no tensor for the 2: numbers take the dtype of the tensor they meet (a number
// with a fraction turns integers into float32). An undefined tensor is none: ops refuse it. The implicit conversion
// happens at the caller's line, and so errors and reports can name it.
#pragma once

#include <source_location>
#include <type_traits>

#include "isochron/tensor/tensor.h"

namespace isochron {

class Operand {
 public:
  Operand(const Tensor& tensor, std::source_location where = std::source_location::current())
      : tensor_(tensor), where_(where) {}
  template <class T>
  requires std::is_arithmetic_v<T> Operand(T number, std::source_location where = std::source_location::current())
      : number_(static_cast<double>(number)), is_number_(true), integral_(std::is_integral_v<T>), where_(where) {}

  bool is_number() const { return is_number_; }
  double number() const { return number_; }
  bool integral() const { return integral_; }
  std::source_location where() const { return where_; }
  // The tensor; a number becomes a scalar of `like`'s dtype.
  Tensor tensor(DType like = DType::float32) const;
  DType dtype_with(DType other) const;

 private:
  Tensor tensor_;
  double number_ = 0;
  bool is_number_ = false;
  bool integral_ = false;
  std::source_location where_;
};

// Both operands as tensors of the dtype they meet in.
struct OperandPair {
  Tensor a, b;
};
OperandPair meet(const Operand& a, const Operand& b);

}  // namespace isochron
