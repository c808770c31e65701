// Every way of computing a convolution against plain sums in double, on every instruction set and for several threads.
// tests of op: conv_epilogue
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "isochron/graph/graph.h"
#include "isochron/kernels/conv/conv_gemm.h"
#include "isochron/kernels/conv/depthwise.h"
#include "isochron/kernels/conv/winograd.h"
#include "isochron/kernels/isa.h"
#include "isochron/ops/conv.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/random.h"
#include "isochron/passes/passes.h"

namespace isochron::kernels {
namespace {

struct Case {
  ConvShape shape;
  std::string text;
};

Case make(int64_t batch, ConvShape::Axes in, int64_t channels, int64_t filters, ConvShape::Axes window,
          ConvShape::Axes stride, ConvShape::Axes before, ConvShape::Axes after, ConvShape::Axes dilation,
          int64_t groups) {
  ConvShape s;
  s.batch = batch;
  s.in_channels = channels;
  s.out_channels = filters;
  s.groups = groups;
  s.in = in;
  s.window = window;
  s.stride = stride;
  s.dilation = dilation;
  s.pad = before;
  for (size_t i = 0; i < 3; ++i)
    s.out[i] = (in[i] + before[i] + after[i] - (window[i] - 1) * dilation[i] - 1) / stride[i] + 1;
  return {s, fmt::format("batch {} in {}x{}x{}x{} window {}x{}x{} stride {} {} {} pad {} {} {} groups {} filters {}",
                         batch, in[0], in[1], in[2], channels, window[0], window[1], window[2], stride[0], stride[1],
                         stride[2], before[0], before[1], before[2], groups, filters)};
}

Case square(int64_t batch, int64_t rows, int64_t columns, int64_t channels, int64_t filters, int64_t pad) {
  return make(batch, {1, rows, columns}, channels, filters, {1, 3, 3}, {1, 1, 1}, {0, pad, pad}, {0, pad, pad},
              {1, 1, 1}, 1);
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      square(2, 26, 26, 8, 16, 0),
      square(3, 9, 14, 24, 8, 1),
      square(1, 12, 8, 16, 40, 2),
      square(5, 8, 8, 32, 32, 1),
      square(1, 4, 4, 8, 8, 1),
      square(2, 10, 11, 3, 5, 1),
      make(2, {1, 1, 17}, 3, 4, {1, 1, 5}, {1, 1, 2}, {0, 0, 3}, {0, 0, 1}, {1, 1, 1}, 1),
      make(2, {1, 1, 19}, 4, 6, {1, 1, 3}, {1, 1, 1}, {0, 0, 4}, {0, 0, 0}, {1, 1, 2}, 2),
      make(1, {1, 13, 9}, 6, 7, {1, 5, 3}, {1, 2, 3}, {0, 2, 1}, {0, 1, 2}, {1, 1, 1}, 1),
      make(2, {1, 9, 9}, 19, 19, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}, {1, 1, 1}, 19),
      make(2, {1, 9, 7}, 24, 24, {1, 3, 2}, {1, 2, 1}, {0, 1, 0}, {0, 1, 1}, {1, 2, 1}, 24),
      make(2, {1, 5, 5}, 4, 8, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}, {1, 1, 1}, 4),
      make(3, {1, 6, 5}, 20, 9, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}, 1),
      make(1, {4, 5, 6}, 3, 4, {2, 3, 2}, {1, 2, 1}, {1, 0, 1}, {0, 1, 0}, {1, 1, 1}, 1),
      make(0, {1, 5, 5}, 2, 3, {1, 3, 3}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}, 1),
  };
  return all;
}

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

struct Problem {
  Floats x, kernel, dy;
  Doubles y, dx, dkernel;                   // what is right
  double y_scale, dx_scale, dkernel_scale;  // the largest of each

  explicit Problem(const ConvShape& s) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    const auto fill = [&](Floats& values, int64_t count) {
      values.resize(static_cast<size_t>(count));
      for (float& v : values) v = normal(random);
    };
    fill(x, s.batch * s.in_pixels() * s.in_channels);
    fill(kernel, s.depth() * s.out_channels);
    fill(dy, s.batch * s.out_pixels() * s.out_channels);
    y.resize(dy.size());
    dx.resize(x.size());
    dkernel.resize(kernel.size());
    for (int64_t n = 0; n < s.batch; ++n)
      for (int64_t p = 0; p < s.out_pixels(); ++p)
        for (int64_t tap = 0; tap < s.taps(); ++tap) {
          const int64_t o[3] = {p / (s.out[1] * s.out[2]), p / s.out[2] % s.out[1], p % s.out[2]};
          const int64_t t[3] = {tap / (s.window[1] * s.window[2]), tap / s.window[2] % s.window[1], tap % s.window[2]};
          int64_t pixel = 0;
          bool inside = true;
          for (size_t i = 0; i < 3; ++i) {
            const int64_t at = o[i] * s.stride[i] - s.pad[i] + t[i] * s.dilation[i];
            inside = inside && at >= 0 && at < s.in[i];
            pixel = pixel * s.in[i] + at;
          }
          if (inside) add(s, n * s.in_pixels() + pixel, n * s.out_pixels() + p, tap);
        }
    const auto largest = [](const Doubles& values) {
      double m = 1;
      for (double v : values) m = std::max(m, std::abs(v));
      return m;
    };
    y_scale = largest(y);
    dx_scale = largest(dx);
    dkernel_scale = largest(dkernel);
  }

 private:
  void add(const ConvShape& s, int64_t in, int64_t out, int64_t tap) {
    for (int64_t o = 0; o < s.out_channels; ++o) {
      const int64_t group = o / s.group_out();
      for (int64_t i = 0; i < s.group_in(); ++i) {
        const auto xi = static_cast<size_t>(in * s.in_channels + group * s.group_in() + i);
        const auto yi = static_cast<size_t>(out * s.out_channels + o);
        const auto ki = static_cast<size_t>((tap * s.group_in() + i) * s.out_channels + o);
        y[yi] += static_cast<double>(x[xi]) * kernel[ki];
        dx[xi] += static_cast<double>(dy[yi]) * kernel[ki];
        dkernel[ki] += static_cast<double>(x[xi]) * dy[yi];
      }
    }
  }
};

template <class T>
void expect_near(const std::vector<T>& got, const Doubles& right, double tolerance, const char* what) {
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(static_cast<double>(got[i]), right[i], tolerance) << what << ' ' << i;
}

// Memory of a given size with guards that must survive.
class Space {
 public:
  explicit Space(size_t bytes)
      : memory_(static_cast<float*>(std::aligned_alloc(64, bytes / 64 * 64 + 192))), end_(bytes) {
    std::memset(memory_, 0x7f, bytes / 64 * 64 + 192);
  }
  ~Space() {
    for (size_t i = end_; i < end_ + 64; ++i)
      EXPECT_EQ(reinterpret_cast<unsigned char*>(memory_)[i], 0x7f) << "overrun";
    std::free(memory_);
  }
  Space(const Space&) = delete;
  float* get() const { return memory_; }

 private:
  float* memory_;
  size_t end_;
};

// As a plan runs a kernel: every thread does a stage before the next begins.
void run_stages(int threads, std::initializer_list<std::function<void(int)>> stages) {
  for (const auto& stage : stages)
    for (int thread = 0; thread < threads; ++thread) stage(thread);
}

void for_all(const std::function<void(const Case&, const Problem&, int)>& body) {
  for (const Case& one : cases()) {
    const Problem problem(one.shape);
    for_each_isa([&](std::string_view isa) {
      for (const int threads : {1, 2, 5}) {
        SCOPED_TRACE(fmt::format("{} on {} with {} threads", one.text, isa, threads));
        body(one, problem, threads);
      }
    });
  }
}

TEST(ConvGemm, IsTheSumOfProducts) {
  for_all([](const Case& one, const Problem& p, int threads) {
    const ConvShape& s = one.shape;
    Floats y(p.y.size(), NAN), dx(p.x.size(), NAN), dkernel(p.kernel.size(), NAN);
    const Space forward(conv_forward_scratch<float>(s)), backward(conv_input_grad_scratch<float>(s)),
        kernel(conv_kernel_grad_scratch<float>(s, threads)), turned(p.kernel.size() * sizeof(float));
    run_stages(threads, {[&](int t) {
                 conv_forward<float>(s, p.x.data(), p.kernel.data(), {}, y.data(), forward.get(), t, threads);
               }});
    run_stages(threads, {[&](int t) { turn_kernel(s, p.kernel.data(), turned.get(), t, threads); },
                         [&](int t) {
                           conv_input_grad<float>(s, p.dy.data(), turned.get(), dx.data(), backward.get(), t, threads);
                         }});
    run_stages(threads, {[&](int t) {
                 conv_kernel_grad(s, p.x.data(), p.dy.data(), dkernel.data(), kernel.get(), t, threads);
               }});
    expect_near(y, p.y, 2e-6 * p.y_scale, "y");
    expect_near(dx, p.dx, 2e-6 * p.dx_scale, "dx");
    expect_near(dkernel, p.dkernel, 2e-6 * p.dkernel_scale, "dkernel");
  });
}

TEST(ConvGemm, IsExactInDouble) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.text);
    const ConvShape& s = one.shape;
    const Problem p(s);
    const Doubles x(p.x.begin(), p.x.end()), kernel(p.kernel.begin(), p.kernel.end());
    Doubles y(p.y.size(), NAN);
    const Space scratch(conv_forward_scratch<double>(s));
    run_stages(3,
               {[&](int t) { conv_forward<double>(s, x.data(), kernel.data(), {}, y.data(), scratch.get(), t, 3); }});
    expect_near(y, p.y, 1e-12 * p.y_scale, "y");
  }
}

struct WinogradResults {
  Floats y, dx;
};
WinogradResults winograd(const ConvShape& s, const Problem& p, int threads, WinogradBlock block) {
  WinogradResults out{Floats(p.y.size(), NAN), Floats(p.x.size(), NAN)};
  const Space scratch(winograd_scratch_bytes(s)), carried(winograd_kernel_bytes(s));
  run_stages(threads, {[&](int t) { winograd_carry_kernel(s, p.kernel.data(), carried.get(), t, threads); },
                       [&](int t) {
                         winograd_forward(s, p.x.data(), carried.get(), {}, out.y.data(), scratch.get(), t, threads,
                                          block);
                       }});
  run_stages(threads, {[&](int t) { winograd_carry_turned_kernel(s, p.kernel.data(), carried.get(), t, threads); },
                       [&](int t) {
                         winograd_input_grad(s, p.dy.data(), carried.get(), out.dx.data(), scratch.get(), t, threads,
                                             block);
                       }});
  return out;
}

// Four times the error of a direct sum is what F(4x4, 3x3) costs.
TEST(Winograd, IsTheSumOfProductsWithinAFewRoundings) {
  int taken = 0;
  for_all([&](const Case& one, const Problem& p, int threads) {
    const ConvShape& s = one.shape;
    if (winograd_refusal(s)) return;
    ++taken;
    const auto [y, dx] = winograd(s, p, threads, WinogradBlock::modelled);
    Floats dkernel(p.kernel.size(), NAN);
    const Space scratch(winograd_scratch_bytes(s)), sums(winograd_sums_bytes(s, threads));
    run_stages(threads,
               {[&](int t) { winograd_sum_tiles(s, p.x.data(), p.dy.data(), sums.get(), scratch.get(), t, threads); },
                [&](int t) { winograd_kernel_grad(s, sums.get(), dkernel.data(), t, threads); }});
    expect_near(y, p.y, 8e-6 * p.y_scale, "y");
    expect_near(dx, p.dx, 8e-6 * p.dx_scale, "dx");
    expect_near(dkernel, p.dkernel, 8e-6 * p.dkernel_scale, "dkernel");
  });
  EXPECT_GE(taken, 5 * 3);
}

TEST(Winograd, NoBitDependsOnTheBlock) {
  int taken = 0;
  for_all([&](const Case& one, const Problem& p, int threads) {
    if (winograd_refusal(one.shape)) return;
    ++taken;
    const auto [y, dx] = winograd(one.shape, p, threads, WinogradBlock::modelled);
    for (const WinogradBlock block : {WinogradBlock::half, WinogradBlock::twice}) {
      const WinogradResults other = winograd(one.shape, p, threads, block);
      EXPECT_EQ(other.y, y);
      EXPECT_EQ(other.dx, dx);
    }
  });
  EXPECT_GE(taken, 5 * 3);
}

TEST(Winograd, SaysWhatItDoesNotTake) {
  EXPECT_EQ(winograd_refusal(square(1, 8, 8, 8, 8, 1).shape), nullptr);
  EXPECT_STREQ(winograd_refusal(square(1, 8, 8, 3, 8, 1).shape), "takes channels in multiples of 8");
  EXPECT_STREQ(winograd_refusal(square(1, 3, 3, 8, 8, 0).shape), "the image is too small for its tiles");
  EXPECT_STREQ(winograd_refusal(square(1, 8, 8, 8, 8, 3).shape), "takes padding of at most 2");
}

TEST(Depthwise, IsTheSumOfProducts) {
  int taken = 0;
  for_all([&](const Case& one, const Problem& p, int threads) {
    const ConvShape& s = one.shape;
    if (!is_depthwise(s)) return;
    ++taken;
    Floats y(p.y.size(), NAN), dx(p.x.size(), NAN), dkernel(p.kernel.size(), NAN);
    run_stages(threads,
               {[&](int t) { depthwise_forward(s, p.x.data(), p.kernel.data(), nullptr, y.data(), t, threads); }});
    run_stages(threads, {[&](int t) { depthwise_input_grad(s, p.dy.data(), p.kernel.data(), dx.data(), t, threads); }});
    run_stages(threads,
               {[&](int t) { depthwise_kernel_grad(s, p.x.data(), p.dy.data(), dkernel.data(), t, threads); }});
    expect_near(y, p.y, 2e-6 * p.y_scale, "y");
    expect_near(dx, p.dx, 2e-6 * p.dx_scale, "dx");
    expect_near(dkernel, p.dkernel, 2e-6 * p.dkernel_scale, "dkernel");
  });
  EXPECT_GE(taken, 2 * 3);
}

// Bias and activation within the convolution give what they give after it, in each of the three ways.
TEST(ConvEpilogue, ChangesNothingButTheNumberOfPasses) {
  struct Way {
    Shape x, kernel;
    int64_t groups;
  };
  for (const Way& way : {Way{{3, 9, 10, 8}, {3, 3, 8, 16}, 1}, Way{{2, 6, 5, 12}, {3, 3, 1, 12}, 12},
                         Way{{2, 6, 5, 3}, {3, 2, 3, 5}, 1}}) {
    const auto random = [](const Shape& shape, uint64_t seed) { return random_normal(shape, 0, 1, {.seed = seed}); };
    const Tensor x = random(way.x, 1), kernel = random(way.kernel, 2), bias = random({way.kernel[-1]}, 3);
    using Function = Tensor (*)(const Tensor&);
    for (const Function f :
         {Function([](const Tensor& t) { return relu(t); }), Function([](const Tensor& t) { return t; }),
          Function([](const Tensor& t) { return tanh(t); }), Function([](const Tensor& t) { return silu(t) + t; })}) {
      const auto result = [&] { return f(conv(x, kernel, {.padding = "same", .groups = way.groups}) + bias); };
      const Tensor fused = result();
      fused.eval();
      set_pass_enabled("matmul_epilogue", false);
      const Tensor apart = result();
      apart.eval();
      set_pass_enabled("matmul_epilogue", true);
      EXPECT_TRUE(allclose(fused, apart, 1e-6, 1e-6)) << to_string(way.kernel);
    }
  }
}

}  // namespace
}  // namespace isochron::kernels
