// Ops on tensors large enough to be shared among threads and cut into blocks, against the plainest loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "isochron/base/threads.h"
#include "isochron/ops/ops.h"

namespace isochron {
namespace {

// Runs `check` with one thread and with several.
template <class F>
void with_threads(F&& check) {
  const int before = get_num_threads();
  for (int threads : {1, 3}) {
    set_num_threads(threads);
    SCOPED_TRACE(threads);
    check();
  }
  set_num_threads(before);
}

// Whole numbers that every dtype but bool can hold, so results are exact.
Tensor numbers(const Shape& shape, DType dtype, uint64_t seed = 1) {
  return cast(random_integers(shape, 0, 100, seed), dtype).eval();
}

std::vector<int64_t> position(int64_t flat, const Shape& shape) {
  std::vector<int64_t> at(static_cast<size_t>(shape.rank()));
  for (int i = shape.rank() - 1; i >= 0; --i) {
    at[static_cast<size_t>(i)] = flat % shape[i];
    flat /= shape[i];
  }
  return at;
}

TEST(Large, TransposesOfAllElementSizes) {
  struct Case {
    Shape shape;
    std::vector<int64_t> order;
  };
  const std::vector<Case> cases = {{{333, 70}, {1, 0}},
                                   {{3, 129, 65}, {0, 2, 1}},
                                   {{17, 5, 33}, {2, 1, 0}},
                                   {{6, 40, 4, 33}, {0, 2, 1, 3}},
                                   {{6, 40, 4, 33}, {2, 3, 0, 1}},
                                   {{1, 500, 1, 64}, {3, 2, 1, 0}}};
  with_threads([&] {
    for (const Case& one : cases)
      for (DType dtype : {DType::uint8, DType::bfloat16, DType::float32, DType::float64}) {
        const Tensor x = numbers(one.shape, dtype);
        const Tensor y = transpose(x, one.order);
        const std::vector<double> from = x.to_vector<double>(), to = y.to_vector<double>();
        for (int64_t flat = 0; flat < y.elements(); ++flat) {
          const std::vector<int64_t> at = position(flat, y.shape());
          std::vector<int64_t> source(at.size());
          for (size_t i = 0; i < at.size(); ++i) source[static_cast<size_t>(one.order[i])] = at[i];
          int64_t offset = 0;
          for (size_t i = 0; i < source.size(); ++i) offset = offset * one.shape[static_cast<int>(i)] + source[i];
          ASSERT_EQ(to[static_cast<size_t>(flat)], from[static_cast<size_t>(offset)])
              << y.shape().elements() << " at " << flat;
        }
      }
  });
}

TEST(Large, SortsEveryDTypeAndKeepsTiesInOrder) {
  with_threads([] {
    for (int d = 0; d < kDTypeCount; ++d)
      for (bool descending : {false, true}) {
        const Tensor whole = numbers({30, 700}, static_cast<DType>(d));
        const Tensor x = is_floating(whole.dtype()) ? whole - 50 : whole;
        const std::vector<double> in = x.to_vector<double>();
        const std::vector<int64_t> order = argsort(x, -1, descending).to_vector<int64_t>();
        const std::vector<double> values = sort(x, -1, descending).to_vector<double>();
        const std::vector<int64_t> top = top_k(x, 9).indices.to_vector<int64_t>();
        for (int64_t r = 0; r < 30; ++r) {
          std::vector<int64_t> expected(700);
          std::iota(expected.begin(), expected.end(), 0);
          const auto value = [&](int64_t i) { return in[static_cast<size_t>(r * 700 + i)]; };
          std::stable_sort(expected.begin(), expected.end(), [&](int64_t i, int64_t j) {
            return descending ? value(j) < value(i) : value(i) < value(j);
          });
          for (size_t i = 0; i < expected.size(); ++i) {
            ASSERT_EQ(order[static_cast<size_t>(r) * 700 + i], expected[i]) << name_of(static_cast<DType>(d));
            ASSERT_EQ(values[static_cast<size_t>(r) * 700 + i], value(expected[i]));
            if (descending && i < 9) {
              ASSERT_EQ(top[static_cast<size_t>(r) * 9 + i], expected[i]);
            }
          }
        }
      }
  });
}

TEST(Large, GatherAndScatterAddAreEachOthersCounterpart) {
  with_threads([] {
    for (DType dtype : {DType::float32, DType::float64, DType::int32, DType::int64}) {
      const Tensor table = numbers({50, 300}, dtype), rows = random_integers({4, 60}, 0, 50, 3).eval();
      const std::vector<double> t = table.to_vector<double>();
      const std::vector<int64_t> at = rows.to_vector<int64_t>();
      const Tensor picked = gather(table, rows);
      const std::vector<double> p = picked.to_vector<double>();
      const std::vector<double> back = scatter_add(table, rows, picked).to_vector<double>();
      std::vector<double> expected = t;
      for (size_t i = 0; i < at.size(); ++i)
        for (size_t j = 0; j < 300; ++j) {
          ASSERT_EQ(p[i * 300 + j], t[static_cast<size_t>(at[i]) * 300 + j]);
          expected[static_cast<size_t>(at[i]) * 300 + j] += p[i * 300 + j];
        }
      EXPECT_EQ(back, expected);
    }
  });
}

TEST(Large, FewLongRowsArePickedAndMultipliedByPartsOfTheirLength) {
  with_threads([] {
    for (const int64_t rows : {1, 2, 9}) {
      const Tensor x = numbers({20, 785}, DType::float32), w = numbers({785, 300}, DType::float32, 2);
      const Tensor picks = random_integers({rows}, 0, 20, 3).eval();
      const Tensor product = relu(matmul(gather(x, picks), w) + 1 - 2'000'000.0f).eval();
      const std::vector<double> from = x.to_vector<double>(), weights = w.to_vector<double>();
      const std::vector<int64_t> index = picks.to_vector<int64_t>();
      const std::vector<double> got = product.to_vector<double>();
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t j = 0; j < 300; ++j) {
          double sum = 0;
          for (int64_t k = 0; k < 785; ++k)
            sum += from[static_cast<size_t>(index[static_cast<size_t>(r)] * 785 + k)] *
                   weights[static_cast<size_t>(k * 300 + j)];
          ASSERT_EQ(got[static_cast<size_t>(r * 300 + j)], std::max(sum + 1 - 2'000'000, 0.0)) << r << ", " << j;
        }
    }
    EXPECT_THROW(gather(zeros({20, 4000}), tensor({3, 20})).eval(), IndexError);
  });
}

TEST(Large, SumsOverAnyAxesOfAnyDType) {
  const Shape shape{5, 40, 3, 30};
  with_threads([&] {
    for (DType dtype : {DType::float32, DType::float64, DType::int32, DType::int64})
      for (const Axes& axes : std::vector<Axes>{{0}, {1}, {3}, {0, 2}, {1, 3}, {0, 1, 3}, {2, 3}, {0, 1, 2, 3}}) {
        const Tensor x = numbers(shape, dtype);
        const Tensor y = sum(x, axes, true);
        const std::vector<double> in = x.to_vector<double>();
        std::vector<double> expected(static_cast<size_t>(y.elements()), 0);
        for (int64_t flat = 0; flat < shape.elements(); ++flat) {
          const std::vector<int64_t> at = position(flat, shape);
          int64_t offset = 0;
          for (int i = 0; i < shape.rank(); ++i)
            offset = offset * y.shape()[i] + (y.shape()[i] == 1 ? 0 : at[static_cast<size_t>(i)]);
          expected[static_cast<size_t>(offset)] += in[static_cast<size_t>(flat)];
        }
        ASSERT_EQ(y.to_vector<double>(), expected) << y.shape().elements();
      }
  });
}

}  // namespace
}  // namespace isochron
