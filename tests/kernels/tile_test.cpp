// Structure of tile programs: broadcasting, several outputs, working in place, threads, printing.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "isochron/kernels/isa.h"
#include "isochron/kernels/tile/tile_kernel.h"

namespace isochron::kernels {
namespace {

constexpr DType f32 = DType::float32;

// Runs all threads one after the other; they are independent, so this equals running them together.
void run_all(const TileProgram& program, std::vector<const void*> inputs, std::vector<void*> outputs, int threads) {
  const TileKernel kernel(program);
  const size_t bytes = kernel.scratch_bytes(threads);
  std::vector<char> scratch(bytes + 64);
  char* aligned = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) % 64;
  for (int t = threads - 1; t >= 0; --t) kernel.run(inputs.data(), outputs.data(), aligned, t, threads);
}

std::vector<float> ramp(int64_t n, float scale = 0.25f) {
  std::vector<float> v(n);
  for (int64_t i = 0; i < n; ++i) v[i] = scale * static_cast<float>(i % 97 - 48);
  return v;
}

TileProgram unary(TileOp op, int64_t n) {
  TileProgram p;
  p.rank = 1;
  p.dims = {n};
  p.inputs = {{f32, {1}}};
  p.outputs = {{f32, {1}}};
  p.code = {{op, 1, 0}};
  p.registers = 2;
  p.output_registers = {1};
  return p;
}

TEST(Tile, BiasAndReluOverRowsOfEveryWidth) {
  for_each_isa([](std::string_view isa) {
    for (int64_t cols : {1, 3, 10, 128, 500, 513, 2000}) {
      for (int64_t rows : {1, 2, 7, 33}) {
        SCOPED_TRACE(fmt::format("{} {}x{}", isa, rows, cols));
        TileProgram p;
        p.rank = 2;
        p.dims = {rows, cols};
        p.inputs = {{f32, {cols, 1}}, {f32, {0, 1}}};
        p.outputs = {{f32, {cols, 1}}};
        p.code = {{TileOp::add, 2, 0, 1}, {TileOp::relu, 2, 2}};
        p.registers = 3;
        p.output_registers = {2};
        const auto x = ramp(rows * cols), bias = ramp(cols, -0.5f);
        std::vector<float> y(rows * cols + 1, -7.0f);
        run_all(p, {x.data(), bias.data()}, {y.data()}, 3);
        for (int64_t i = 0; i < rows * cols; ++i) ASSERT_EQ(y[i], std::max(0.0f, x[i] + bias[i % cols])) << i;
        EXPECT_EQ(y.back(), -7.0f);
      }
    }
  });
}

// Four operands of a (5, 6, 7) space: dense, over the middle, over the columns reversed by a negative stride, a scalar.
TEST(Tile, BroadcastsOverAnyDimension) {
  for (int64_t scale : {1, 20}) {
    const int64_t a = 5, b = 6 * scale, c = 7 * scale;
    TileProgram p;
    p.rank = 3;
    p.dims = {a, b, c};
    p.inputs = {{f32, {b * c, c, 1}}, {f32, {1, 0, 0}}, {f32, {0, c, -1}}, {f32, {0, 0, 0}}};
    p.outputs = {{f32, {}}};
    p.code = {{TileOp::mul, 4, 0, 1}, {TileOp::sub, 4, 4, 2}, {TileOp::mul, 4, 4, 3}};
    p.registers = 5;
    p.output_registers = {4};
    const auto x = ramp(a * b * c), per_plane = ramp(a), matrix = ramp(b * c);
    const float factor = 3;
    std::vector<float> y(a * b * c);
    run_all(p, {x.data(), per_plane.data(), matrix.data() + c - 1, &factor}, {y.data()}, 2);
    for (int64_t i = 0; i < a; ++i)
      for (int64_t j = 0; j < b; ++j)
        for (int64_t k = 0; k < c; ++k) {
          const int64_t at = (i * b + j) * c + k;
          ASSERT_EQ(y[at], (x[at] * per_plane[i] - matrix[j * c + c - 1 - k]) * 3) << i << ' ' << j << ' ' << k;
        }
  }
}

TEST(Tile, ThreadsGiveTheSameBits) {
  for (int64_t n : {1, 31, 1024, 1025, 5000, 100003}) {
    const auto x = ramp(n);
    std::vector<float> one(n), three(n);
    run_all(unary(TileOp::tanh, n), {x.data()}, {one.data()}, 1);
    run_all(unary(TileOp::tanh, n), {x.data()}, {three.data()}, 3);
    EXPECT_EQ(std::memcmp(one.data(), three.data(), n * sizeof(float)), 0) << n;
  }
}

TEST(Tile, EmptySpaceWritesNothing) {
  float y = 5;
  run_all(unary(TileOp::exp, 0), {&y}, {&y}, 2);
  EXPECT_EQ(y, 5);
}

TEST(Tile, ScalarSpaceOfRankZero) {
  TileProgram p = unary(TileOp::square, 1);
  p.rank = 0;
  const float x = 3;
  float y = 0;
  run_all(p, {&x}, {&y}, 2);
  EXPECT_EQ(y, 9);
}

// out0 = x + 1 is ready before x is read for the last time, and overwrites x.
TEST(Tile, OutputMayReplaceAnInputThatIsStillNeeded) {
  const int64_t n = 3000;
  TileProgram p = unary(TileOp::neg, n);
  p.outputs = {{f32, {1}}, {f32, {1}}};
  p.code = {{TileOp::constant, 1, 0, 0, 0, 1.0}, {TileOp::add, 2, 0, 1}, {TileOp::mul, 3, 0, 0}};
  p.registers = 4;
  p.output_registers = {2, 3};
  auto x = ramp(n);
  const auto original = x;
  std::vector<float> squares(n);
  run_all(p, {x.data()}, {x.data(), squares.data()}, 2);
  for (int64_t i = 0; i < n; ++i) {
    ASSERT_EQ(x[i], original[i] + 1);
    ASSERT_EQ(squares[i], original[i] * original[i]);
  }
}

// The same value stored twice in different types, an input stored unchanged, and a constant.
TEST(Tile, SeveralOutputs) {
  const int64_t n = 1500;
  TileProgram p = unary(TileOp::neg, n);
  p.outputs = {{f32, {1}}, {DType::float64, {1}}, {f32, {1}}, {f32, {1}}, {DType::int32, {1}}};
  p.code = {{TileOp::neg, 1, 0}, {TileOp::constant, 2, 0, 0, 0, 2.5}};
  p.registers = 3;
  p.output_registers = {1, 1, 1, 0, 2};
  const auto x = ramp(n);
  std::vector<float> a(n), c(n), d(n);
  std::vector<double> b(n);
  std::vector<int32_t> e(n);
  run_all(p, {x.data()}, {a.data(), b.data(), c.data(), d.data(), e.data()}, 2);
  for (int64_t i = 0; i < n; ++i) {
    ASSERT_EQ(a[i], -x[i]);
    ASSERT_EQ(b[i], -x[i]);
    ASSERT_EQ(c[i], -x[i]);
    ASSERT_EQ(d[i], x[i]);
    ASSERT_EQ(e[i], 2);
  }
}

// Twelve values alive at once, then summed up: registers must not be given away too early.
TEST(Tile, ManyLiveValues) {
  const int64_t n = 700;
  TileProgram p = unary(TileOp::neg, n);
  p.code.clear();
  for (uint8_t i = 1; i <= 12; ++i) {
    p.code.push_back({TileOp::constant, 20, 0, 0, 0, double(i)});
    p.code.push_back({TileOp::mul, i, 0, 20});
  }
  for (uint8_t i = 2; i <= 12; ++i) p.code.push_back({TileOp::add, 1, 1, i});
  p.registers = 21;
  p.output_registers = {1};
  const auto x = ramp(n);
  std::vector<float> y(n);
  run_all(p, {x.data()}, {y.data()}, 1);
  for (int64_t i = 0; i < n; ++i) ASSERT_EQ(y[i], 78 * x[i]);
}

// x * y + x, relu(x + y), (x - y)^2, and the same with the first half used once more, which must then stay apart.
TEST(Tile, JoinedPairsGiveWhatTheyReplace) {
  const int64_t n = 777;
  const auto x = ramp(n), y = ramp(n + 5, 0.5f);
  const auto first = [](TileOp op, float a, float b) {
    return op == TileOp::mul ? a * b : op == TileOp::add ? a + b : a - b;
  };
  for (auto [before, after] :
       {std::pair{TileOp::mul, TileOp::add}, {TileOp::add, TileOp::relu}, {TileOp::sub, TileOp::square}})
    for (bool keep : {false, true})
      for (bool swapped : {false, true}) {
        TileProgram p = unary(TileOp::neg, n);
        p.inputs = {{f32, {1}}, {f32, {1}}};
        p.outputs = {{f32, {}}, {f32, {}}};
        p.code = {{before, 2, 0, 1}, {after, 3, 2, 0}};
        if (swapped && after == TileOp::add) p.code[1] = {after, 3, 0, 2};
        p.registers = 4;
        p.output_registers = {3, static_cast<uint8_t>(keep ? 2 : 3)};
        std::vector<float> result(n), second(n);
        run_all(p, {x.data(), y.data() + 5}, {result.data(), second.data()}, 1);
        for (int64_t i = 0; i < n; ++i) {
          const float half = first(before, x[i], y[i + 5]);
          const float wanted = after == TileOp::add    ? half + x[i]
                               : after == TileOp::relu ? std::max(0.0f, half)
                                                       : half * half;
          ASSERT_FLOAT_EQ(result[i], wanted);
          ASSERT_FLOAT_EQ(second[i], keep ? half : wanted);
        }
      }
}

TEST(Tile, PrintsOneLinePerStep) {
  TileProgram p = unary(TileOp::clip, 4);
  p.code[0].imm0 = -1;
  p.code[0].imm1 = 0.5;
  EXPECT_EQ(to_string(p),
            "tile float32 (4)\n"
            "r0 = load float32 (1)\n"
            "r1 = clip r0 -1 0.5\n"
            "store float32 r1\n");
}

TEST(Tile, RefusesWhatMakesNoSense) {
  TileProgram undefined = unary(TileOp::add, 4);
  undefined.code[0].b = 1;
  EXPECT_THROW(TileKernel{undefined}, InternalError);
  TileProgram integers = unary(TileOp::sin, 4);
  integers.compute = DType::int32;
  EXPECT_THROW(TileKernel{integers}, DTypeError);
}

}  // namespace
}  // namespace isochron::kernels
