#include "isochron/ops/window.h"

#include <fmt/core.h>

#include <algorithm>

#include "isochron/base/joined.h"
#include "isochron/base/names.h"

namespace isochron {

Padding::Padding(std::string mode) : mode_(std::move(mode)) {
  if (mode_ != "valid" && mode_ != "same" && mode_ != "causal")
    fail<ValueError>("padding", "unknown padding \"{}\"{}", mode_, did_you_mean(mode_, {"valid", "same", "causal"}));
}

Extents Windows::output_extents(const Extents& input) const {
  Extents output(input.size());
  for (size_t i = 0; i < input.size(); ++i) {
    const int64_t room = input[i] + pads[2 * i] + pads[2 * i + 1] - reach(i);
    if (room < 0)
      fail<ShapeError>(op,
                       "a window of {} does not fit into {} elements padded by {} and {} (spatial axis {}); "
                       "make it smaller, or pad more",
                       reach(i), input[i], pads[2 * i], pads[2 * i + 1], i);
    output[i] = room / strides[i] + 1;
  }
  return output;
}

Extents per_axis(std::string_view op, const char* what, const Extents& given, size_t axes) {
  Extents all = given.empty() ? Extents(axes, 1) : given.size() == 1 ? Extents(axes, given[0]) : given;
  if (all.size() != axes) fail<ValueError>(op, "{} needs 1 or {} numbers, got ({})", what, axes, joined(given));
  for (const int64_t value : all)
    if (value < 1) fail<ValueError>(op, "{} must be at least 1, got ({})", what, joined(given));
  return all;
}

Extents same_pads(const Windows& windows, const Extents& input) {
  Extents pads;
  for (size_t i = 0; i < input.size(); ++i) {
    const int64_t stride = windows.strides[i], outputs = (input[i] + stride - 1) / stride;
    const int64_t total = std::max<int64_t>((outputs - 1) * stride + windows.reach(i) - input[i], 0);
    pads.insert(pads.end(), {total / 2, total - total / 2});
  }
  return pads;
}

Extents pads_of(const Windows& windows, const Extents& input, const Padding& padding) {
  if (padding.mode() == "same") return same_pads(windows, input);
  Extents pads(2 * input.size(), 0);
  if (padding.mode() == "causal") {
    if (input.size() != 1) fail<ValueError>(windows.op, "causal padding needs one spatial axis, got {}", input.size());
    pads[0] = windows.reach(0) - 1;
  }
  if (padding.is_explicit()) {
    if (padding.widths().size() != input.size())
      fail<ValueError>(windows.op, "padding needs a pair for each of {} spatial axes, got {}", input.size(),
                       padding.widths().size());
    for (size_t i = 0; i < input.size(); ++i) {
      const auto [before, after] = padding.widths()[i];
      if (before < 0 || after < 0)
        fail<ValueError>(windows.op, "padding must not be negative, got ({}, {})", before, after);
      pads[2 * i] = before;
      pads[2 * i + 1] = after;
    }
  }
  return pads;
}

Extents spatial_extents(std::string_view op, const Shape& shape) {
  if (shape.rank() < 3 || shape.rank() > 5)
    fail<ShapeError>(op, "needs (batch, one to three spatial axes, channels), got {}", shape);
  return Extents(shape.begin() + 1, shape.end() - 1);
}

Shape with_spatial(int64_t batch, const Extents& spatial, int64_t channels) {
  Extents dims{batch};
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  dims.push_back(channels);
  return Shape(dims);
}

Windows windows_of(std::string_view op, const Attributes& attributes, Extents window) {
  return {op, std::move(window), attributes.get<Extents>("strides"), attributes.get<Extents>("dilations"),
          attributes.get<Extents>("pads")};
}

}  // namespace isochron
