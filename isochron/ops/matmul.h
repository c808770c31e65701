// Matrix products.
//
//   matmul(a, b);                          // (…, m, k) x (…, k, n) -> (…, m, n), batches broadcast
//   matmul(a, b, {.transpose_b = true});   // (…, m, k) x (…, n, k)
//   einsum("bij,bjk->bik", {a, b});
#pragma once

#include <string>
#include <vector>

#include "isochron/ops/operand.h"

namespace isochron {

struct MatmulOptions {
  bool transpose_a = false;
  bool transpose_b = false;
};
// Vectors are taken as in NumPy: a vector on the left is a row, on the right a column, and their axis is dropped.
Tensor matmul(const Operand& a, const Operand& b, MatmulOptions options = {});
// Sums of products by index letters, run as transposes, matrix products and sums.
Tensor einsum(const std::string& equation, const std::vector<Tensor>& operands);

}  // namespace isochron
