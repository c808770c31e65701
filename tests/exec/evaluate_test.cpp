#include "isochron/exec/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "isochron/base/threads.h"
#include "isochron/exec/function.h"
#include "isochron/graph/tape.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/matmul.h"
#include "isochron/ops/random.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"
#include "tests/message_of.h"

namespace isochron {
namespace {

TEST(Evaluate, NothingRunsUntilAValueIsNeeded) {
  const Tensor x = tensor({1.f, 2.f, 3.f});
  const Tensor y = x * 2 + 1;
  EXPECT_TRUE(y.pending());
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{3, 5, 7}));
  EXPECT_FALSE(y.pending());
}

TEST(Evaluate, MatmulBroadcastAndReduce) {
  const Tensor a = tensor({{1.f, 2.f}, {3.f, 4.f}});
  EXPECT_EQ(matmul(a, a).to_vector<float>(), (std::vector<float>{7, 10, 15, 22}));
  EXPECT_EQ(matmul(a, a, {.transpose_b = true}).to_vector<float>(), (std::vector<float>{5, 11, 11, 25}));
  EXPECT_EQ(sum(a, {0}).to_vector<float>(), (std::vector<float>{4, 6}));
  EXPECT_FLOAT_EQ(mean(a).item<float>(), 2.5f);
  EXPECT_EQ(transpose(a).to_vector<float>(), (std::vector<float>{1, 3, 2, 4}));
  EXPECT_EQ((a + tensor({10.f, 20.f})).to_vector<float>(), (std::vector<float>{11, 22, 13, 24}));
}

TEST(Evaluate, ANumberThatChangesEveryStepIsLiftedOnce) {
  clear_cache();
  const Tensor x = tensor({1.f, 2.f});
  const CacheReport before = cache_report();
  for (int i = 1; i <= 10; ++i) {
    const Tensor y = x * (0.25 * i);
    EXPECT_FLOAT_EQ(y.item<float>({1}), 0.5f * static_cast<float>(i));
  }
  const CacheReport after = cache_report();
  EXPECT_EQ(after.misses - before.misses, 2);  // the first value, then the plan that takes any
}

TEST(Evaluate, VariablesAreUpdatedInPlaceAndSnapshotsKeepTheirValue) {
  Variable v(tensor({1.f, 2.f}));
  const Tensor before = v.read();
  v.assign(v + 1);
  end_step();
  EXPECT_EQ(v.to_vector<float>(), (std::vector<float>{2, 3}));
  EXPECT_EQ(before.to_vector<float>(), (std::vector<float>{1, 2}));
  const void* bytes = v.raw_data();
  v.assign(v + 1);
  end_step();
  EXPECT_EQ(v.raw_data(), bytes);
  EXPECT_EQ(v.to_vector<float>(), (std::vector<float>{3, 4}));
  v.assign_add(tensor({1.f, 1.f}));
  end_step();
  EXPECT_EQ(v.raw_data(), bytes);
  EXPECT_EQ(v.to_vector<float>(), (std::vector<float>{4, 5}));
}

TEST(Evaluate, WhatAnotherThreadAssignedAndLeftPendingIsSeenByPlans) {
  Variable w(tensor({1.f, 2.f}));
  const auto read = function([&](Tensor x) { return w * x; });
  const auto update = function([&](Tensor x) {
    w.assign(w + x);
    return w * 1.f;
  });
  const auto elsewhere = [](auto call) {
    Tensor result;
    std::thread([&] { result = call().eval(); }).join();
    return result.to_vector<float>();
  };
  const Tensor one = tensor({1.f, 1.f});
  // Traced on the other thread, then run by it.
  for (const float value : {3.f, 5.f}) {
    w.assign(tensor({value, value}));
    EXPECT_EQ(elsewhere([&] { return read(one); }), (std::vector<float>{value, value}));
    w.assign(tensor({value, value}) * 2.f);
    EXPECT_EQ(elsewhere([&] { return update(one); }), (std::vector<float>{2 * value + 1, 2 * value + 1}));
    EXPECT_EQ(w.to_vector<float>(), (std::vector<float>{2 * value + 1, 2 * value + 1}));
  }
  // Computed by the other thread before its plan runs.
  w.assign(tensor({7.f, 7.f}));
  EXPECT_EQ(elsewhere([&] {
              (w * 2.f).eval();
              return update(one);
            }),
            (std::vector<float>{8, 8}));
}

TEST(Evaluate, AVariableTakesTheOldValueOfOneThatChangesInTheSameStep) {
  Variable old(tensor({0.f, 0.f})), now(tensor({1.f, 2.f}));
  for (const float expected : {1.f, 2.f, 3.f}) {
    old.assign(now.read());
    now.assign(now + 1);
    end_step();
    EXPECT_FLOAT_EQ(old.item<float>({0}), expected);
    EXPECT_FLOAT_EQ(now.item<float>({0}), expected + 1);
  }
  const auto step = function([&](Tensor by) {
    old.assign(now.read());
    now.assign(now + by);
  });
  step(tensor({10.f, 10.f}));
  EXPECT_EQ(old.to_vector<float>(), (std::vector<float>{4, 5}));
  EXPECT_EQ(now.to_vector<float>(), (std::vector<float>{14, 15}));
  // Both at once: they change places.
  const Tensor kept = now.read();
  now.assign(old.read());
  old.assign(kept);
  end_step();
  EXPECT_FLOAT_EQ(now.item<float>({1}), 5.f);
  EXPECT_FLOAT_EQ(old.item<float>({1}), 15.f);
}

TEST(Evaluate, BackwardOfWhatNeedsNoGradientSaysSo) {
  const Variable w(tensor({1.f, 2.f}));
  EXPECT_THAT(message_of([&] { sum((w * w).detach()).backward(); }),
              testing::HasSubstr("depends on nothing that requires a gradient; was it detached"));
}

TEST(Evaluate, AGradientThatIsNotThereIsNoZero) {
  Tensor w = tensor({2.f, 3.f});
  w.set_requires_grad();
  EXPECT_THAT(message_of([&] { w.grad() + 1; }), testing::HasSubstr("or is a grad() before backward()"));
  EXPECT_THAT(message_of([&] { 1 * w.grad(); }), testing::HasSubstr("undefined"));
  EXPECT_THAT(message_of([&] { exp(w.grad()); }), testing::HasSubstr("undefined"));
  EXPECT_THAT(message_of([&] { logical_not(w.grad()); }), testing::HasSubstr("undefined"));
}

TEST(Evaluate, BackwardAccumulatesLikePyTorch) {
  Tensor w = tensor({2.f, 3.f});
  w.set_requires_grad();
  const Tensor loss = sum(square(w));
  loss.backward();
  EXPECT_EQ(w.grad().to_vector<float>(), (std::vector<float>{4, 6}));
  sum(w * 10).backward();
  EXPECT_EQ(w.grad().to_vector<float>(), (std::vector<float>{14, 16}));
  w.zero_grad();
  EXPECT_FALSE(w.grad().defined());
}

TEST(Evaluate, SecondOrderGradient) {
  Variable x(tensor({2.0}, DType::float64));
  GradientTape outer({.persistent = true});
  const Tensor y = x * x * x;
  const Tensor dy = outer.gradient(y, x);
  const Tensor d2y = outer.gradient(dy, x);
  EXPECT_DOUBLE_EQ(dy.item(), 12.0);
  EXPECT_DOUBLE_EQ(d2y.item(), 12.0);
}

TEST(Function, TracesOncePerSignatureAndUpdatesVariables) {
  Variable total(tensor({0.f}));
  int traces = 0;
  auto add_to_total = function([&](Tensor x) {
    ++traces;
    total.assign(total + sum(x));
    return x * 2;
  });
  EXPECT_EQ(add_to_total(tensor({1.f, 2.f})).to_vector<float>(), (std::vector<float>{2, 4}));
  EXPECT_EQ(add_to_total(tensor({3.f, 4.f})).to_vector<float>(), (std::vector<float>{6, 8}));
  EXPECT_FLOAT_EQ(total.item<float>(), 10.f);
  EXPECT_EQ(traces, 1);
  add_to_total(tensor({5.f}));
  EXPECT_EQ(traces, 2);
  EXPECT_FLOAT_EQ(total.item<float>(), 15.f);
}

TEST(Function, AnArgumentMayBeTheVariableItUpdates) {
  Variable w(tensor({{2.0, 0.0}, {0.0, 2.0}}));
  auto f = function([&](Tensor x) {
    w.assign(w * 0.5 + 5.0);
    return matmul(w, x);
  });
  // w becomes {{6, 5}, {5, 6}}, x stays {{2, 0}, {0, 2}}.
  EXPECT_EQ(f(w).to_vector<double>(), (std::vector<double>{12, 10, 10, 12}));
  EXPECT_EQ(w.to_vector<double>(), (std::vector<double>{6, 5, 5, 6}));
  EXPECT_EQ(f(w).to_vector<double>(), (std::vector<double>{8 * 6 + 7.5 * 5, 8 * 5 + 7.5 * 6, 7.5 * 6 + 8 * 5, 85.5}));
}

TEST(Function, AnArgumentIsTheSameValueInsideAnotherTrace) {
  Variable w(tensor({{2.0, 0.0}, {0.0, 2.0}}));
  auto f = function([&](Tensor x) {
    w.assign(w * 0.5 + 5.0);
    return matmul(w, x);
  });
  auto outer = function([&](Tensor z) { return f(w) + z; });
  EXPECT_EQ(outer(zeros({2, 2}, DType::float64)).to_vector<double>(), (std::vector<double>{12, 10, 10, 12}));
}

TEST(Function, ReadingAnArgumentWhileTracingIsAnError) {
  auto f = function([](Tensor x) {
    x.item<float>();
    return x;
  });
  EXPECT_THROW(f(tensor({1.f})), StateError);
}

TEST(Evaluate, AGraphThatGrowsIsCutAndNamed) {
  clear_cache();
  set_pending_limit(1000);
  Tensor total = scalar(0);
  for (int step = 0; step < 100'000; ++step) total = total + 1;
  EXPECT_FLOAT_EQ(total.item<float>(), 100'000.f);
  set_pending_limit(100'000);
  const CacheReport report = cache_report();
  ASSERT_FALSE(report.grown_graphs.empty());
  EXPECT_NE(report.grown_graphs[0].find("evaluate_test.cpp"), std::string::npos);
  EXPECT_NE(report.grown_graphs[0].find("add"), std::string::npos);
}

// Steps that nobody reads pile up, and are computed wherever the limit is met, but never while gradients are taken.
TEST(Evaluate, LoopsThatReadNothingGoOn) {
  set_pending_limit(50);
  const Tensor x = random_normal({12, 6}, 0, 1, {.seed = 1}), y = random_normal({12, 2}, 0, 1, {.seed = 2});
  const auto trained = [&](bool reads) {
    Variable w(zeros({6, 2}));
    for (int step = 0; step < 200; ++step) {
      const Tensor loss = mean(square(matmul(x, w) - y));
      loss.backward();
      w.assign_sub(0.1 * w.grad());
      w.zero_grad();
      if (reads) w.eval();
    }
    return w.to_vector<float>();
  };
  EXPECT_EQ(trained(false), trained(true));
  set_pending_limit(100'000);
}

TEST(Evaluate, GradientsGoBackThroughAllOfAHistoryOrSayThatItIsGone) {
  const auto chain = [](const Variable& v, int ops) {
    Tensor x = v * 1;
    for (int i = 0; i < ops; ++i) x = x * 1;
    return x;
  };
  {
    Variable v(1.0);
    Tensor sum = scalar(0);
    for (int i = 0; i < 60'000; ++i) sum = sum + v * 0.5;  // more nodes than may be pending
    sum.backward();
    EXPECT_EQ(v.grad().item(), 30'000);
  }
  set_history_limit(1000);
  for (const int ops : {900, 1100}) {
    Variable v(1.0);
    const Tensor x = chain(v, ops);
    x.eval();
    const Tensor loss = x + v * 3;
    if (ops < 1000) {
      loss.backward();
      EXPECT_EQ(v.grad().item(), 4);
      continue;
    }
    for (const Tensor& target : {loss, x}) {
      EXPECT_THAT(message_of([&] { target.backward(); }),
                  AllOf(testing::HasSubstr("too long to be kept"), testing::HasSubstr("evaluate_test.cpp")));
      EXPECT_FALSE(v.grad().defined());
    }
    // What is cut off on purpose is no part of the history.
    (x.detach() + v * 3).backward();
    EXPECT_EQ(v.grad().item(), 3);
  }
  set_history_limit(100'000);
  EXPECT_THROW(set_history_limit(0), ValueError);
}

TEST(Function, CalledBetweenForwardAndBackwardKeepsTheHistory) {
  const Variable w(tensor({3.0f}));
  const auto twice = function([](Tensor x) { return 2 * x; });
  const Tensor loss = square(w) * twice(tensor({5.0f}));
  loss.backward();
  EXPECT_EQ(w.grad().item(), 2 * 3 * 10);
}

// A penalty on the distance from the weights of before, which the function has updated since.
TEST(Function, AValueReadBeforeIsNotTheVariable) {
  const Variable w(tensor({1.0f}));
  const Tensor before = w.read();
  const auto step = function([&](Tensor x) {
    const Tensor loss = w * x + 5 * square(w - before);
    w.assign(w - 0.1);
    return loss;
  });
  EXPECT_NEAR(step(tensor({1.0f})).item(), 1, 1e-6);
  EXPECT_NEAR(step(tensor({1.0f})).item(), 0.9 + 5 * 0.01, 1e-6);
  EXPECT_NEAR(step(tensor({1.0f})).item(), 0.8 + 5 * 0.04, 1e-6);
  EXPECT_EQ(before.item(), 1);
}

TEST(Tensor, VariablesPrintAsTensorsDo) {
  const Variable w(tensor({1.0f, 2.0f}));
  EXPECT_EQ(fmt::format("{}", w), "[1. 2.]");
}

TEST(Tensor, PrintsLikeNumPy) {
  EXPECT_EQ(to_string(tensor({1.f, 2.5f, -3.f})), "[ 1.   2.5 -3. ]");
  EXPECT_EQ(to_string(tensor({{1, 2}, {3, 40}})), "[[ 1  2]\n [ 3 40]]");
}

// While somebody else has the team, one thread computes the shares of both: the same sums in the same order.
TEST(Evaluate, ResultsDoNotDependOnWhoComputesTheShares) {
  const int before = get_num_threads();
  set_num_threads(2);
  const Tensor x = random_normal({300, 1000}, 0, 1, {.seed = 1}).eval(), w = random_normal({1000, 64}).eval();
  const auto compute = [&] {
    const Tensor y = tanh(matmul(x, w));
    return concat({reshape(sum(y), {1}), mean(y, {0}), reshape(var(x), {1})}, 0).to_vector<float>();
  };
  const std::vector<float> together = compute();
  std::atomic<bool> taken{false}, done{false};
  std::thread other([&] {
    ThreadTeam::global().parallel(2, [&](int thread, int) {
      taken = true;
      while (thread == 0 && !done) std::this_thread::yield();
    });
  });
  while (!taken) std::this_thread::yield();
  const std::vector<float> alone = compute();
  done = true;
  other.join();
  set_num_threads(before);
  EXPECT_EQ(together, alone);
}

TEST(Evaluate, BatchesCutFromKnownDataShareTheirBytesAndOnePlan) {
  const Tensor x = reshape(arange(0, 24, 1, DType::float32), {6, 4}).eval();
  const Tensor rows = slice(x, {2}, {4});
  EXPECT_EQ(rows.raw_data(), static_cast<const float*>(x.raw_data()) + 8);
  EXPECT_EQ(rows.to_vector<float>(), (std::vector<float>{8, 9, 10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(slice(x, {-1}, {100}).to_vector<float>(), (std::vector<float>{20, 21, 22, 23}));
  EXPECT_EQ(slice(x, {3}, {3}).shape(), (Shape{0, 4}));
  EXPECT_EQ(slice(x, {0, 1}, {2, 2}).to_vector<float>(), (std::vector<float>{1, 5})) << "not whole rows";
  EXPECT_EQ(slice(x, {4}, {kEnd}, {-2}).to_vector<float>()[0], 16) << "nor in order";

  const int64_t before = cache_report().misses;
  for (int64_t first = 0; first < 6; first += 2) sum(square(slice(x, {first}, {first + 2}))).item();
  EXPECT_EQ(cache_report().misses, before + 1);
}

TEST(Evaluate, SlicesOfVariablesAndWatchedTensorsAreComputed) {
  Variable v(tensor({1.0, 2.0, 3.0}));
  const Tensor part = slice(v, {1}, {3}).eval();
  v.assign(tensor({7.0, 8.0, 9.0}));
  v.eval();
  EXPECT_EQ(part.to_vector<double>(), (std::vector<double>{2, 3})) << "the value when it was computed";
  const Tensor x = tensor({1.0, 2.0, 3.0});
  GradientTape tape;
  tape.watch(x);
  const Tensor loss = sum(square(slice(x, {1}, {3})));
  EXPECT_EQ(tape.gradient(loss, x).to_vector<double>(), (std::vector<double>{0, 4, 6}));
}

}  // namespace
}  // namespace isochron
