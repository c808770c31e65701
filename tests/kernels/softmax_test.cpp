// Softmax and cross-entropy against NumPy's outputs (references/ops.json), finite differences and closed forms.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "isochron/kernels/isa.h"
#include "isochron/kernels/softmax/softmax.h"
#include "tests/source_dir.h"

namespace isochron::kernels {
namespace {

using nlohmann::json;

std::vector<double> numbers(const json& tensor) {
  std::vector<double> values;
  for (const json& v : tensor["data"])
    values.push_back(v.is_string() ? (v == "inf" ? INFINITY : v == "-inf" ? -INFINITY : NAN) : v.get<double>());
  return values;
}

template <class T>
void expect_close(const std::vector<T>& got, const std::vector<double>& wanted, const char* what) {
  const double tolerance = sizeof(T) == 4 ? 2e-6 : 1e-14;
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(wanted[i]) || std::isinf(wanted[i]))
      EXPECT_EQ(std::isnan(got[i]) ? "nan" : std::to_string(got[i]),
                std::isnan(wanted[i]) ? "nan" : std::to_string(wanted[i]));
    else
      EXPECT_NEAR(got[i], wanted[i], tolerance * std::max(1.0, std::abs(wanted[i]))) << what << ' ' << i;
  }
}

template <class T>
int check_references() {
  const json all = json::parse(std::ifstream(ISOCHRON_SOURCE_DIR "/tests/references/ops.json"));
  int cases = 0;
  for (const json& c : all["cases"]) {
    const std::string op = c["op"];
    if (op.find("softmax") == std::string::npos) continue;
    const auto shape = c["inputs"][0]["shape"].get<std::vector<int64_t>>();
    const int axis = c["attrs"].value("axis", -1);
    if (axis != -1 && axis != static_cast<int>(shape.size()) - 1) continue;
    ++cases;
    const auto wide = numbers(c["inputs"][0]);
    const std::vector<T> x(wide.begin(), wide.end());
    const int64_t cols = shape.back(), rows = static_cast<int64_t>(x.size()) / cols;
    std::vector<T> y(c["outputs"][0]["data"].size());
    if (op == "softmax") {
      softmax(x.data(), y.data(), rows, cols, 0, 1);
    } else if (op == "log_softmax") {
      log_softmax(x.data(), y.data(), rows, cols, 0, 1);
    } else {
      const auto second = numbers(c["inputs"][1]);
      const std::vector<T> probabilities(second.begin(), second.end());
      const std::vector<int64_t> labels(second.begin(), second.end());
      CrossEntropyTarget<T> target;
      if (op == "softmax_cross_entropy")
        target.probabilities = probabilities.data();
      else
        target = {.labels = labels.data(), .label_dtype = DType::int64};
      cross_entropy(x.data(), rows, cols, target, {.loss = y.data()}, 0, 1);
    }
    expect_close(y, numbers(c["outputs"][0]), op.c_str());
  }
  return cases;
}

TEST(Softmax, AgreesWithNumPy) {
  for_each_isa([](std::string_view isa) {
    SCOPED_TRACE(isa);
    EXPECT_GE(check_references<double>(), 12);
    EXPECT_GE(check_references<float>(), 12);
  });
}

std::vector<float> logits(int64_t n, float scale) {
  std::vector<float> x(n);
  for (int64_t i = 0; i < n; ++i) x[i] = scale * std::sin(static_cast<float>(i * i % 1009));
  return x;
}

TEST(Softmax, RowsOfEveryWidthInAnyNumberOfThreads) {
  for_each_isa([](std::string_view isa) {
    for (int64_t cols : {1, 2, 7, 8, 10, 63, 1000, 3001}) {
      SCOPED_TRACE(fmt::format("{} {} columns", isa, cols));
      const int64_t rows = 9;
      const auto x = logits(rows * cols, 80);
      std::vector<float> y = x, log_y = x;  // in place
      for (int t = 0; t < 4; ++t) softmax(y.data(), y.data(), rows, cols, t, 4);
      for (int t = 0; t < 4; ++t) log_softmax(log_y.data(), log_y.data(), rows, cols, t, 4);
      for (int64_t r = 0; r < rows; ++r) {
        long double sum = 0;
        for (int64_t c = 0; c < cols; ++c) sum += std::exp(static_cast<long double>(x[r * cols + c]));
        for (int64_t c = 0; c < cols; ++c) {
          const double exact = static_cast<double>(x[r * cols + c] - std::log(sum));
          ASSERT_NEAR(log_y[r * cols + c], exact, 3e-7 * std::max(1.0, std::abs(exact)));
          // x - max is rounded to float32 before the exponential.
          ASSERT_NEAR(y[r * cols + c], std::exp(exact), (4e-7 + 1e-7 * std::abs(exact)) * std::exp(exact) + 1e-37);
        }
      }
    }
  });
}

TEST(Softmax, LongRowsSumToOne) {
  const int64_t cols = 1000000;
  std::vector<float> x(cols, 0.1f);
  softmax(x.data(), x.data(), 1, cols, 0, 1);
  EXPECT_FLOAT_EQ(x[0], 1e-6f);
}

TEST(Softmax, NaNAndInfinity) {
  for_each_isa([](std::string_view isa) {
    SCOPED_TRACE(isa);
    const float inf = INFINITY;
    const float x[] = {1, NAN, 2, -inf, 0, 0, 1000, 1000, -1000};
    float y[9];
    softmax(x, y, 3, 3, 0, 1);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(y[i]));
    EXPECT_EQ((std::vector<float>{y + 3, y + 9}), (std::vector<float>{0, 0.5f, 0.5f, 0.5f, 0.5f, 0}));
  });
}

// d/dx of sum(dy * f(x)) by central differences.
template <class Forward>
std::vector<double> difference(const std::vector<double>& x, const std::vector<double>& dy, Forward forward) {
  std::vector<double> gradient;
  for (size_t i = 0; i < x.size(); ++i) {
    double values[2];
    for (int side = 0; side < 2; ++side) {
      auto moved = x;
      moved[i] += side ? 1e-6 : -1e-6;
      const auto y = forward(moved);
      values[side] = 0;
      for (size_t k = 0; k < y.size(); ++k) values[side] += dy[k] * y[k];
    }
    gradient.push_back((values[1] - values[0]) / 2e-6);
  }
  return gradient;
}

const std::vector<double> kX = {0.3, -1.2, 2.0, 0.1, 0.5, -0.5, 1.5, 0.0, 0.7, -2.0, 1.0, 0.4};
const std::vector<double> kDy = {1.0, -0.5, 0.25, 2.0, -1.0, 0.3, 0.8, -0.2, 0.6, 1.1, -0.7, 0.9};

TEST(Softmax, GradientsAgreeWithFiniteDifferences) {
  for_each_isa([](std::string_view isa) {
    SCOPED_TRACE(isa);
    const auto check = [](auto forward, auto backward) {
      const auto run = [&](const std::vector<double>& x) {
        std::vector<double> y(12);
        forward(x.data(), y.data(), 2, 6, 0, 1);
        return y;
      };
      const auto wanted = difference(kX, kDy, run), y = run(kX);
      std::vector<double> dx(12);
      backward(kDy.data(), y.data(), dx.data(), 2, 6, 0, 1);
      for (int i = 0; i < 12; ++i) EXPECT_NEAR(dx[i], wanted[i], 1e-8);
      const std::vector<float> y32(y.begin(), y.end()), dy32(kDy.begin(), kDy.end());
      std::vector<float> dx32(12);
      backward(dy32.data(), y32.data(), dx32.data(), 2, 6, 0, 1);
      for (int i = 0; i < 12; ++i) EXPECT_NEAR(dx32[i], wanted[i], 1e-6);
    };
    check([](auto... a) { softmax(a...); }, [](auto... a) { softmax_backward(a...); });
    check([](auto... a) { log_softmax(a...); }, [](auto... a) { log_softmax_backward(a...); });
  });
}

TEST(CrossEntropy, GradientsAgreeWithFiniteDifferences) {
  const std::vector<int32_t> labels = {2, 0, 3};
  std::vector<double> probabilities = {0.1, 0.2, 0.3, 0.4, 0, 0, 1, 0, 0.5, 0.25, 0.5, 0.25};  // the last sums to 1.5
  const std::vector<double> weight = {0.5, 1.0, -2.0};
  for (const CrossEntropyTarget<double>& target :
       {CrossEntropyTarget<double>{.labels = labels.data()}, {.probabilities = probabilities.data()}}) {
    const auto forward = [&](const std::vector<double>& x) {
      std::vector<double> loss(3);
      cross_entropy(x.data(), 3, 4, target, {.loss = loss.data()}, 0, 1);
      return loss;
    };
    const auto wanted = difference(kX, weight, forward);
    std::vector<double> log_sum(3), dx(12), again(12);
    for (int t = 0; t < 2; ++t) cross_entropy(kX.data(), 3, 4, target, {.log_sum = log_sum.data()}, t, 2);
    for (int t = 0; t < 2; ++t) {
      cross_entropy_backward(kX.data(), 3, 4, target, log_sum.data(), weight.data(), 1, dx.data(), t, 2);
      cross_entropy_backward<double>(kX.data(), 3, 4, target, nullptr, weight.data(), 1, again.data(), t, 2);
    }
    for (int i = 0; i < 12; ++i) EXPECT_NEAR(dx[i], wanted[i], 1e-8);
    EXPECT_EQ(dx, again);
  }
}

TEST(CrossEntropy, CountsCorrectRowsFirstMaximumWins) {
  const float x[] = {1, 3, 2, 3, 3, 1, 3, 3, 1, NAN, 5, 1};
  const uint8_t labels[] = {1, 0, 1, 1};
  float correct[4];
  cross_entropy<float>(x, 4, 3, {.labels = labels, .label_dtype = DType::uint8}, {.correct = correct}, 0, 1);
  EXPECT_EQ((std::vector<float>{correct, correct + 3}), (std::vector<float>{1, 1, 0}));
  const float p[] = {0, 1, 0, 0.2f, 0.3f, 0.5f, 0.6f, 0.2f, 0.2f, 1, 0, 0};
  cross_entropy<float>(x, 4, 3, {.probabilities = p}, {.correct = correct}, 0, 1);
  EXPECT_EQ((std::vector<float>{correct, correct + 3}), (std::vector<float>{1, 0, 1}));
}

TEST(CrossEntropy, ReportsTheFirstBadLabelAndReadsNothingThroughIt) {
  const int64_t rows = 2000;
  const std::vector<float> x(rows * 3, 1.0f);
  std::vector<int64_t> labels(rows, 1);
  labels[1500] = 3;
  labels[700] = -1;
  labels[1999] = std::numeric_limits<int64_t>::max();
  std::vector<float> loss(rows), dx(rows * 3);
  const float weight = 1;
  int64_t bad = kNoBadRow, bad_backward = kNoBadRow;
  for (int t = 3; t >= 0; --t) {
    cross_entropy<float>(x.data(), rows, 3, {.labels = labels.data(), .label_dtype = DType::int64, .bad_row = &bad},
                         {.loss = loss.data()}, t, 4);
    cross_entropy_backward<float>(x.data(), rows, 3,
                                  {.labels = labels.data(), .label_dtype = DType::int64, .bad_row = &bad_backward},
                                  nullptr, &weight, 0, dx.data(), t, 4);
  }
  EXPECT_EQ(bad, 700);
  EXPECT_EQ(bad_backward, 700);
  EXPECT_TRUE(std::isnan(loss[700]) && std::isnan(dx[2100]));
  EXPECT_FLOAT_EQ(loss[0], std::log(3.0f));

  bad = kNoBadRow;
  cross_entropy<float>(x.data(), 3, 3, {.labels = labels.data(), .label_dtype = DType::int64, .bad_row = &bad},
                       {.loss = loss.data()}, 0, 1);
  EXPECT_EQ(bad, kNoBadRow);
}

TEST(CrossEntropy, IgnoredLabelCostsNothing) {
  const float x[] = {1, 2, 3, 4};
  const int32_t labels[] = {-100, 1};
  const float weight = 2;
  float loss[2], dx[4];
  int64_t bad = kNoBadRow;
  const CrossEntropyTarget<float> target{.labels = labels, .ignored_label = -100, .bad_row = &bad};
  cross_entropy(x, 2, 2, target, {.loss = loss}, 0, 1);
  cross_entropy_backward<float>(x, 2, 2, target, nullptr, &weight, 0, dx, 0, 1);
  EXPECT_EQ(bad, kNoBadRow);
  EXPECT_EQ(loss[0], 0);
  EXPECT_GT(loss[1], 0.3f);
  EXPECT_EQ(dx[0], 0);
  EXPECT_EQ(dx[1], 0);
  EXPECT_LT(dx[3], 0);
}

}  // namespace
}  // namespace isochron::kernels
