#include "isochron/nn/partial_shapes.h"

#include <algorithm>

#include "isochron/exec/trial.h"

namespace isochron {

bool any_partial(const std::vector<Shape>& shapes) {
  return std::any_of(shapes.begin(), shapes.end(), [](const Shape& shape) { return shape.is_partial(); });
}

std::vector<Shape> filled(const std::vector<Shape>& shapes, int64_t extent) {
  std::vector<Shape> out;
  for (const Shape& shape : shapes) out.push_back(shape.filled(extent));
  return out;
}

Shape common_extents(const Shape& a, const Shape& b) {
  if (a.rank() != b.rank())
    fail<ShapeError>("Input", "the number of axes must not depend on an unknown extent, got {} and {}", a, b);
  std::vector<int64_t> dims = a.to_vector();
  for (int i = 0; i < a.rank(); ++i)
    if (a[i] != b[i]) dims[static_cast<size_t>(i)] = -1;
  return Shape::partial(dims);
}

std::string batch_shape_text(const Shape& shape) {
  std::vector<int64_t> dims = shape.to_vector();
  dims.insert(dims.begin(), -1);
  return to_string(Shape::partial(dims));
}

namespace {

// Above 1, so that a layer that drops axes of extent 1 keeps the batch axis.
constexpr int64_t kTrialBatch = 2;

std::vector<TensorSpec> tried_at(Layer& layer, const std::vector<TensorSpec>& inputs, int64_t stand_in) {
  const TrialScope nothing_runs;
  std::vector<Tensor> trial;
  for (const TensorSpec& input : inputs)
    trial.emplace_back(
        make_leaf({input.dtype, input.shape.filled(stand_in).insert(0, kTrialBatch)}, {}, LeafRole::argument));
  std::vector<TensorSpec> outputs;
  for (const Tensor& result : layer(trial)) {
    if (result.rank() < 1 || result.shape()[0] != kTrialBatch)
      fail<ShapeError>(layer.class_name(),
                       "layer \"{}\" must keep the batch axis, it turned a batch of {} into shape {}", layer.name(),
                       kTrialBatch, result.shape());
    outputs.push_back({result.dtype(), result.shape().erase(0)});
  }
  return outputs;
}

}  // namespace

std::vector<TensorSpec> tried(Layer& layer, const std::vector<TensorSpec>& inputs) {
  std::vector<TensorSpec> outputs = tried_at(layer, inputs, kStandIns[0]);
  if (std::none_of(inputs.begin(), inputs.end(), [](const TensorSpec& input) { return input.shape.is_partial(); }))
    return outputs;
  const std::vector<TensorSpec> others = tried_at(layer, inputs, kStandIns[1]);
  if (outputs.size() != others.size())
    fail<ShapeError>(layer.class_name(),
                     "layer \"{}\" gives {} outputs or {}: their number must not depend on an unknown extent",
                     layer.name(), outputs.size(), others.size());
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i].shape = common_extents(outputs[i].shape, others[i].shape);
  return outputs;
}

Shape output_shape_of(const Layer& layer, const Shape& input) {
  if (!input.is_partial()) return layer.output_shape(input);
  return common_extents(layer.output_shape(input.filled(kStandIns[0])), layer.output_shape(input.filled(kStandIns[1])));
}

}  // namespace isochron
