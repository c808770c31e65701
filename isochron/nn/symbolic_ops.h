// Plain ops on symbolic tensors: each becomes a layer without weights.
//
//   auto y = relu(x + shortcut);   auto z = 2 * x - 1;   auto m = mean(x, {1});   auto r = reshape(x, {-1, 7, 64});
//   auto y = where(x > 0, x, 0.1 * x);   auto counts = cast(not_equal(tokens, 0), DType::float32);
//   auto left = slice(x, {0, 0}, {kEnd, 8});   auto two = stack({left, z}, 1);   auto u = clip(y, 0, 1);
//
// Axes and shapes count the batch axis; in a shape it is -1. `a == b` asks whether two symbolic tensors are the same
// one: equal(a, b) compares what they will hold.
#pragma once

#include <optional>
#include <span>

#include "isochron/nn/layer.h"
#include "isochron/tensor/axis_list.h"

namespace isochron {

// What an op needs beside its inputs.
struct OperationArguments {
  std::vector<int64_t> integers = {};
  std::vector<double> numbers = {};
  bool flag = false;
  std::optional<DType> dtype = {};
};
ISO_OPTIONS(OperationArguments, integers, numbers, flag, dtype)

// A layer that applies an op by its name.
class Operation : public Layer {
 public:
  // ValueError, with a suggestion, for an op that is not in the table.
  Operation(const std::string& op, OperationArguments arguments, LayerOptions options = {});
  ISO_LAYER(Operation)
  ISO_ARGUMENTS(op_, arguments_)
  bool many() const override { return true; }
  Tensor call(const Tensor& x, const CallContext& context) override { return call_many({x}, context)[0]; }
  std::vector<Tensor> call_many(const std::vector<Tensor>& inputs, const CallContext& context) override;
  const std::string& op() const { return op_; }
  const OperationArguments& arguments() const { return arguments_; }

 private:
  using Run = Tensor (*)(std::span<const Tensor>, const OperationArguments&);
  std::string op_;
  OperationArguments arguments_;
  Run run_;
};

namespace detail {
SymbolicTensor symbolic_op(const char* op, std::vector<SymbolicTensor> inputs, OperationArguments arguments = {});
// The flag says that the number is the first operand.
template <class T>
OperationArguments with_number(T number, bool first = false) {
  if constexpr (std::is_integral_v<T>)
    return {.integers = {static_cast<int64_t>(number)}, .flag = first};
  else
    return {.numbers = {static_cast<double>(number)}, .flag = first};
}
}  // namespace detail

#define ISO_SYMBOLIC_UNARY(name) \
  inline SymbolicTensor name(const SymbolicTensor& x) { return detail::symbolic_op(#name, {x}); }
ISO_SYMBOLIC_UNARY(neg)
ISO_SYMBOLIC_UNARY(abs)
ISO_SYMBOLIC_UNARY(sign)
ISO_SYMBOLIC_UNARY(floor)
ISO_SYMBOLIC_UNARY(ceil)
ISO_SYMBOLIC_UNARY(round)
ISO_SYMBOLIC_UNARY(square)
ISO_SYMBOLIC_UNARY(sqrt)
ISO_SYMBOLIC_UNARY(rsqrt)
ISO_SYMBOLIC_UNARY(reciprocal)
ISO_SYMBOLIC_UNARY(exp)
ISO_SYMBOLIC_UNARY(log)
ISO_SYMBOLIC_UNARY(log1p)
ISO_SYMBOLIC_UNARY(expm1)
ISO_SYMBOLIC_UNARY(sin)
ISO_SYMBOLIC_UNARY(cos)
ISO_SYMBOLIC_UNARY(tanh)
ISO_SYMBOLIC_UNARY(sigmoid)
ISO_SYMBOLIC_UNARY(erf)
ISO_SYMBOLIC_UNARY(relu)
ISO_SYMBOLIC_UNARY(elu)
ISO_SYMBOLIC_UNARY(selu)
ISO_SYMBOLIC_UNARY(gelu)
ISO_SYMBOLIC_UNARY(silu)
ISO_SYMBOLIC_UNARY(softplus)
ISO_SYMBOLIC_UNARY(logical_not)
ISO_SYMBOLIC_UNARY(stop_gradient)
#undef ISO_SYMBOLIC_UNARY

// An op of two operands, one of which may be a number; a whole number leaves integers what they are.
#define ISO_SYMBOLIC_BINARY(name)                                                      \
  inline SymbolicTensor name(const SymbolicTensor& a, const SymbolicTensor& b) {       \
    return detail::symbolic_op(#name, {a, b});                                         \
  }                                                                                    \
  template <class T>                                                                   \
  requires std::is_arithmetic_v<T> SymbolicTensor name(const SymbolicTensor& a, T b) { \
    return detail::symbolic_op(#name, {a}, detail::with_number(b));                    \
  }                                                                                    \
  template <class T>                                                                   \
  requires std::is_arithmetic_v<T> SymbolicTensor name(T a, const SymbolicTensor& b) { \
    return detail::symbolic_op(#name, {b}, detail::with_number(a, true));              \
  }
ISO_SYMBOLIC_BINARY(add)
ISO_SYMBOLIC_BINARY(sub)
ISO_SYMBOLIC_BINARY(mul)
ISO_SYMBOLIC_BINARY(div)
ISO_SYMBOLIC_BINARY(floor_div)
ISO_SYMBOLIC_BINARY(mod)
ISO_SYMBOLIC_BINARY(pow)
ISO_SYMBOLIC_BINARY(minimum)
ISO_SYMBOLIC_BINARY(maximum)
ISO_SYMBOLIC_BINARY(equal)
ISO_SYMBOLIC_BINARY(not_equal)
ISO_SYMBOLIC_BINARY(less)
ISO_SYMBOLIC_BINARY(less_equal)
ISO_SYMBOLIC_BINARY(greater)
ISO_SYMBOLIC_BINARY(greater_equal)
ISO_SYMBOLIC_BINARY(logical_and)
ISO_SYMBOLIC_BINARY(logical_or)
#undef ISO_SYMBOLIC_BINARY

#define ISO_SYMBOLIC_OPERATOR(sign, name)                                                                            \
  inline SymbolicTensor operator sign(const SymbolicTensor& a, const SymbolicTensor& b) { return name(a, b); }       \
  template <class T>                                                                                                 \
  requires std::is_arithmetic_v<T> SymbolicTensor operator sign(const SymbolicTensor& a, T b) { return name(a, b); } \
  template <class T>                                                                                                 \
  requires std::is_arithmetic_v<T> SymbolicTensor operator sign(T a, const SymbolicTensor& b) { return name(a, b); }
ISO_SYMBOLIC_OPERATOR(+, add)
ISO_SYMBOLIC_OPERATOR(-, sub)
ISO_SYMBOLIC_OPERATOR(*, mul)
ISO_SYMBOLIC_OPERATOR(/, div)
ISO_SYMBOLIC_OPERATOR(%, mod)
ISO_SYMBOLIC_OPERATOR(<, less)
ISO_SYMBOLIC_OPERATOR(<=, less_equal)
ISO_SYMBOLIC_OPERATOR(>, greater)
ISO_SYMBOLIC_OPERATOR(>=, greater_equal)
#undef ISO_SYMBOLIC_OPERATOR
inline SymbolicTensor operator-(const SymbolicTensor& x) { return neg(x); }
inline SymbolicTensor operator!(const SymbolicTensor& x) { return logical_not(x); }

// a where the condition holds, b elsewhere.
inline SymbolicTensor where(const SymbolicTensor& condition, const SymbolicTensor& a, const SymbolicTensor& b) {
  return detail::symbolic_op("where", {condition, a, b});
}
inline SymbolicTensor where(const SymbolicTensor& condition, const SymbolicTensor& a, double b) {
  return detail::symbolic_op("where", {condition, a}, {.numbers = {b}});
}
inline SymbolicTensor where(const SymbolicTensor& condition, double a, const SymbolicTensor& b) {
  return detail::symbolic_op("where", {condition, b}, {.numbers = {a}, .flag = true});
}

inline SymbolicTensor matmul(const SymbolicTensor& a, const SymbolicTensor& b) {
  return detail::symbolic_op("matmul", {a, b});
}
inline SymbolicTensor concat(std::initializer_list<SymbolicTensor> parts, int64_t axis = -1) {
  return detail::symbolic_op("concat", parts, {{axis}});
}
#define ISO_SYMBOLIC_REDUCTION(name)                                                                    \
  inline SymbolicTensor name(const SymbolicTensor& x, const AxisList& axes, bool keepdims = false) {    \
    return detail::symbolic_op(#name, {x}, {.integers = {axes.begin(), axes.end()}, .flag = keepdims}); \
  }
ISO_SYMBOLIC_REDUCTION(sum)
ISO_SYMBOLIC_REDUCTION(mean)
ISO_SYMBOLIC_REDUCTION(prod)
ISO_SYMBOLIC_REDUCTION(max)
ISO_SYMBOLIC_REDUCTION(min)
ISO_SYMBOLIC_REDUCTION(any)
ISO_SYMBOLIC_REDUCTION(all)
ISO_SYMBOLIC_REDUCTION(var)
ISO_SYMBOLIC_REDUCTION(std)
ISO_SYMBOLIC_REDUCTION(logsumexp)
#undef ISO_SYMBOLIC_REDUCTION
inline SymbolicTensor argmax(const SymbolicTensor& x, int64_t axis = -1, bool keepdims = false) {
  return detail::symbolic_op("argmax", {x}, {.integers = {axis}, .flag = keepdims});
}
inline SymbolicTensor argmin(const SymbolicTensor& x, int64_t axis = -1, bool keepdims = false) {
  return detail::symbolic_op("argmin", {x}, {.integers = {axis}, .flag = keepdims});
}
inline SymbolicTensor softmax(const SymbolicTensor& x, int64_t axis = -1) {
  return detail::symbolic_op("softmax", {x}, {.integers = {axis}});
}
inline SymbolicTensor log_softmax(const SymbolicTensor& x, int64_t axis = -1) {
  return detail::symbolic_op("log_softmax", {x}, {.integers = {axis}});
}
inline SymbolicTensor leaky_relu(const SymbolicTensor& x, double negative_slope = 0.2) {
  return detail::symbolic_op("leaky_relu", {x}, {.numbers = {negative_slope}});
}
inline SymbolicTensor one_hot(const SymbolicTensor& x, int64_t depth) {
  return detail::symbolic_op("one_hot", {x}, {.integers = {depth}});
}
inline SymbolicTensor reshape(const SymbolicTensor& x, std::vector<int64_t> shape) {
  return detail::symbolic_op("reshape", {x}, {std::move(shape)});
}
inline SymbolicTensor transpose(const SymbolicTensor& x, std::vector<int64_t> permutation) {
  return detail::symbolic_op("transpose", {x}, {std::move(permutation)});
}
inline SymbolicTensor expand_dims(const SymbolicTensor& x, int64_t axis) {
  return detail::symbolic_op("expand_dims", {x}, {{axis}});
}
inline SymbolicTensor squeeze(const SymbolicTensor& x, std::vector<int64_t> axes) {
  return detail::symbolic_op("squeeze", {x}, {std::move(axes)});
}
// A new axis; ValueError for 0, which is the batch.
SymbolicTensor stack(std::initializer_list<SymbolicTensor> parts, int64_t axis = -1);
// ValueError unless the batch is taken whole: 0 to kEnd (ops/shape_ops.h).
SymbolicTensor slice(const SymbolicTensor& x, std::vector<int64_t> begin, std::vector<int64_t> end,
                     std::vector<int64_t> step = {});
inline SymbolicTensor cast(const SymbolicTensor& x, DType dtype) {
  return detail::symbolic_op("cast", {x}, {.dtype = dtype});
}
inline SymbolicTensor clip(const SymbolicTensor& x, double low, double high) {
  return detail::symbolic_op("clip", {x}, {.numbers = {low, high}});
}

}  // namespace isochron
