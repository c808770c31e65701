#include "isochron/nn/initializers.h"

#include <gtest/gtest.h>
#include <cmath>

#include "isochron/base/threads.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/matmul.h"
#include "isochron/ops/random_key.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"
#include "isochron/tensor/deferred.h"
#include "reference.h"

namespace isochron {
namespace {

using nlohmann::json;

const json& references() {
  static const json file = reference::read_file("initializers.json");
  return file["initializers"];
}

Initializer initializer_of(const json& entry) {
  const std::string name = entry["initializer"];
  const json& c = entry["config"];
  if (c.empty()) return name;
  if (name == "constant") return initializers::constant(c["value"]);
  if (name == "random_normal") return initializers::random_normal({c["mean"], c["stddev"]});
  if (name == "truncated_normal") return initializers::truncated_normal({c["mean"], c["stddev"]});
  if (name == "random_uniform") return initializers::random_uniform({c["minval"], c["maxval"]});
  if (name == "orthogonal") return initializers::orthogonal(c["gain"]);
  return initializers::variance_scaling({c["scale"], c["mode"], c["distribution"]});
}

struct Statistics {
  double mean = 0, std = 0, min = INFINITY, max = -INFINITY;
};

// Over as many tensors as make the reference's sample.
Statistics measure(const Initializer& initializer, const Shape& shape, int64_t sample) {
  Statistics s;
  double sum = 0, squares = 0;
  int64_t count = 0;
  while (count < sample) {
    for (const double v : initializer(shape).to_vector<double>()) {
      sum += v;
      squares += v * v;
      s.min = std::min(s.min, v);
      s.max = std::max(s.max, v);
      ++count;
    }
  }
  s.mean = sum / static_cast<double>(count);
  s.std = std::sqrt(std::max(0., squares / static_cast<double>(count) - s.mean * s.mean));
  return s;
}

TEST(Initializers, DistributionsAreThoseOfKeras) {
  set_seed(1);
  for (const json& entry : references()) {
    if (!entry.contains("std")) continue;
    SCOPED_TRACE(entry["initializer"].get<std::string>() + entry["config"].dump() + entry["shape"].dump());
    const int64_t sample = entry["sample_size"];
    const Statistics ours = measure(initializer_of(entry), Shape(entry["shape"].get<std::vector<int64_t>>()), sample);
    const double std = entry["std"], root = std::sqrt(static_cast<double>(sample));
    // Both are samples: five standard errors of their difference.
    EXPECT_NEAR(ours.mean, entry["mean"].get<double>(), 5 * std::sqrt(2.) * std / root + 1e-7);
    EXPECT_NEAR(ours.std, std, 5 * std::sqrt(2.) * std / root + 1e-7);
    const bool bounded =
        entry["initializer"] != "random_normal" && entry["config"].value("distribution", "") != "untruncated_normal";
    if (bounded) {
      EXPECT_NEAR(ours.min, entry["min"].get<double>(), 1e-3 * std + 1e-7);
      EXPECT_NEAR(ours.max, entry["max"].get<double>(), 1e-3 * std + 1e-7);
    }
  }
}

TEST(Initializers, OrthogonalRowsOrColumnsAreOrthonormal) {
  int cases = 0;
  for (const json& entry : references()) {
    if (!entry.contains("gram_diagonal")) continue;
    SCOPED_TRACE(entry["shape"].dump());
    ++cases;
    const Shape shape(entry["shape"].get<std::vector<int64_t>>());
    const Tensor matrix = reshape(initializer_of(entry)(shape, DType::float64), {-1, shape[-1]});
    const bool tall = matrix.shape()[0] >= matrix.shape()[1];
    const Tensor gram = matmul(matrix, matrix, {.transpose_a = tall, .transpose_b = !tall});
    const Tensor expected = entry["gram_diagonal"].get<double>() * eye(gram.shape()[0], -1, DType::float64);
    EXPECT_CLOSE(gram, expected, 0, 1e-12);
  }
  EXPECT_EQ(cases, 4);
}

TEST(Initializers, ASeedGivesTheSameWeightsForAnyNumberOfThreads) {
  const Initializer initializer = initializers::he_normal(42);
  const int threads = ThreadTeam::global().size();
  set_num_threads(1);
  const Tensor one = initializer({700, 300});
  set_num_threads(2);
  const Tensor two = initializer({700, 300});
  set_num_threads(threads);
  EXPECT_TRUE(same_elements(one, two));
  EXPECT_FALSE(same_elements(one, initializers::he_normal(43)({700, 300})));
}

TEST(Initializers, TheGlobalSeedSetsTheSequence) {
  set_seed(5);
  const Tensor first = Initializer("glorot_uniform")({8, 8}), second = Initializer("glorot_uniform")({8, 8});
  EXPECT_FALSE(same_elements(first, second));
  set_seed(5);
  EXPECT_TRUE(same_elements(first, Initializer("glorot_uniform")({8, 8})));
}

TEST(Initializers, SayWhatDoesNotFit) {
  EXPECT_EQ(Initializer("Orthogonal").name(), "orthogonal");
  EXPECT_ERROR(Initializer("glorot_unifrom"), ValueError, "did you mean \"glorot_uniform\"?");
  EXPECT_ERROR(initializers::variance_scaling({.mode = "fan"}), ValueError, "unknown mode \"fan\"");
  EXPECT_ERROR(initializers::variance_scaling({.scale = 0}), ValueError, "scale must be positive");
  EXPECT_ERROR(initializers::random_uniform({.minval = 1, .maxval = 0}), ValueError, "minval must be below maxval");
  EXPECT_ERROR(Initializer("orthogonal")({5}), ShapeError, "at least two axes");
}

TEST(Initializers, TakeNoMemoryForALargeTensorBeforeItIsRead) {
  const Tensor huge = Initializer("zeros")({1 << 20, 1 << 20, 8});
  EXPECT_FALSE(is_present(huge.value().node->results[0]));
  EXPECT_ERROR(huge.raw_data(), MemoryError, "GB");
  EXPECT_ERROR(Initializer("zeros")({1 << 20, 1 << 20, 1 << 10}), MemoryError,
               "has no room for a tensor of 4503600 GB");
}

TEST(Initializers, GiveALargeTensorTheNumbersOfItsTurn) {
  const Shape shape{4200, 4000};
  set_seed(5);
  const Tensor large = Initializer("glorot_uniform")(shape);
  const Tensor small = Initializer("glorot_uniform")({3});
  set_seed(5);
  Initializer("random_normal")({1});  // takes the turn of the large one
  EXPECT_TRUE(same_elements(small, Initializer("glorot_uniform")({3})));
  ASSERT_FALSE(is_present(large.value().node->results[0]));
  const double limit = std::sqrt(6.0 / 8200);
  for (const int64_t at : {int64_t{0}, large.elements() / 2, large.elements() - 1})
    EXPECT_LE(std::fabs(large.data<float>()[at]), limit);
  EXPECT_NE(large.data<float>()[0], large.data<float>()[1]);
}

TEST(Initializers, ThoseThatAreNotRandomUseUpNoRandomNumbers) {
  set_seed(3);
  const Initializer normal("random_normal");
  const Tensor expected = normal({4}).eval();
  set_seed(3);
  for (const char* name : {"zeros", "ones", "identity"}) {
    const Initializer fixed(name);
    fixed({2, 2}).eval();
  }
  EXPECT_TRUE(same_elements(normal({4}), expected));
}

TEST(Initializers, HaveKerasOtherNames) {
  EXPECT_EQ(Initializer("uniform").name(), "random_uniform");
  EXPECT_EQ(Initializer("normal").name(), "random_normal");
  EXPECT_TRUE(same_elements(Initializer("zero")({2}), zeros({2})));
  EXPECT_TRUE(same_elements(Initializer("one")({2}), ones({2})));
  EXPECT_TRUE(same_elements(Initializer("identity")({2, 3}), tensor({{1.f, 0.f, 0.f}, {0.f, 1.f, 0.f}})));
  EXPECT_TRUE(same_elements(initializers::identity(2)({2, 2}), tensor({{2.f, 0.f}, {0.f, 2.f}})));
  EXPECT_ERROR(initializers::identity()({2, 2, 2}), ShapeError, "starts matrices, got a weight of shape (2, 2, 2)");
}

}  // namespace
}  // namespace isochron
