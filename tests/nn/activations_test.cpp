// Activations against Keras and PyTorch (references/activations.json), and sparsemax against what defines it.
#include "isochron/nn/activations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "isochron/graph/tape.h"
#include "isochron/nn/modules.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/random.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"
#include "reference.h"

namespace isochron {
namespace {

using nlohmann::json;
using reference::tensor_of;

const json& references() { return reference::read_file("activations.json"); }

void expect_activation(const json& test, const Tensor& x, const ActivationFunction& f) {
  SCOPED_TRACE(test["name"].get<std::string>() + test["options"].dump());
  const Variable variable(x);
  GradientTape tape;
  const Tensor y = f(variable);
  const Tensor gradient = tape.gradient(sum(y * tensor_of(test["dy"])), variable);
  // Both libraries round constants, such as slopes and sqrt(2), to float32.
  EXPECT_CLOSE(y, tensor_of(test["y"]), 1e-7, 1e-7);
  EXPECT_CLOSE(gradient, tensor_of(test["gradient"]), 1e-7, 1e-7);
}

// By the names of options of both libraries.
ActivationFunction with_options(const std::string& name, const json& o) {
  const auto option = [&](std::initializer_list<const char*> names) {
    for (const char* one : names)
      if (o.contains(one)) return o[one].get<double>();
    throw std::logic_error("no such option of " + name);
  };
  const auto function = [&](auto f) { return ActivationFunction(f); };
  if (name == "celu") return function([a = option({"alpha"})](const Tensor& x) { return celu(x, a); });
  if (name == "glu")
    return function([a = static_cast<int64_t>(option({"axis", "dim"}))](const Tensor& x) { return glu(x, a); });
  if (name == "hard_shrink")
    return function([t = option({"threshold", "lambd"})](const Tensor& x) { return hard_shrink(x, t); });
  if (name == "soft_shrink")
    return function([t = option({"threshold", "lambd"})](const Tensor& x) { return soft_shrink(x, t); });
  if (name == "squareplus") return function([b = option({"b"})](const Tensor& x) { return squareplus(x, b); });
  if (name == "hard_tanh")
    return function(
        [low = option({"min_val"}), high = option({"max_val"})](const Tensor& x) { return hard_tanh(x, low, high); });
  return function([t = option({"threshold"}), v = option({"default_value", "value"})](const Tensor& x) {
    return threshold(x, t, v);
  });
}

TEST(Activations, AreThoseOfKerasByName) {
  ASSERT_GT(references()["named"].size(), 20u);
  for (const json& test : references()["named"])
    expect_activation(test, tensor_of(references()["x"]), ActivationFunction(test["name"].get<std::string>()));
}

TEST(Activations, TakeTheOptionsOfKerasAndPyTorch) {
  const Tensor x = tensor_of(references()["x"]);
  for (const json& test : references()["keras"])
    expect_activation(test, x, with_options(test["name"], test["options"]));
  for (const json& test : references()["torch"])
    expect_activation(test, slice(x, {0}, {4}).eval(), with_options(test["name"], test["options"]));
}

std::shared_ptr<nn::Module> module_of(const std::string& name, const std::vector<double>& a) {
  using Makers = std::map<std::string, std::function<std::shared_ptr<nn::Module>()>>;
#define PLAIN(Class) {#Class, [] { return std::make_shared<nn::Class>(); }},
#define WITH_NUMBER(Class) \
  {#Class, [&] { return a.empty() ? std::make_shared<nn::Class>() : std::make_shared<nn::Class>(a[0]); }},
#define WITH_AXIS(Class)                                                                                         \
  {#Class, [&] {                                                                                                 \
     return a.empty() ? std::make_shared<nn::Class>() : std::make_shared<nn::Class>(static_cast<int64_t>(a[0])); \
   }},
  const Makers makers = {
      ISO_FOR_EACH(PLAIN, ReLU, ReLU6, Tanh, Sigmoid, SELU, SiLU, Mish, Softsign, LogSigmoid, Hardsigmoid, Hardswish,
                   Tanhshrink, GELU)                                                     //
      ISO_FOR_EACH(WITH_NUMBER, LeakyReLU, ELU, CELU, Softplus, Hardshrink, Softshrink)  //
      ISO_FOR_EACH(WITH_AXIS, GLU, Softmax, LogSoftmax)                                  //
      {"Hardtanh",
       [&] { return a.empty() ? std::make_shared<nn::Hardtanh>() : std::make_shared<nn::Hardtanh>(a[0], a[1]); }},
      {"Threshold", [&] { return std::make_shared<nn::Threshold>(a[0], a[1]); }},
      {"PReLU",
       [&] {
         return a.empty() ? std::make_shared<nn::PReLU>(1, 0.25, DType::float64)
                          : std::make_shared<nn::PReLU>(static_cast<int64_t>(a[0]), a[1], DType::float64);
       }},
  };
#undef PLAIN
#undef WITH_NUMBER
#undef WITH_AXIS
  return makers.at(name)();
}

TEST(ActivationModules, AreThoseOfPyTorch) {
  const Tensor x = slice(tensor_of(references()["x"]), {0}, {4}).eval();
  ASSERT_GT(references()["modules"].size(), 30u);
  for (const json& test : references()["modules"]) {
    SCOPED_TRACE(test["arguments"].dump());
    const std::shared_ptr<nn::Module> module = module_of(test["name"], test["arguments"]);
    expect_activation(test, x, [&](const Tensor& given) { return (*module)(given); });
  }
}

TEST(ActivationModules, SayWhatTheyAre) {
  EXPECT_THAT(nn::GELU("tanh").summary(), testing::HasSubstr("GELU(approximate='tanh')"));
  EXPECT_ERROR(nn::GELU("erf"), ValueError, "must be \"none\" or \"tanh\", got \"erf\"");
  EXPECT_ERROR(nn::PReLU(0), ValueError, "at least 1, got 0");
  EXPECT_ERROR(nn::PReLU(3)(zeros({2, 4})), ShapeError, "3 channels on axis 1, got (2, 4)");
}

// The point of the simplex that is nearest to x: max(x - t, 0) with the t, found by halving, for which it sums to 1.
std::vector<double> nearest_distribution(const std::vector<double>& x) {
  double low = *std::max_element(x.begin(), x.end()) - 1, high = low + 1;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    double total = 0;
    for (const double v : x) total += std::max(v - middle, 0.);
    (total > 1 ? low : high) = middle;
  }
  std::vector<double> out;
  for (const double v : x) out.push_back(std::max(v - low, 0.));
  return out;
}

TEST(Activations, SparsemaxIsTheNearestDistribution) {
  const Tensor x = random_normal({6, 5}, 0, 1, {.seed = 2, .dtype = DType::float64}).eval();
  const std::vector<double> given = x.to_vector<double>();
  std::vector<double> expected;
  for (size_t row = 0; row < 6; ++row) {
    const auto begin = given.begin() + static_cast<ptrdiff_t>(row * 5);
    for (const double v : nearest_distribution({begin, begin + 5})) expected.push_back(v);
  }
  EXPECT_CLOSE(sparsemax(x), tensor(expected, {6, 5}), 1e-9, 1e-12);
  EXPECT_CLOSE(transpose(sparsemax(transpose(x), 0)), tensor(expected, {6, 5}), 1e-9, 1e-12);
  EXPECT_CLOSE(sparsemax(tensor({{2.f, 2.f, 0.f}})), tensor({{0.5f, 0.5f, 0.f}}), 0, 0);
  EXPECT_CLOSE(sparsemax(tensor({{1e10f, 0.f}, {-1e10f, -1e10f}})), tensor({{1.f, 0.f}, {0.5f, 0.5f}}), 0, 0);
  EXPECT_TRUE(std::isnan(sum(sparsemax(tensor({{NAN, 1.f}}))).item()));
}

TEST(Activations, SayWhatDoesNotFit) {
  const Tensor x = zeros({2, 3});
  EXPECT_ERROR(glu(x), ShapeError, "needs two halves along axis -1, got shape (2, 3)");
  EXPECT_EQ(glu(x, 0).shape(), Shape({1, 3}));
  EXPECT_ERROR(celu(x, 0), ValueError, "alpha must be positive, got 0");
  EXPECT_ERROR(squareplus(x, -1), ValueError, "b must be positive, got -1");
  EXPECT_ERROR(soft_shrink(x, -1), ValueError, "must not be negative");
}

}  // namespace
}  // namespace isochron
