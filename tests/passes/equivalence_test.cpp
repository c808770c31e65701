// Random graphs give the same values with each pass as with none.
// tests of op: fused fused_reduce matmul_epilogue
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "isochron/exec/executable.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/matmul.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"
#include "pass_helpers.h"

namespace isochron::test {
namespace {

// Values stay within [-3, 3], so that exponentials and quotients stay tame.
class RandomGraph {
 public:
  RandomGraph(uint32_t seed, DType dtype) : rng_(seed), dtype_(dtype) {
    for (const Shape& shape : {Shape{6, 6}, Shape{6, 6}, Shape{6}, Shape{6, 1}, Shape{}}) {
      std::vector<double> values(static_cast<size_t>(shape.elements()));
      for (double& value : values)
        value = is_floating(dtype) ? std::uniform_real_distribution(-2.0, 2.0)(rng_)
                                   : static_cast<double>(pick(7)) - (dtype == DType::uint8 ? 0 : 3);
      values_.push_back(detail::tensor_from_doubles(std::move(values), shape, dtype));
    }
  }
  std::vector<Tensor> build(int ops) {
    for (int i = 0; i < ops; ++i) values_.push_back(grow());
    std::vector<Tensor> outputs{values_.back()};
    for (int i = 0; i < 4; ++i) outputs.push_back(values_[5 + pick(values_.size() - 5)]);
    return outputs;
  }

 private:
  size_t pick(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(rng_); }
  Tensor any() {
    const size_t back = std::min<size_t>(values_.size(), 8);
    return pick(2) ? values_[values_.size() - 1 - pick(back)] : values_[pick(values_.size())];
  }
  Tensor matrix() {
    const Tensor x = any();
    return broadcast_to(x, {6, 6});
  }
  Tensor grow() {
    const Tensor a = any(), b = any();
    switch (pick(is_floating(dtype_) ? 24 : 16)) {
      case 0:
        return a + b;
      case 1:
        return a - b;
      case 2:
        return clip(a * b, -3, 3);
      case 3:
        return -a;
      case 4:
        return where(a > b, a, b);
      case 5:
        return maximum(a, b);
      case 6:
        return relu(a);
      case 7:
        return a * static_cast<int>(pick(3)) + static_cast<int>(pick(2));
      case 8:
        return transpose(matrix());
      case 9:
        return reshape(reshape(matrix(), {4, 9}), {6, 6});
      case 10:
        return clip(matmul(matrix(), transpose(matrix())), -3, 3);
      case 11:
        return clip(sum(matrix(), {static_cast<int64_t>(pick(2))}), -3, 3);
      case 12:
        return max(matrix(), {1}, true);
      case 13:
        return cast(a > 0, dtype_) * b;
      case 14:
        return where(logical_and(a > 0, logical_not(b > 1)), b, 1);
      case 15:
        return square(clip(a, -1, 1));
      case 16:
        return tanh(a);
      case 17:
        return sigmoid(matmul(matrix(), matrix()) + reshape(matrix(), {36})[0]);
      case 18:
        return gelu(matmul(matrix(), matrix()) + broadcast_to(sum(matrix(), {0}), {6}));
      case 19:
        return mean(matrix()) / 4;
      case 20:
        return pow(a, 2) * 0.5 * 0.25;
      case 21:
        return cast(cast(a, DType::float32), dtype_);
      case 22:
        return exp(clip(a, -2, 1));
      default:
        return sum(broadcast_to(a, {6, 6}) + 1, {0}) / 16;
    }
  }
  std::mt19937 rng_;
  DType dtype_;
  std::vector<Tensor> values_;
};

std::vector<std::vector<std::byte>> run(const std::vector<Tensor>& outputs) {
  Walk walk = [&] {
    std::lock_guard lock(graph_mutex());
    std::vector<Value> roots;
    for (const Tensor& t : outputs) roots.push_back(t.value());
    return walk_from(std::move(roots));
  }();
  std::lock_guard lock(graph_mutex());
  const auto plan = Executable::compile(graph_from(walk));
  std::vector<void*> in, out;
  for (const Value& leaf : walk.leaves) in.push_back(leaf.node->results[static_cast<size_t>(leaf.index)].data());
  std::vector<std::vector<std::byte>> results;
  for (const Tensor& t : outputs) results.emplace_back(static_cast<size_t>(t.spec().bytes()) + 64);
  for (auto& result : results) out.push_back(result.data());
  plan->run(in, out);
  return results;
}

std::vector<double> numbers(const std::vector<std::byte>& bytes, const TensorSpec& spec) {
  std::vector<double> values;
  visit_dtype(spec.dtype, [&]<class T>(Type<T>) {
    for (int64_t i = 0; i < spec.shape.elements(); ++i) {
      T value;
      std::memcpy(&value, bytes.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
      values.push_back(static_cast<double>(value));
    }
  });
  return values;
}

void expect_equal_values(uint32_t seed, DType dtype, std::initializer_list<std::string_view> passes) {
  const std::vector<Tensor> outputs = RandomGraph(seed, dtype).build(60);
  std::vector<std::vector<std::byte>> plain, changed;
  {
    OnlyPasses none({});
    plain = run(outputs);
  }
  {
    OnlyPasses some(passes);
    changed = run(outputs);
  }
  for (size_t o = 0; o < outputs.size(); ++o) {
    const std::vector<double> expected = numbers(plain[o], outputs[o].spec());
    const std::vector<double> actual = numbers(changed[o], outputs[o].spec());
    for (size_t i = 0; i < expected.size(); ++i) {
      if (dtype == DType::float64)
        ASSERT_NEAR(actual[i], expected[i], 1e-5 + 1e-5 * std::abs(expected[i])) << "seed " << seed << " output " << o;
      else
        ASSERT_EQ(actual[i], expected[i]) << "seed " << seed << " output " << o;
    }
  }
}

class EachPass : public testing::TestWithParam<const char*> {};

TEST_P(EachPass, KeepsTheValuesOfRandomGraphs) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    expect_equal_values(seed, DType::float64, {GetParam()});
    expect_equal_values(seed, DType::int32, {GetParam()});
  }
}

std::vector<const char*> names() {
  std::vector<const char*> all;
  for (const Pass& pass : all_passes()) all.push_back(pass.name);
  return all;
}
INSTANTIATE_TEST_SUITE_P(Passes, EachPass, testing::ValuesIn(names()),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(AllPasses, KeepTheValuesOfRandomGraphs) {
  for (uint32_t seed = 100; seed < 200; ++seed)
    for (DType dtype : {DType::float64, DType::int32, DType::uint8}) {
      const std::vector<Tensor> outputs = RandomGraph(seed, dtype).build(80);
      std::vector<std::vector<std::byte>> plain;
      {
        OnlyPasses none({});
        plain = run(outputs);
      }
      const std::vector<std::vector<std::byte>> changed = run(outputs);
      Graph graph = graph_of(outputs);
      run_passes(graph);
      verify(graph);
      for (size_t o = 0; o < outputs.size(); ++o) {
        const std::vector<double> expected = numbers(plain[o], outputs[o].spec());
        const std::vector<double> actual = numbers(changed[o], outputs[o].spec());
        for (size_t i = 0; i < expected.size(); ++i)
          ASSERT_NEAR(actual[i], expected[i], dtype == DType::float64 ? 1e-5 + 1e-5 * std::abs(expected[i]) : 0)
              << "seed " << seed << " output " << o << " " << name_of(dtype);
      }
    }
}

}  // namespace
}  // namespace isochron::test
