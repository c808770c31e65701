// Orders along one axis. All are stable (equal elements keep their order), and NaN comes last.
//
//   sort(x);  argsort(x, 0, /*descending=*/true);
//   auto [values, indices] = top_k(logits, 5);
#pragma once

#include "isochron/ops/operand.h"

namespace isochron {

Tensor sort(const Operand& x, int64_t axis = -1, bool descending = false);
// Positions (int64) of the elements in sorted order.
Tensor argsort(const Operand& x, int64_t axis = -1, bool descending = false);

// The k largest elements along the last axis, largest first, and where they stand (int64).
struct TopK {
  Tensor values, indices;
};
TopK top_k(const Operand& x, int64_t k);

}  // namespace isochron
