// Indices that are known before anything runs, so that a layer can name what is wrong with them. In a plan they are
// not: there the kernel that uses them finds it.
#pragma once

#include <optional>

#include "isochron/tensor/tensor.h"

namespace isochron {

// False for variables, too, which may hold something else by the time a plan runs.
inline bool values_known(const Tensor& x) { return !x.pending() && x.value().node->variable == 0; }

struct IndexOutside {
  int64_t value;
  int64_t row;  // of the batch
};

// The first element that is not in [0, extent), if the values are there and there is one.
std::optional<IndexOutside> first_outside(const Tensor& indices, int64_t extent);

}  // namespace isochron
