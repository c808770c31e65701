// Which layer an error happened in: an operation knows its shapes, not whose they are.
//
//   [conv] a window of 3 does not fit into 2 elements padded by 0 and 0 (spatial axis 0)
//     in layer "conv2d_2" (Conv2D), called with (None, 2, 2, 8)
//     in layer "sequential" (Sequential), called with (None, 8, 8, 1)
#pragma once

#include <span>
#include <utility>

#include "isochron/base/error.h"
#include "isochron/nn/layer.h"

namespace isochron {

void note_layer(Error& error, const Layer& layer, std::span<const Shape> inputs);

// Runs `f`, which does what the layer does with examples of these shapes.
template <class F>
decltype(auto) in_layer(const Layer& layer, std::span<const Shape> inputs, F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (Error& error) {
    note_layer(error, layer, inputs);
    throw;
  }
}
template <class F>
decltype(auto) in_layer(const Layer& layer, const Shape& input, F&& f) {
  return in_layer(layer, std::span(&input, 1), std::forward<F>(f));
}

}  // namespace isochron
