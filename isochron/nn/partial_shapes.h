// Examples whose extents are not all known, Input({-1, 8}): what layers make of them.
//
// Layers never see an unknown extent. They are built for a stand-in and tried at two; extents of a result that differ
// are not known either, and a layer that works for one only needs what is not known.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "isochron/nn/layer.h"

namespace isochron {

// Divided by what layers usually divide by, larger than what their windows usually need, and short enough for layers
// that are traced step by step.
inline constexpr std::array<int64_t, 2> kStandIns{192, 384};

bool any_partial(const std::vector<Shape>& shapes);
std::vector<Shape> filled(const std::vector<Shape>& shapes, int64_t extent);
// The shape in which extents that differ are not known; ShapeError for another number of axes.
Shape common_extents(const Shape& a, const Shape& b);

// "(None, 28, 28, 1)": a shape of one example, of any number of them.
std::string batch_shape_text(const Shape& shape);

// What a built layer makes of one example of each of these, by a trial on a batch in which nothing is computed.
std::vector<TensorSpec> tried(Layer& layer, const std::vector<TensorSpec>& inputs);
// Layer::output_shape() for an input that may be known in part.
Shape output_shape_of(const Layer& layer, const Shape& input);

}  // namespace isochron
