// Arithmetic on counts that users give: what is too large to count stays at the largest count there is.
//
//   parts_of(10, 4);                    // 3: the last one is smaller
//   counted_product(10, INT64_MAX);     // INT64_MAX
//
// For counts of at least 0; a part has at least 1.
#pragma once

#include <cstdint>

namespace isochron {

constexpr int64_t parts_of(int64_t count, int64_t part) { return count / part + (count % part != 0); }

constexpr int64_t counted_sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}
constexpr int64_t counted_product(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

}  // namespace isochron
