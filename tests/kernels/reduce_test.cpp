// Reductions against sums in long double, over every axis, dtype, split and instruction set.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "isochron/kernels/isa.h"
#include "isochron/kernels/reduce/arg_reduce.h"
#include "isochron/kernels/reduce/reduce.h"

namespace isochron::kernels {
namespace {

// Runs the threads one after the other, then what thread 0 does after they met.
void run_all(const ReduceKernel& kernel, std::vector<const void*> inputs, std::vector<void*> outputs, int threads) {
  std::vector<char> memory(kernel.scratch_bytes(threads) + 64);
  char* scratch = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
  for (int t = threads - 1; t >= 0; --t) kernel.run(inputs.data(), outputs.data(), scratch, t, threads);
  if (kernel.needs_finish(threads)) kernel.finish(outputs.data(), scratch, threads);
}

template <class Out, class In>
std::vector<Out> reduce(ReduceOp op, const std::vector<In>& x, const ReduceShape& shape, int threads = 1) {
  const ReduceKernel kernel(reduction_input(dtype_of<In>(), dtype_of<Out>(), shape), op, 1, 2);
  std::vector<Out> y(shape.outer * shape.inner);
  run_all(kernel, {x.data()}, {y.data()}, threads);
  return y;
}

template <class T>
std::vector<T> values(int64_t n) {
  std::vector<T> x(n);
  for (int64_t i = 0; i < n; ++i) x[i] = static_cast<T>((i * 7919 % 10007 - 5000) * (std::is_integral_v<T> ? 1 : 1e-3));
  return x;
}

const std::vector<ReduceShape>& shapes() {
  static const std::vector<ReduceShape> all = {
      {1, 1, 1},    {1, 5, 1},    {7, 3, 1},     {33, 10, 1},   {4, 1000, 1},  {1, 100003, 1}, {3, 20000, 1},
      {300, 40, 1}, {9, 2048, 1}, {1, 32, 128},  {1, 32, 10},   {1, 4000, 10}, {1, 300, 513},  {1, 9, 5000},
      {5, 6, 7},    {40, 30, 20}, {3, 2, 40000}, {2, 5000, 33}, {1, 1, 100},   {100, 1, 1},
  };
  return all;
}

template <class T, class Exact>
void expect_reduction(ReduceOp op, Exact exact, double tolerance) {
  for (const ReduceShape& shape : shapes()) {
    const auto x = values<T>(shape.size());
    for (int threads : {1, 2, 5}) {
      const auto y = reduce<T>(op, x, shape, threads);
      for (int64_t o = 0; o < shape.outer; ++o)
        for (int64_t i = 0; i < shape.inner; ++i) {
          std::vector<T> column;
          for (int64_t k = 0; k < shape.count; ++k) column.push_back(x[(o * shape.count + k) * shape.inner + i]);
          const double wanted = static_cast<double>(exact(column));
          double magnitude = 0;  // what cancels in a sum still leaves its rounding
          for (T v : column) magnitude += std::abs(static_cast<double>(v));
          if (op == ReduceOp::mean) magnitude /= static_cast<double>(shape.count);
          ASSERT_NEAR(static_cast<double>(y[o * shape.inner + i]), wanted,
                      tolerance * std::max(magnitude, std::abs(wanted)))
              << shape.outer << ',' << shape.count << ',' << shape.inner << " on " << threads << " at " << o << ','
              << i;
        }
    }
  }
}

template <class T>
long double sum_of(const std::vector<T>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0L);
}

TEST(Reduce, SumsOverEveryAxis) {
  for_each_isa([](std::string_view isa) {
    SCOPED_TRACE(isa);
    expect_reduction<float>(ReduceOp::sum, sum_of<float>, 1e-7);
    expect_reduction<double>(ReduceOp::sum, sum_of<double>, 1e-15);
    expect_reduction<int32_t>(ReduceOp::sum, sum_of<int32_t>, 0);
    expect_reduction<int64_t>(ReduceOp::sum, sum_of<int64_t>, 0);
    const auto mean = [](const std::vector<float>& x) { return sum_of(x) / x.size(); };
    expect_reduction<float>(ReduceOp::mean, mean, 1e-7);
    const auto squares = [](const std::vector<float>& x) {
      return std::accumulate(x.begin(), x.end(), 0.0L, [](long double s, float v) { return s + v * v; });
    };
    expect_reduction<float>(ReduceOp::sum_squares, squares, 5e-7);
  });
}

TEST(Reduce, ExtremesOverEveryAxis) {
  for_each_isa([](std::string_view isa) {
    SCOPED_TRACE(isa);
    const auto most = [](const auto& x) { return *std::max_element(x.begin(), x.end()); };
    const auto least = [](const auto& x) { return *std::min_element(x.begin(), x.end()); };
    expect_reduction<float>(ReduceOp::max, most, 0);
    expect_reduction<double>(ReduceOp::min, least, 0);
    expect_reduction<int32_t>(ReduceOp::max, most, 0);
    expect_reduction<int64_t>(ReduceOp::min, least, 0);
  });
}

// A plain float32 sum of ten million 0.1 is off by 8 %.
TEST(Reduce, LongSumsKeepTheirDigits) {
  const int64_t n = 10000000;
  const std::vector<float> x(n, 0.1f);
  const double exact = n * static_cast<double>(0.1f);
  EXPECT_NEAR(reduce<float>(ReduceOp::sum, x, {1, n, 1})[0], exact, exact * 1e-6);
  for (float column : reduce<float>(ReduceOp::sum, x, {1, n / 10, 10})) EXPECT_NEAR(column, exact / 10, exact * 1e-7);
  for (float column : reduce<float>(ReduceOp::sum, x, {1, n / 1000, 1000}))
    EXPECT_NEAR(column, exact / 1000, exact * 1e-9);
}

TEST(Reduce, ThreadCountDecidesTheBitsAndNothingElse) {
  const auto x = values<float>(100003);
  for (int threads : {1, 2, 3}) {
    const auto first = reduce<float>(ReduceOp::sum, x, {1, 100003, 1}, threads);
    EXPECT_EQ(first, reduce<float>(ReduceOp::sum, x, {1, 100003, 1}, threads));
  }
}

TEST(Reduce, NaNWinsExtremesAndSums) {
  for_each_isa([](std::string_view isa) {
    SCOPED_TRACE(isa);
    for (int64_t n : {3, 20, 700})
      for (int64_t at : {int64_t{0}, n / 2, n - 1}) {
        std::vector<float> x(n, 1.0f);
        x[at] = NAN;
        for (ReduceOp op : {ReduceOp::max, ReduceOp::min, ReduceOp::sum, ReduceOp::prod}) {
          EXPECT_TRUE(std::isnan(reduce<float>(op, x, {1, n, 1})[0])) << n << ' ' << at;
        }
        std::vector<float> wide(n * 3, 1.0f);
        wide[at * 3 + 1] = NAN;
        for (ReduceOp op : {ReduceOp::max, ReduceOp::min}) {
          const auto columns = reduce<float>(op, wide, {1, n, 3});
          EXPECT_EQ(columns[0], 1);
          EXPECT_TRUE(std::isnan(columns[1]));
          EXPECT_EQ(columns[2], 1);
        }
      }
  });
}

TEST(Reduce, ProductsAnyAndAll) {
  for_each_isa([](std::string_view isa) {
    SCOPED_TRACE(isa);
    EXPECT_EQ(reduce<float>(ReduceOp::prod, std::vector<float>{2, 3, 4, 5, -1, 0.5f}, {2, 3, 1}),
              (std::vector<float>{24, -2.5f}));
    EXPECT_EQ(reduce<int64_t>(ReduceOp::prod, std::vector<int64_t>{2, 3, 4, 5, -1, 7}, {1, 3, 2}),
              (std::vector<int64_t>{-8, 105}));
    const std::vector<uint8_t> bytes = {0, 0, 0, 0, 3, 0, 1, 2, 255};
    EXPECT_EQ(reduce<uint8_t>(ReduceOp::any, bytes, {3, 3, 1}), (std::vector<uint8_t>{0, 1, 1}));
    EXPECT_EQ(reduce<uint8_t>(ReduceOp::all, bytes, {3, 3, 1}), (std::vector<uint8_t>{0, 0, 1}));
    EXPECT_EQ(reduce<int64_t>(ReduceOp::sum, bytes, {1, 9, 1}), (std::vector<int64_t>{261}));
    EXPECT_EQ(reduce<float>(ReduceOp::any, std::vector<float>{0, -0.0f, 0, 0.5f}, {2, 2, 1}),
              (std::vector<float>{0, 1}));
  });
}

TEST(Reduce, NothingReducesToTheNeutralElement) {
  const std::vector<float> none;
  EXPECT_EQ(reduce<float>(ReduceOp::sum, none, {2, 0, 2}, 2), (std::vector<float>(4, 0)));
  EXPECT_EQ(reduce<float>(ReduceOp::prod, none, {1, 0, 1}), (std::vector<float>{1}));
  EXPECT_EQ(reduce<float>(ReduceOp::any, none, {1, 0, 1}), (std::vector<float>{0}));
  EXPECT_EQ(reduce<float>(ReduceOp::all, none, {1, 0, 1}), (std::vector<float>{1}));
  EXPECT_TRUE(std::isnan(reduce<float>(ReduceOp::mean, none, {1, 0, 1})[0]));
  EXPECT_TRUE(reduce<float>(ReduceOp::sum, none, {0, 3, 1}).empty());
}

TEST(Reduce, HalfPrecisionInputsAreSummedInFloat) {
  std::vector<bfloat16> x(3000, bfloat16(0.5f));
  EXPECT_EQ(reduce<float>(ReduceOp::sum, x, {1, 3000, 1}), (std::vector<float>{1500}));
}

// mean(square(a - b)) with b broadcast over the rows.
TEST(Reduce, MeanSquaredErrorInOnePass) {
  for_each_isa([](std::string_view isa) {
    for (int64_t cols : {1, 10, 700}) {
      SCOPED_TRACE(fmt::format("{} {}", isa, cols));
      const int64_t rows = 57;
      TileProgram p;
      p.rank = 2;
      p.dims = {rows, cols};
      p.inputs = {{DType::float32, {cols, 1}}, {DType::float32, {0, 1}}};
      p.outputs = {{DType::float32, {}}};
      p.code = {{TileOp::sub, 2, 0, 1}, {TileOp::square, 2, 2}};
      p.registers = 3;
      p.output_registers = {2};
      const auto a = values<float>(rows * cols), b = values<float>(cols);
      double exact = 0;
      for (int64_t i = 0; i < rows * cols; ++i) exact += std::pow(double(a[i]) - b[i % cols], 2) / double(rows * cols);
      for (int threads : {1, 3}) {
        float mean;
        run_all(ReduceKernel(p, ReduceOp::mean, 0, 2), {a.data(), b.data()}, {&mean}, threads);
        EXPECT_NEAR(mean, exact, 1e-6 * exact);
      }
    }
  });
}

// dz = where(mask, g, 0) stored, its column sums reduced, in one pass; dz replaces g.
TEST(Reduce, MaskedGradientAndBiasGradientInOnePass) {
  for (int64_t cols : {10, 128, 600}) {
    const int64_t rows = 211;
    TileProgram p;
    p.rank = 2;
    p.dims = {rows, cols};
    p.inputs = {{DType::float32, {cols, 1}}, {DType::boolean, {cols, 1}}};
    p.outputs = {{DType::float32, {}}, {DType::float32, {}}};
    p.code = {{TileOp::constant, 2, 0, 0, 0, 0.0}, {TileOp::select, 3, 1, 0, 2}};
    p.registers = 4;
    p.output_registers = {3, 3};
    const auto g = values<float>(rows * cols);
    std::vector<uint8_t> mask(rows * cols);
    for (int64_t i = 0; i < rows * cols; ++i) mask[i] = i % 3 == 0;
    for (int threads : {1, 2, 4}) {
      auto dz = g;
      std::vector<float> db(cols);
      run_all(ReduceKernel(p, ReduceOp::sum, 0, 1), {dz.data(), mask.data()}, {dz.data(), db.data()}, threads);
      std::vector<double> exact(cols);
      for (int64_t i = 0; i < rows * cols; ++i) {
        ASSERT_EQ(dz[i], mask[i] ? g[i] : 0) << i;
        if (mask[i]) exact[i % cols] += g[i];
      }
      for (int64_t c = 0; c < cols; ++c) ASSERT_NEAR(db[c], exact[c], 1e-4) << cols << ' ' << c;
    }
  }
}

// Dimensions that cannot be merged, inside and outside the reduced block.
TEST(Reduce, BroadcastInsideTheReducedBlock) {
  const int64_t a = 6, b = 5, c = 40, d = 8, e = 3;
  TileProgram p;
  p.rank = 5;
  p.dims = {a, b, c, d, e};
  p.inputs = {{DType::float32, {b * c * d * e, c * d * e, d * e, e, 1}}, {DType::float32, {1, 0, a, 0, a * c}}};
  p.outputs = {{DType::float32, {}}};
  p.code = {{TileOp::mul, 2, 0, 1}};
  p.registers = 3;
  p.output_registers = {2};
  const auto x = values<float>(a * b * c * d * e), y = values<float>(a * c * e);
  for (auto [begin, end] : {std::pair{0, 1}, {0, 3}, {1, 3}, {2, 5}, {3, 4}, {4, 5}, {0, 5}, {1, 2}}) {
    int64_t outer = 1, count = 1, inner = 1;
    for (int i = 0; i < 5; ++i) (i < begin ? outer : i < end ? count : inner) *= p.dims[i];
    std::vector<double> exact(outer * inner);
    for (int64_t i = 0; i < static_cast<int64_t>(x.size()); ++i) {
      const int64_t ie = i % e, ic = i / (d * e) % c, ia = i / (b * c * d * e);
      exact[i / (count * inner) * inner + i % inner] += double(x[i]) * y[ia + ic * a + ie * a * c];
    }
    for (int threads : {1, 2, 3, 16}) {
      std::vector<float> result(outer * inner, NAN);
      run_all(ReduceKernel(p, ReduceOp::sum, begin, end), {x.data(), y.data()}, {result.data()}, threads);
      for (int64_t i = 0; i < outer * inner; ++i)
        ASSERT_NEAR(result[i], exact[i], 2e-3 + 1e-5 * std::abs(exact[i])) << begin << ' ' << end << ' ' << threads;
    }
  }
}

template <class T>
std::vector<int64_t> positions(ArgReduceOp op, const std::vector<T>& x, const ReduceShape& shape) {
  std::vector<int64_t> wide(shape.outer * shape.inner);
  std::vector<int32_t> narrow(wide.size());
  for (int t = 0; t < 3; ++t) {
    arg_reduce(op, x.data(), dtype_of<T>(), shape, wide.data(), DType::int64, t, 3);
    arg_reduce(op, x.data(), dtype_of<T>(), shape, narrow.data(), DType::int32, t, 3);
  }
  EXPECT_EQ((std::vector<int64_t>{narrow.begin(), narrow.end()}), wide);
  return wide;
}

TEST(ArgReduce, FirstOfEqualsAndFirstNaNWin) {
  const std::vector<float> x = {1, 3, 3, 0, -2, -2, NAN, 5, NAN, 4, 4, 4};
  EXPECT_EQ(positions(ArgReduceOp::argmax, x, {4, 3, 1}), (std::vector<int64_t>{1, 0, 0, 0}));
  EXPECT_EQ(positions(ArgReduceOp::argmin, x, {4, 3, 1}), (std::vector<int64_t>{0, 1, 0, 0}));
  EXPECT_EQ(positions(ArgReduceOp::argmax, x, {1, 4, 3}), (std::vector<int64_t>{2, 2, 2}));
  EXPECT_EQ(positions(ArgReduceOp::argmin, x, {1, 4, 3}), (std::vector<int64_t>{2, 1, 2}));
  EXPECT_EQ(positions(ArgReduceOp::argmax, std::vector<int32_t>{-5, -3, -4, -3}, {1, 4, 1}), (std::vector<int64_t>{1}));
}

TEST(ArgReduce, ManyColumnsOverThreads) {
  const ReduceShape shape{3, 50, 700};
  const auto x = values<double>(shape.size());
  const auto found = positions(ArgReduceOp::argmax, x, shape);
  for (int64_t o = 0; o < shape.outer; ++o)
    for (int64_t i = 0; i < shape.inner; ++i) {
      int64_t best = 0;
      for (int64_t k = 1; k < shape.count; ++k)
        if (x[(o * 50 + k) * 700 + i] > x[(o * 50 + best) * 700 + i]) best = k;
      ASSERT_EQ(found[o * 700 + i], best);
    }
}

}  // namespace
}  // namespace isochron::kernels
