#include "isochron/base/orthonormal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "isochron/base/rng.h"
#include "isochron/kernels/isa.h"

namespace isochron {
namespace {

std::vector<double> random_rows(int64_t count, int64_t length) {
  std::vector<double> rows(static_cast<size_t>(count * length));
  fill_normal(rows.data(), {7, 1}, 0, count * length, 0.0, 1.0);
  return rows;
}

// The first row keeps its direction, the next the part of its own that is at right angles to it, and so on.
TEST(Orthonormal, IsGramSchmidtWrittenPlainly) {
  for (const auto& [count, length] : {std::pair{1, 1}, {3, 3}, {8, 9}, {13, 30}, {33, 67}}) {
    SCOPED_TRACE(testing::Message() << count << " x " << length);
    std::vector<double> rows = random_rows(count, length);
    std::vector<std::vector<long double>> expected;
    for (int64_t i = 0; i < count; ++i) {
      std::vector<long double> row(rows.begin() + i * length, rows.begin() + (i + 1) * length);
      const auto dot = [&](const std::vector<long double>& other) {
        long double sum = 0;
        for (size_t k = 0; k < row.size(); ++k) sum += row[k] * other[k];
        return sum;
      };
      for (const auto& before : expected) {
        const long double part = dot(before);
        for (size_t k = 0; k < row.size(); ++k) row[k] -= part * before[k];
      }
      const long double norm = std::sqrt(dot(row));
      for (long double& value : row) value /= norm;
      expected.push_back(row);
    }
    make_orthonormal(rows.data(), count, length);
    for (int64_t i = 0; i < count; ++i)
      for (int64_t k = 0; k < length; ++k)
        ASSERT_NEAR(rows[static_cast<size_t>(i * length + k)],
                    static_cast<double>(expected[static_cast<size_t>(i)][static_cast<size_t>(k)]), 1e-12);
  }
}

TEST(Orthonormal, TheSameBitsOnEveryInstructionSet) {
  for (const auto& [count, length] : {std::pair{11, 11}, {21, 38}, {64, 65}}) {
    std::vector<double> expected;
    kernels::for_each_isa([&, count = count, length = length](std::string_view isa) {
      std::vector<double> rows = random_rows(count, length);
      make_orthonormal(rows.data(), count, length);
      if (expected.empty()) expected = rows;
      EXPECT_EQ(rows, expected) << isa;
    });
  }
}

}  // namespace
}  // namespace isochron
