#include "isochron/nn/merge_layers.h"

#include "isochron/nn/masking.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/matmul.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {

Tensor Merge::call(const Tensor&, const CallContext&) {
  fail<ValueError>(class_name(), "joins two tensors or more, got one: {}()({{a, b}})", class_name());
}

std::vector<Tensor> Merge::call_many(const std::vector<Tensor>& given, const CallContext& context) {
  if (given.size() < 2) return {call(given[0], context)};
  std::vector<Tensor> inputs = given;
  if (stretches()) {
    // Of examples, so that an error shows what the user knows: in a functional model there is no batch yet.
    Shape example = given[0].shape().erase(0);
    for (const Tensor& input : given) example = broadcast(class_name(), example, input.shape().erase(0));
    for (Tensor& input : inputs)
      while (input.rank() <= example.rank()) input = expand_dims(input, 1);
  }
  return {merge(inputs)};
}

namespace {
Tensor fold(const std::vector<Tensor>& inputs, Tensor (*op)(const Operand&, const Operand&)) {
  Tensor result = inputs[0];
  for (size_t i = 1; i < inputs.size(); ++i) result = op(result, inputs[i]);
  return result;
}

// (batch, …, k): the axis to the end, and all before it but the batch into one.
Tensor rows_along(const Tensor& x, int axis) {
  const Tensor last = axis == x.rank() - 1 ? x : transpose(x, axis_last(x.rank(), axis));
  return reshape(last, {x.shape()[0], -1, x.shape()[axis]});
}

Tensor unit_length(const Tensor& x, int axis) { return x * rsqrt(maximum(sum(square(x), {axis}, true), 1e-12)); }
}  // namespace

Tensor Merge::compute_mask_of(const std::vector<Tensor>& inputs) {
  Tensor all;
  for (const Tensor& input : inputs) {
    const Tensor mask = mask_of(input);
    if (!mask.defined()) return {};
    all = all.defined() ? logical_or(all, mask) : mask;
  }
  return all;
}

Tensor Concatenate::compute_mask_of(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> masks;
  bool any = false;
  int rank = 0;
  for (const Tensor& input : inputs) {
    masks.push_back(mask_of(input));
    if (!masks.back().defined()) continue;
    any = true;
    rank = masks.back().rank();
  }
  if (!any) return {};
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!masks[i].defined())
      masks[i] = ones(Shape(inputs[i].shape().dims().first(static_cast<size_t>(rank))), DType::boolean);
  const int axis = normalize_axis("Concatenate", axis_, inputs[0].rank());
  if (axis < rank) return concat(masks, axis);
  Tensor all = masks[0];
  for (size_t i = 1; i < masks.size(); ++i) all = logical_or(all, masks[i]);
  return all;
}

Tensor Add::merge(const std::vector<Tensor>& inputs) const { return fold(inputs, add); }
Tensor Multiply::merge(const std::vector<Tensor>& inputs) const { return fold(inputs, mul); }
Tensor Maximum::merge(const std::vector<Tensor>& inputs) const { return fold(inputs, maximum); }
Tensor Minimum::merge(const std::vector<Tensor>& inputs) const { return fold(inputs, minimum); }
Tensor Average::merge(const std::vector<Tensor>& inputs) const {
  return fold(inputs, add) / static_cast<double>(inputs.size());
}
Tensor Subtract::merge(const std::vector<Tensor>& inputs) const {
  if (inputs.size() != 2) fail<ValueError>("Subtract", "takes exactly two tensors, got {}", inputs.size());
  return inputs[0] - inputs[1];
}

Concatenate::Concatenate(ConcatenateOptions options) : Merge({std::move(options.name)}), axis_(options.axis) {
  if (axis_ == 0) fail<ValueError>("Concatenate", "axis 0 is the batch axis, which layers keep");
}
Tensor Concatenate::merge(const std::vector<Tensor>& inputs) const { return concat(inputs, axis_); }

Dot::Dot(int64_t first_axis, int64_t second_axis, DotOptions options)
    : Merge({std::move(options.name)}), axes_(first_axis, second_axis), normalize_(options.normalize) {
  if (first_axis == 0 || second_axis == 0) fail<ValueError>("Dot", "axis 0 is the batch axis, which layers keep");
}

Tensor Dot::merge(const std::vector<Tensor>& inputs) const {
  if (inputs.size() != 2) fail<ValueError>("Dot", "takes exactly two tensors, got {}", inputs.size());
  Tensor a = inputs[0], b = inputs[1];
  const int axis_a = normalize_axis("Dot", axes_.first, a.rank());
  const int axis_b = normalize_axis("Dot", axes_.second, b.rank());
  if (axis_a == 0 || axis_b == 0) fail<ValueError>("Dot", "axis 0 is the batch axis, which layers keep");
  if (a.shape()[axis_a] != b.shape()[axis_b])
    fail<ShapeError>("Dot", "axis {} of {} and axis {} of {} must have the same extent", axis_a, a.shape(), axis_b,
                     b.shape());
  if (normalize_) {
    a = unit_length(a, axis_a);
    b = unit_length(b, axis_b);
  }
  std::vector<int64_t> shape{a.shape()[0]};
  for (int i = 1; i < a.rank(); ++i)
    if (i != axis_a) shape.push_back(a.shape()[i]);
  for (int i = 1; i < b.rank(); ++i)
    if (i != axis_b) shape.push_back(b.shape()[i]);
  if (shape.size() == 1) shape.push_back(1);
  return reshape(matmul(rows_along(a, axis_a), rows_along(b, axis_b), {.transpose_b = true}), shape);
}

Lambda::Lambda(std::function<Tensor(const Tensor&)> function, LayerOptions options) : function_(std::move(function)) {
  if (!function_) fail<ValueError>("Lambda", "the function is empty");
  set_name(std::move(options.name));
}

}  // namespace isochron
