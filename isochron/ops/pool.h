// Pooling over one, two or three spatial axes; channels last.
//
//   max_pool(x, {.window = {2}});                                  // (N, H, W, C) -> (N, H / 2, W / 2, C)
//   avg_pool(x, {.window = {3, 3}, .strides = {2}, .padding = "same"});
//
// A window of one number serves all spatial axes. Without strides the windows touch but do not overlap. Padding is not
// part of a maximum, nor of a mean unless `count_padding` says so. Of equal maxima the first gets the gradient.
#pragma once

#include "isochron/ops/operand.h"
#include "isochron/ops/window.h"

namespace isochron {

struct PoolOptions {
  Extents window = {2};
  Extents strides = {};  // empty: the window
  Padding padding = "valid";
  bool count_padding = false;
};
Tensor max_pool(const Operand& x, const PoolOptions& options = {});
Tensor avg_pool(const Operand& x, const PoolOptions& options = {});

}  // namespace isochron
