// pad() with what is inside the tensor: along each axis the elements are picked by number.
#include <algorithm>

#include "isochron/base/names.h"
#include "isochron/ops/create.h"
#include "isochron/ops/indexing.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {
namespace {

constexpr std::string_view kModes[] = {"constant", "reflect", "symmetric", "replicate", "edge", "circular", "wrap"};

// Which of n elements stands at this place, which may be outside.
int64_t source_of(int64_t place, int64_t n, std::string_view mode) {
  const auto phase = [&](int64_t period) { return (place % period + period) % period; };
  if (mode == "replicate" || mode == "edge") return std::clamp<int64_t>(place, 0, n - 1);
  if (mode == "circular" || mode == "wrap") return phase(n);
  if (mode == "symmetric") return std::min(phase(2 * n), 2 * n - 1 - phase(2 * n));
  return n == 1 ? 0 : std::min(phase(2 * n - 2), 2 * n - 2 - phase(2 * n - 2));
}

}  // namespace

Tensor pad(const Operand& x, const std::vector<std::pair<int64_t, int64_t>>& widths, const PadOptions& options) {
  if (std::find(std::begin(kModes), std::end(kModes), options.mode) == std::end(kModes))
    fail<ValueError>("pad", "unknown mode \"{}\"{}", options.mode,
                     did_you_mean(options.mode, {std::begin(kModes), std::end(kModes)}));
  if (options.mode == "constant") return pad(x, widths, options.value);
  (void)pad(x, widths);  // refuses widths that make no sense
  Tensor t = x.tensor();
  for (int axis = 0; axis < t.rank(); ++axis) {
    const auto& [before, after] = widths[static_cast<size_t>(axis)];
    const int64_t n = t.shape()[axis];
    if (before == 0 && after == 0) continue;
    if (n == 0) fail<ShapeError>("pad", "axis {} of {} has no elements to repeat", axis, t.shape());
    std::vector<int64_t> sources;
    for (int64_t place = -before; place < n + after; ++place) sources.push_back(source_of(place, n, options.mode));
    t = gather(Operand(t, x.where()), tensor(sources), axis);
  }
  return t;
}

}  // namespace isochron
