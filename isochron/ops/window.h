// How a window moves over the spatial axes of a (batch, …spatial, channels) tensor: shared by convolution and pooling.
//
//   Padding same = "same";                         // "valid", "same" or "causal"
//   Padding exact = {{1, 1}, {0, 2}};              // before and after each spatial axis
//   Windows w{.op = "conv", .window = {3, 3}, .strides = {2, 2}, .dilations = {1, 1}};
//   w.pads = pads_of(w, {28, 28}, "same");
//   w.output_extents({28, 28});                    // {14, 14}
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "isochron/ops/op.h"

namespace isochron {

// "valid": none. "same": as much as the output needs to have ceil(input / stride) elements, the odd one after.
// "causal": all before, so that no output sees later inputs (one spatial axis only).
class Padding {
 public:
  using Widths = std::vector<std::pair<int64_t, int64_t>>;
  Padding(const char* mode = "valid") : Padding(std::string(mode ? mode : "nullptr")) {}
  Padding(std::string mode);  // ValueError, with a suggestion, for another word
  Padding(std::initializer_list<std::pair<int64_t, int64_t>> widths) : Padding(Widths(widths)) {}
  Padding(Widths widths) : widths_(std::move(widths)) {}

  bool is_explicit() const { return mode_.empty(); }
  const std::string& mode() const { return mode_; }
  const Widths& widths() const { return widths_; }

 private:
  std::string mode_;
  Widths widths_;
};

using Extents = std::vector<int64_t>;

struct Windows {
  std::string_view op;  // for messages
  Extents window, strides, dilations;
  Extents pads = {};  // before and after each axis in turn

  size_t axes() const { return window.size(); }
  // From the first element the window sees to the last.
  int64_t reach(size_t axis) const { return (window[axis] - 1) * dilations[axis] + 1; }
  // ShapeError when the window does not fit into the padded input.
  Extents output_extents(const Extents& input) const;
};

// One number for each of `axes` spatial axes: the list itself, a list of one for all, or none for ones.
Extents per_axis(std::string_view op, const char* what, const Extents& given, size_t axes);
// ValueError when explicit widths do not fit the number of axes, or "causal" is asked for more than one.
Extents pads_of(const Windows& windows, const Extents& input, const Padding& padding);
// The pads of "same" for an input of these extents.
Extents same_pads(const Windows& windows, const Extents& input);
// Spatial extents of a (batch, …, channels) shape; ShapeError without at least one and at most three.
Extents spatial_extents(std::string_view op, const Shape& shape);
Shape with_spatial(int64_t batch, const Extents& spatial, int64_t channels);
// What a node's attributes "window" (if given), "strides", "dilations" and "pads" say.
Windows windows_of(std::string_view op, const Attributes& attributes, Extents window);

}  // namespace isochron
