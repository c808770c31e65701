// Values of every op against libm in long double, on every instruction set.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <vector>

#include "isochron/kernels/isa.h"
#include "isochron/kernels/tile/tile_kernel.h"

namespace isochron::kernels {
namespace {

using Real = long double;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <class T>
std::vector<T> apply(TileOp op, const std::vector<std::vector<T>>& operands, double imm0 = 0, double imm1 = 0) {
  const int64_t n = static_cast<int64_t>(operands[0].size());
  TileProgram p;
  p.compute = dtype_of<T>();
  p.rank = 1;
  p.dims = {n};
  std::vector<const void*> inputs;
  for (const auto& operand : operands) {
    p.inputs.push_back({p.compute, {1}});
    inputs.push_back(operand.data());
  }
  p.outputs = {{p.compute, {1}}};
  p.code = {{op, 3, 0, 1, 2, imm0, imm1}};
  p.registers = 4;
  p.output_registers = {3};
  std::vector<T> result(n);
  void* output = result.data();
  const TileKernel kernel(p);
  alignas(64) static char scratch[1 << 16];
  kernel.run(inputs.data(), &output, scratch, 0, 1);
  return result;
}

// All magnitudes of both signs from 1e-6 to `limit`, and the special values.
std::vector<float> arguments(float limit) {
  std::vector<float> x = {0.0f, -0.0f, kInf, -kInf, kNaN, 1.0f, -1.0f};
  for (double m = 1e-6; m < limit; m *= 1.0007)
    for (int s : {-1, 1}) x.push_back(static_cast<float>(s * m));
  return x;
}

struct Case {
  TileOp op;
  Real (*exact)(Real);
  float limit;  // largest |x|
  double ulps;  // allowed error in units of the last place of the result
  double imm0 = 0;
  double floor = 0;  // results below it may err by `ulps` units of it
};

Real sigmoid(Real x) { return 1 / (1 + std::exp(-x)); }
Real gelu_tanh(Real x) {
  return x * sigmoid(2 * std::sqrt(2 / std::numbers::pi_v<Real>) * (x + Real(0.044715) * x * x * x));
}

// Derivatives from closed forms whose terms never cancel: cdf(x) + x pdf(x), and s + x s (1 - s) u'.
Real gelu_erf_grad(Real x) {
  if (std::abs(x) > 100) return x > 0;
  return std::erfc(-x / std::numbers::sqrt2_v<Real>) / 2 +
         x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi_v<Real>);
}
Real gelu_tanh_grad(Real x) {
  if (std::abs(x) > 100) return x > 0;
  const Real k = 2 * std::sqrt(2 / std::numbers::pi_v<Real>), u = k * (x + Real(0.044715) * x * x * x);
  return sigmoid(u) + x * sigmoid(u) * sigmoid(-u) * k * (1 + Real(0.134145) * x * x);
}
Real silu_grad(Real x) { return std::abs(x) > 1000 ? Real(x > 0) : sigmoid(x) + x * sigmoid(x) * sigmoid(-x); }

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {TileOp::copy, [](Real x) { return x; }, 1e30f, 0},
      {TileOp::neg, [](Real x) { return -x; }, 1e30f, 0},
      {TileOp::abs, [](Real x) { return std::abs(x); }, 1e30f, 0},
      {TileOp::sign, [](Real x) { return x > 0   ? Real(1)
                                         : x < 0 ? Real(-1)
                                                 : x; }, 1e30f, 0},
      {TileOp::square, [](Real x) { return x * x; }, 1e10f, 0.5},
      {TileOp::floor, [](Real x) { return std::floor(x); }, 1e10f, 0},
      {TileOp::ceil, [](Real x) { return std::ceil(x); }, 1e10f, 0},
      {TileOp::round, [](Real x) { return std::nearbyint(x); }, 1e10f, 0},
      {TileOp::sqrt, [](Real x) { return std::sqrt(x); }, 1e30f, 0.5},
      {TileOp::rsqrt, [](Real x) { return 1 / std::sqrt(x); }, 1e30f, 1.5},
      {TileOp::reciprocal, [](Real x) { return 1 / x; }, 1e30f, 0.5},
      {TileOp::exp, [](Real x) { return std::exp(x); }, 200, 2},
      {TileOp::expm1, [](Real x) { return std::expm1(x); }, 200, 3},
      {TileOp::log, [](Real x) { return std::log(x); }, 1e37f, 3},
      {TileOp::log1p, [](Real x) { return std::log1p(x); }, 1e37f, 4},
      {TileOp::log2, [](Real x) { return std::log2(x); }, 1e37f, 4},
      {TileOp::sin, [](Real x) { return std::sin(x); }, 1e7f, 4, 0, 1e-3},
      {TileOp::cos, [](Real x) { return std::cos(x); }, 1e7f, 4, 0, 1e-3},
      {TileOp::tan, [](Real x) { return std::tan(x); }, 1e7f, 1},
      {TileOp::asin, [](Real x) { return std::asin(x); }, 2, 1},
      {TileOp::acos, [](Real x) { return std::acos(x); }, 2, 1},
      {TileOp::atan, [](Real x) { return std::atan(x); }, 1e7f, 1},
      {TileOp::sinh, [](Real x) { return std::sinh(x); }, 100, 2.5},
      {TileOp::cosh, [](Real x) { return std::cosh(x); }, 100, 2.5},
      {TileOp::tanh, [](Real x) { return std::tanh(x); }, 100, 4},
      {TileOp::erf, [](Real x) { return std::erf(x); }, 100, 5},
      {TileOp::sigmoid, sigmoid, 200, 4},
      {TileOp::relu, [](Real x) { return x > 0    ? x
                                         : x == x ? Real(0)
                                                  : x; }, 1e30f, 0},
      {TileOp::relu6, [](Real x) { return x < 0   ? Real(0)
                                          : x > 6 ? Real(6)
                                                  : x; }, 1e30f, 0},
      {TileOp::leaky_relu, [](Real x) { return x > 0 ? x : x * Real(0.25); }, 1e30f, 0, 0.25},
      {TileOp::elu, [](Real x) { return x > 0 ? x : std::expm1(x) * Real(1.5); }, 100, 4, 1.5},
      {TileOp::selu,
       [](Real x) { return Real(1.0507009873554805) * (x > 0 ? x : std::expm1(x) * Real(1.6732632423543772)); }, 100,
       4},
      {TileOp::gelu_tanh, gelu_tanh, 10, 32, 0, 1e-6},
      {TileOp::gelu_erf_grad, gelu_erf_grad, 1000, 8, 0, 1},
      {TileOp::gelu_tanh_grad, gelu_tanh_grad, 1000, 8, 0, 1},
      {TileOp::silu_grad, silu_grad, 1000, 8, 0, 1},
      {TileOp::silu, [](Real x) { return x * sigmoid(x); }, 80, 4},
      {TileOp::softplus, [](Real x) { return std::log1p(std::exp(x)); }, 80, 4},
      {TileOp::step, [](Real x) { return Real(x > 0); }, 1e30f, 0},
      {TileOp::logical_not, [](Real x) { return Real(x == 0); }, 1e30f, 0},
      {TileOp::is_nan, [](Real x) { return Real(x != x); }, 1e30f, 0},
      {TileOp::is_inf, [](Real x) { return Real(std::isinf(x)); }, 1e30f, 0},
      {TileOp::is_finite, [](Real x) { return Real(std::isfinite(x)); }, 1e30f, 0},
  };
  return all;
}

void expect_close(const Case& c, float x, float y) {
  const Real exact = c.exact(x);
  if (std::isnan(exact)) {
    EXPECT_TRUE(std::isnan(y)) << name_of(c.op) << '(' << x << ") = " << y;
    return;
  }
  const float nearest = static_cast<float>(exact);
  if (std::isinf(nearest)) {
    EXPECT_EQ(y, nearest) << name_of(c.op) << '(' << x << ')';
    return;
  }
  const float magnitude = std::max({std::abs(nearest), static_cast<float>(c.floor), 1.1754944e-38f});
  const Real ulp = std::nextafter(magnitude, kInf) - magnitude;
  // Results below the smallest normal number may be flushed to zero.
  const Real allowed = std::abs(nearest) < 1.1754944e-38f ? 1.2e-38L : c.ulps * ulp;
  EXPECT_LE(std::abs(y - exact), allowed) << name_of(c.op) << '(' << x << ") = " << y << ", should be " << nearest;
}

TEST(TileMath, Float32FunctionsAgreeWithLibm) {
  for_each_isa([](std::string_view isa) {
    SCOPED_TRACE(isa);
    for (const Case& c : cases()) {
      const auto x = arguments(c.limit);
      const auto y = apply<float>(c.op, {x}, c.imm0);
      for (size_t i = 0; i < x.size(); ++i) expect_close(c, x[i], y[i]);
    }
  });
}

TEST(TileMath, Float64FunctionsAgreeWithLibm) {
  for_each_isa([](std::string_view isa) {
    SCOPED_TRACE(isa);
    for (const Case& c : cases()) {
      std::vector<double> x;
      for (float v : arguments(c.limit)) x.push_back(v);
      const auto y = apply<double>(c.op, {x}, c.imm0);
      for (size_t i = 0; i < x.size(); ++i) {
        const double exact = static_cast<double>(c.exact(x[i]));
        if (std::isnan(exact))
          ASSERT_TRUE(std::isnan(y[i])) << name_of(c.op) << '(' << x[i] << ')';
        else if (std::isinf(exact))
          ASSERT_EQ(y[i], exact) << name_of(c.op) << '(' << x[i] << ')';
        else
          ASSERT_NEAR(y[i], exact, 1e-14 * std::max({1e-3, c.floor, std::abs(exact)}))
              << name_of(c.op) << '(' << x[i] << ')';
      }
    }
  });
}

// The error of erf is of the size of float32's rounding of 1, so that of gelu is of the size of x.
TEST(TileMath, GeluErf) {
  for_each_isa([](std::string_view isa) {
    const auto x = arguments(1e6f);
    const auto y = apply<float>(TileOp::gelu_erf, {x});
    for (size_t i = 0; i < x.size(); ++i) {
      if (!std::isfinite(x[i])) continue;
      const Real exact = Real(0.5) * x[i] * std::erfc(-Real(x[i]) / std::numbers::sqrt2_v<Real>);
      ASSERT_NEAR(y[i], exact, 3e-7 * std::abs(x[i])) << isa << ' ' << x[i];
    }
    EXPECT_TRUE(std::isnan(apply<float>(TileOp::gelu_erf, {{kNaN}})[0]));
    EXPECT_EQ(apply<float>(TileOp::gelu_erf, {{kInf}})[0], kInf);
  });
}

TEST(TileMath, BinaryFloatOps) {
  const std::vector<float> a = {7, -7, 7, -7, 5.5f, 0, kNaN, 1, 3, 0, -0.5f};
  const std::vector<float> b = {3, 3, -3, -3, 5.5f, 2, 1, kNaN, 0.5f, 0, 2};
  const auto expect = [&](TileOp op, const std::vector<float>& wanted) {
    const auto y = apply<float>(op, {a, b});
    const auto z = apply<double>(op, {{a.begin(), a.end()}, {b.begin(), b.end()}});
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (std::isnan(wanted[i])) {
        EXPECT_TRUE(std::isnan(y[i]) && std::isnan(z[i])) << name_of(op) << ' ' << a[i] << ' ' << b[i];
      } else {
        EXPECT_FLOAT_EQ(y[i], wanted[i]) << name_of(op) << ' ' << a[i] << ' ' << b[i];
        EXPECT_FLOAT_EQ(static_cast<float>(z[i]), wanted[i]) << name_of(op) << ' ' << a[i] << ' ' << b[i];
      }
    }
  };
  for_each_isa([&](std::string_view isa) {
    SCOPED_TRACE(isa);
    expect(TileOp::add, {10, -4, 4, -10, 11, 2, kNaN, kNaN, 3.5f, 0, 1.5f});
    expect(TileOp::sub, {4, -10, 10, -4, 0, -2, kNaN, kNaN, 2.5f, 0, -2.5f});
    expect(TileOp::mul, {21, -21, -21, 21, 30.25f, 0, kNaN, kNaN, 1.5f, 0, -1});
    expect(TileOp::div, {7 / 3.f, -7 / 3.f, -7 / 3.f, 7 / 3.f, 1, 0, kNaN, kNaN, 6, kNaN, -0.25f});
    expect(TileOp::pow, {343, -343, 1 / 343.f, -1 / 343.f, 11803.065f, 0, kNaN, 1, 1.7320508f, 1, 0.25f});
    expect(TileOp::minimum, {3, -7, -3, -7, 5.5f, 0, kNaN, kNaN, 0.5f, 0, -0.5f});
    expect(TileOp::maximum, {7, 3, 7, -3, 5.5f, 2, kNaN, kNaN, 3, 0, 2});
    expect(TileOp::mod, {1, 2, -2, -1, 0, 0, kNaN, kNaN, 0, kNaN, 1.5f});
    expect(TileOp::floor_div, {2, -3, -3, 2, 1, 0, kNaN, kNaN, 6, kNaN, -1});
    expect(TileOp::less, {0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 1});
    expect(TileOp::less_equal, {0, 1, 0, 1, 1, 1, 0, 0, 0, 1, 1});
    expect(TileOp::greater, {1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0});
    expect(TileOp::greater_equal, {1, 0, 1, 0, 1, 0, 0, 0, 1, 1, 0});
    expect(TileOp::equal, {0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0});
    expect(TileOp::not_equal, {1, 1, 1, 1, 0, 1, 1, 1, 1, 0, 1});
    expect(TileOp::logical_and, {1, 1, 1, 1, 1, 0, 1, 1, 1, 0, 1});
    expect(TileOp::logical_or, {1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1});
    expect(TileOp::logical_xor, {0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0});
  });
}

TEST(TileMath, SelectFmaAndClip) {
  for_each_isa([](std::string_view isa) {
    SCOPED_TRACE(isa);
    EXPECT_EQ(apply<float>(TileOp::select, {{0, 1, -2}, {1, 2, 3}, {4, 5, 6}}), (std::vector<float>{4, 2, 3}));
    EXPECT_EQ(apply<float>(TileOp::fma, {{0, 1, -2}, {1, 2, 3}, {4, 5, 6}}), (std::vector<float>{4, 7, 0}));
    const auto clipped = apply<float>(TileOp::clip, {{-3, 0.25f, 9, kNaN, kInf}}, -1, 2);
    EXPECT_EQ((std::vector<float>{clipped.begin(), clipped.begin() + 3}), (std::vector<float>{-1, 0.25f, 2}));
    EXPECT_TRUE(std::isnan(clipped[3]));
    EXPECT_EQ(clipped[4], 2);
  });
}

TEST(TileMath, RoundingThrough16Bits) {
  for_each_isa([](std::string_view isa) {
    SCOPED_TRACE(isa);
    const std::vector<float> x = {1.0f, 1.00390625f, 1.01171875f, 3.1415927f, -3.1415927f, 1e30f, kInf};
    EXPECT_EQ(apply<float>(TileOp::round_to_bfloat16, {x}),
              (std::vector<float>{1.0f, 1.0f, 1.015625f, 3.140625f, -3.140625f, 0x1.94p99f, kInf}));
    EXPECT_EQ(apply<float>(TileOp::round_to_float16, {x}),
              (std::vector<float>{1.0f, 1.00390625f, 1.01171875f, 3.140625f, -3.140625f, kInf, kInf}));
    EXPECT_TRUE(std::isnan(apply<float>(TileOp::round_to_bfloat16, {{kNaN}})[0]));
  });
}

template <class T>
void check_integers() {
  using V = std::vector<T>;
  const T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  const V a = {7, -7, 7, -7, 5, low, high}, b = {3, 3, -3, -3, 0, -1, 1};
  EXPECT_EQ(apply<T>(TileOp::add, {a, b}), (V{10, -4, 4, -10, 5, high, low}));
  EXPECT_EQ(apply<T>(TileOp::sub, {a, b}), (V{4, -10, 10, -4, 5, T(low + 1), T(high - 1)}));
  EXPECT_EQ(apply<T>(TileOp::mul, {a, b}), (V{21, -21, -21, 21, 0, low, high}));
  EXPECT_EQ(apply<T>(TileOp::floor_div, {a, b}), (V{2, -3, -3, 2, 0, low, high}));
  EXPECT_EQ(apply<T>(TileOp::mod, {a, b}), (V{1, 2, -2, -1, 0, 0, 0}));
  EXPECT_EQ(apply<T>(TileOp::pow, {{2, -3, 2, -1, 7}, {10, 3, -1, -3, 0}}), (V{1024, -27, 0, -1, 1}));
  EXPECT_EQ(apply<T>(TileOp::minimum, {a, b}), (V{3, -7, -3, -7, 0, low, 1}));
  EXPECT_EQ(apply<T>(TileOp::less, {a, b}), (V{0, 1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(apply<T>(TileOp::abs, {a}), (V{7, 7, 7, 7, 5, low, high}));
  EXPECT_EQ(apply<T>(TileOp::sign, {a}), (V{1, -1, 1, -1, 1, -1, 1}));
  EXPECT_EQ(apply<T>(TileOp::clip, {a}, -2, 6), (V{6, -2, 6, -2, 5, -2, 6}));
  EXPECT_EQ(apply<T>(TileOp::select, {{0, 2}, {3, 4}, {5, 6}}), (V{5, 4}));
}

TEST(TileMath, Integers) {
  check_integers<int32_t>();
  check_integers<int64_t>();
}

}  // namespace
}  // namespace isochron::kernels
