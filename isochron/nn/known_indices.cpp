#include "isochron/nn/known_indices.h"

#include <algorithm>

namespace isochron {

std::optional<IndexOutside> first_outside(const Tensor& indices, int64_t extent) {
  if (!values_known(indices)) return {};
  const std::vector<int64_t> values = indices.to_vector<int64_t>();
  const auto found = std::find_if(values.begin(), values.end(), [&](int64_t i) { return i < 0 || i >= extent; });
  if (found == values.end()) return {};
  const auto count = static_cast<int64_t>(values.size()), rows = indices.rank() > 0 ? indices.shape()[0] : 1;
  return IndexOutside{*found, (found - values.begin()) / (count / rows)};
}

}  // namespace isochron
