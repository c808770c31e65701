// Wrong data found while a plan runs: a clear error, and nothing is updated.
#include <gtest/gtest.h>

#include <cmath>

#include "isochron/base/threads.h"
#include "isochron/exec/evaluate.h"
#include "isochron/graph/tape.h"
#include "isochron/ops/ops.h"

namespace isochron {
namespace {

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(DataFault, ABadLabelLeavesVariablesAsTheyWere) {
  Variable w(full({4, 10}, 0.5).eval());
  const Tensor x = ones({6, 4}).eval();
  const auto step = [&](const Tensor& labels) {
    GradientTape tape;
    const Tensor loss = mean(sparse_softmax_cross_entropy(matmul(x, w), labels));
    w.assign(w - tape.gradient(loss, w) * 0.1);
    end_step();
  };
  const std::vector<float> before = w.to_vector<float>();
  EXPECT_EQ(message_of([&] {
              step(tensor({1, 2, 3, 4, 5, 10}));
            }),
            "[sparse_softmax_cross_entropy] labels must be in [0, 10), got 10 at row 5");
  EXPECT_EQ(w.to_vector<float>(), before);
  step(tensor({1, 2, 3, 4, 5, 6}));
  EXPECT_NE(w.to_vector<float>(), before);
}

TEST(DataFault, TheFirstBadRowIsNamedWhateverTheThreads) {
  const int threads = get_num_threads();
  set_num_threads(4);
  std::vector<int64_t> labels(4000, 1);
  labels[3999] = -7;
  labels[1203] = 50;
  labels[1204] = 51;
  const Tensor y = tensor(labels);
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(message_of([&] {
                sparse_softmax_cross_entropy(zeros({4000, 50}), y).eval();
              }),
              "[sparse_softmax_cross_entropy] labels must be in [0, 50), got 50 at row 1203");
  set_num_threads(threads);
}

TEST(DataFault, ALabelComputedInThePlanIsNamedByItsOwnValue) {
  // The labels lie in memory that later calls of the plan use again.
  const Tensor y = tensor({1, 2}) * 30;
  const Tensor loss = sparse_softmax_cross_entropy(zeros({2, 40}), y);
  const Tensor after = tensor({5, 6}) + 1;
  EXPECT_EQ(message_of([&] { eval({sum(loss) + cast(sum(after * 2), DType::float32)}); }),
            "[sparse_softmax_cross_entropy] labels must be in [0, 40), got 60 at row 1");
}

TEST(DataFault, CheckFiniteStopsAnUpdate) {
  Variable w(tensor({1.f, 2.f}));
  const Tensor loss = check_finite(sum(w * INFINITY), "the loss of step 3");
  w.assign(w - 1);
  EXPECT_EQ(message_of([] { end_step(); }), "[check_finite] the loss of step 3 must be finite, got inf");
  EXPECT_EQ(w.to_vector<float>(), (std::vector<float>{1, 2}));
}

}  // namespace
}  // namespace isochron
