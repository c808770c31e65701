// Plain ops on symbolic tensors: each becomes a layer without weights.
//
//   auto y = relu(x + shortcut);   auto z = 2 * x - 1;   auto m = mean(x, {1});   auto r = reshape(x, {-1, 7, 64});
//   auto left = slice(x, {0, 0}, {kEnd, 8});   auto two = stack({left, z}, 1);   auto u = clip(y, 0, 1);
//
// Axes and shapes count the batch axis; in a shape it is -1.
#pragma once

#include <optional>
#include <span>

#include "isochron/nn/layer.h"

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
}

#define ISO_SYMBOLIC_UNARY(name) \
  inline SymbolicTensor name(const SymbolicTensor& x) { return detail::symbolic_op(#name, {x}); }
ISO_SYMBOLIC_UNARY(neg)
ISO_SYMBOLIC_UNARY(abs)
ISO_SYMBOLIC_UNARY(square)
ISO_SYMBOLIC_UNARY(sqrt)
ISO_SYMBOLIC_UNARY(rsqrt)
ISO_SYMBOLIC_UNARY(reciprocal)
ISO_SYMBOLIC_UNARY(exp)
ISO_SYMBOLIC_UNARY(log)
ISO_SYMBOLIC_UNARY(log1p)
ISO_SYMBOLIC_UNARY(sin)
ISO_SYMBOLIC_UNARY(cos)
ISO_SYMBOLIC_UNARY(tanh)
ISO_SYMBOLIC_UNARY(sigmoid)
ISO_SYMBOLIC_UNARY(relu)
ISO_SYMBOLIC_UNARY(elu)
ISO_SYMBOLIC_UNARY(gelu)
ISO_SYMBOLIC_UNARY(silu)
ISO_SYMBOLIC_UNARY(softplus)
ISO_SYMBOLIC_UNARY(softmax)  // along the last axis
ISO_SYMBOLIC_UNARY(stop_gradient)
#undef ISO_SYMBOLIC_UNARY

// The flag says that the number is the first operand.
#define ISO_SYMBOLIC_BINARY(name)                                                                                      \
  inline SymbolicTensor name(const SymbolicTensor& a, const SymbolicTensor& b) {                                       \
    return detail::symbolic_op(#name, {a, b});                                                                         \
  }                                                                                                                    \
  inline SymbolicTensor name(const SymbolicTensor& a, double b) { return detail::symbolic_op(#name, {a}, {{}, {b}}); } \
  inline SymbolicTensor name(double a, const SymbolicTensor& b) {                                                      \
    return detail::symbolic_op(#name, {b}, {{}, {a}, true});                                                           \
  }
ISO_SYMBOLIC_BINARY(add)
ISO_SYMBOLIC_BINARY(sub)
ISO_SYMBOLIC_BINARY(mul)
ISO_SYMBOLIC_BINARY(div)
ISO_SYMBOLIC_BINARY(pow)
ISO_SYMBOLIC_BINARY(minimum)
ISO_SYMBOLIC_BINARY(maximum)
#undef ISO_SYMBOLIC_BINARY

#define ISO_SYMBOLIC_OPERATOR(sign, name)                                                                      \
  inline SymbolicTensor operator sign(const SymbolicTensor& a, const SymbolicTensor& b) { return name(a, b); } \
  inline SymbolicTensor operator sign(const SymbolicTensor& a, double b) { return name(a, b); }                \
  inline SymbolicTensor operator sign(double a, const SymbolicTensor& b) { return name(a, b); }
ISO_SYMBOLIC_OPERATOR(+, add)
ISO_SYMBOLIC_OPERATOR(-, sub)
ISO_SYMBOLIC_OPERATOR(*, mul)
ISO_SYMBOLIC_OPERATOR(/, div)
#undef ISO_SYMBOLIC_OPERATOR
inline SymbolicTensor operator-(const SymbolicTensor& x) { return neg(x); }

inline SymbolicTensor matmul(const SymbolicTensor& a, const SymbolicTensor& b) {
  return detail::symbolic_op("matmul", {a, b});
}
inline SymbolicTensor concat(std::initializer_list<SymbolicTensor> parts, int64_t axis = -1) {
  return detail::symbolic_op("concat", parts, {{axis}});
}
inline SymbolicTensor sum(const SymbolicTensor& x, std::vector<int64_t> axes, bool keepdims = false) {
  return detail::symbolic_op("sum", {x}, {std::move(axes), {}, keepdims});
}
inline SymbolicTensor mean(const SymbolicTensor& x, std::vector<int64_t> axes, bool keepdims = false) {
  return detail::symbolic_op("mean", {x}, {std::move(axes), {}, keepdims});
}
inline SymbolicTensor max(const SymbolicTensor& x, std::vector<int64_t> axes, bool keepdims = false) {
  return detail::symbolic_op("max", {x}, {std::move(axes), {}, keepdims});
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
