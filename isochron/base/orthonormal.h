// Random directions made orthonormal, for orthogonal weights.
#pragma once

#include <cstdint>

namespace isochron {

// Makes `count` rows of `length` numbers, at least as long as they are many, orthonormal by Gram-Schmidt. A second call
// removes the rounding errors of the first, which grow with the condition of the rows. The same bits on every
// instruction set.
void make_orthonormal(double* rows, int64_t count, int64_t length);

}  // namespace isochron
