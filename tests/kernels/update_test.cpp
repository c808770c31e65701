// Every update rule must retrace the losses Keras and PyTorch report for one small network (references/curves.json).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "isochron/kernels/isa.h"
#include "isochron/kernels/optimizer/update.h"
#include "tests/source_dir.h"

namespace isochron::kernels {
namespace {

using nlohmann::json;
constexpr int kRows = 16, kFeatures = 8, kHidden = 16, kClasses = 3, kSteps = 100;

const json& references() {
  static const json all = json::parse(std::ifstream(ISOCHRON_SOURCE_DIR "/tests/references/curves.json"));
  return all;
}

template <class T>
struct Parameter {
  std::vector<T> value, grad, s0, s1, s2;
  explicit Parameter(const std::string& name, double first_state)
      : value(references()["weights"][name]["data"].get<std::vector<T>>()),
        grad(value.size()),
        s0(value.size(), static_cast<T>(first_state)),
        s1(value.size()),
        s2(value.size()) {}
};

// x -> tanh(x w1 + b1) w2 + b2 -> mean softmax cross-entropy; fills the gradients, returns the loss.
template <class T>
double loss_and_gradients(std::vector<Parameter<T>>& parameters, const json& batch) {
  auto& [w1, b1, w2, b2] = *reinterpret_cast<std::array<Parameter<T>, 4>*>(parameters.data());
  for (auto& p : parameters) std::fill(p.grad.begin(), p.grad.end(), T{0});
  const auto x = batch["x"]["data"].get<std::vector<double>>();
  const auto labels = batch["labels"]["data"].get<std::vector<int>>();
  double loss = 0;
  for (int r = 0; r < kRows; ++r) {
    double h[kHidden], z[kClasses], dh[kHidden] = {}, sum = 0;
    for (int j = 0; j < kHidden; ++j) {
      double a = b1.value[j];
      for (int i = 0; i < kFeatures; ++i) a += x[r * kFeatures + i] * w1.value[i * kHidden + j];
      h[j] = std::tanh(a);
    }
    for (int c = 0; c < kClasses; ++c) {
      z[c] = b2.value[c];
      for (int j = 0; j < kHidden; ++j) z[c] += h[j] * w2.value[j * kClasses + c];
      sum += std::exp(z[c]);
    }
    loss += (std::log(sum) - z[labels[r]]) / kRows;
    for (int c = 0; c < kClasses; ++c) {
      const double dz = (std::exp(z[c]) / sum - (c == labels[r])) / kRows;
      b2.grad[c] += static_cast<T>(dz);
      for (int j = 0; j < kHidden; ++j) {
        w2.grad[j * kClasses + c] += static_cast<T>(h[j] * dz);
        dh[j] += w2.value[j * kClasses + c] * dz;
      }
    }
    for (int j = 0; j < kHidden; ++j) {
      const double da = dh[j] * (1 - h[j] * h[j]);
      b1.grad[j] += static_cast<T>(da);
      for (int i = 0; i < kFeatures; ++i) w1.grad[i * kHidden + j] += static_cast<T>(x[r * kFeatures + i] * da);
    }
  }
  return loss;
}

// A curve's rule and hyperparameters, defaults of the source library included.
struct Setting {
  UpdateRule rule;
  double lr, beta1 = 0, beta2 = 0, epsilon = 0, weight_decay = 0, dampening = 0, momentum_decay = 1;
  double first_state = 0;
};

Setting setting_of(const json& curve) {
  const json& config = curve["optimizer_config"];
  const bool torch = curve["source"] == "torch";
  Setting s;
  s.rule.pytorch = torch;
  s.lr = config.value(torch ? "lr" : "learning_rate", 0.0);
  s.rule.nesterov = config.value("nesterov", false);
  s.rule.centered = config.value("centered", false);
  s.rule.amsgrad = config.value("amsgrad", false);
  s.rule.momentum = config.contains("momentum");
  s.rule.coupled_decay = torch && curve["optimizer"] != "AdamW";
  s.weight_decay = config.value("weight_decay", 0.0);
  s.dampening = config.value("dampening", 0.0);
  const std::string method = curve["optimizer"];
  if (method == "SGD") {
    s.beta1 = config.value("momentum", 0.0);
    return s;
  }
  s.beta1 = 0.9, s.beta2 = 0.999, s.epsilon = torch ? 1e-8 : 1e-7;
  if (method == "RMSprop") {
    s.rule.method = UpdateMethod::rmsprop;
    s.beta1 = config.value("momentum", 0.0), s.beta2 = torch ? 0.99 : 0.9;
  } else if (method == "Adam" || method == "AdamW") {
    s.rule.method = UpdateMethod::adam;
    if (method == "AdamW") s.weight_decay = config.value("weight_decay", torch ? 0.01 : 0.004);
  } else if (method == "Adamax") {
    s.rule.method = UpdateMethod::adamax;
  } else if (method == "Nadam" || method == "NAdam") {
    s.rule.method = UpdateMethod::nadam;
    if (torch) s.momentum_decay = 0.004;
  } else if (method == "RAdam") {
    s.rule.method = UpdateMethod::radam;
    s.rule.coupled_decay = !config.value("decoupled_weight_decay", false);
  } else if (method == "Adagrad") {
    s.rule.method = UpdateMethod::adagrad;
    if (torch) s.epsilon = 1e-10;
    if (!torch) s.first_state = 0.1;
  } else if (method == "Adadelta") {
    s.rule.method = UpdateMethod::adadelta;
    s.beta2 = torch ? 0.9 : 0.95;
    if (torch) s.epsilon = 1e-6;
  } else if (method == "Lion") {
    s.rule.method = UpdateMethod::lion;
    s.beta2 = 0.99;
  }
  s.beta1 = config.value("beta_1", s.beta1);
  s.beta2 = config.value("beta_2", s.beta2);
  s.epsilon = config.value("epsilon", s.epsilon);
  if (config.contains("betas")) s.beta1 = config["betas"][0], s.beta2 = config["betas"][1];
  return s;
}

template <class T>
void fill_scalars(const Setting& s, int step, double& nadam_product, T* scalars) {
  const auto nadam_beta = [&](int t) { return s.beta1 * (1 - 0.5 * std::pow(0.96, t * s.momentum_decay)); };
  const double now = nadam_beta(step), next = nadam_beta(step + 1);
  nadam_product *= now;
  std::map<UpdateScalar, double> values = {
      {kLr, s.lr},
      {kGradScale, 0.5},
      {kBeta1, s.beta1},
      {kOneMinusBeta1, 1 - s.beta1},
      {kBeta2, s.beta2},
      {kOneMinusBeta2, 1 - s.beta2},
      {kEpsilon, s.epsilon},
      {kCorrection1, 1 - std::pow(s.beta1, step)},
      {kCorrection2, 1 - std::pow(s.beta2, step)},
      {kNadamMoment, next / (1 - nadam_product * next)},
      {kNadamGradient, (1 - now) / (1 - nadam_product)},
      {kRectifier, 0},
  };
  const double end = 2 / (1 - s.beta2) - 1, length = end - 2 * step * (1 / values[kCorrection2] - 1);
  if (length > 5) values[kRectifier] = std::sqrt((length - 4) * (length - 2) * end / ((end - 4) * (end - 2) * length));
  if (s.rule.method == UpdateMethod::sgd) values[kOneMinusBeta1] = step == 1 ? 1 : 1 - s.dampening;
  for (const auto& [index, value] : values) scalars[index] = static_cast<T>(value);
}

template <class T>
void expect_curve(const json& curve) {
  const Setting s = setting_of(curve);
  std::vector<Parameter<T>> parameters;
  for (const char* name : {"kernel1", "bias1", "kernel2", "bias2"}) parameters.emplace_back(name, s.first_state);
  double nadam_product = 1;
  for (int step = 0; step < kSteps; ++step) {
    const double loss = loss_and_gradients(parameters, references()["batches"][step % 25]);
    const double wanted = curve["losses"][step];
    ASSERT_NEAR(loss, wanted, 1e-4 * wanted) << curve["source"] << ' ' << curve["name"] << " step " << step;
    T scalars[kUpdateScalars];
    fill_scalars(s, step + 1, nadam_product, scalars);
    std::vector<TensorSlices<T>> tensors;
    for (auto& p : parameters) {
      for (T& g : p.grad) g *= 2;  // undone by kGradScale
      tensors.push_back({p.value.data(), p.grad.data(), p.s0.data(), p.s1.data(), p.s2.data(),
                         static_cast<int64_t>(p.value.size()), static_cast<T>(s.weight_decay), T{1}});
    }
    for (int thread = 0; thread < 3; ++thread)
      update_tensors(s.rule, tensors.data(), static_cast<int64_t>(tensors.size()), scalars, thread, 3);
  }
}

// Clipping, averaging and accumulation are not the kernel's, nor methods that are made of several ops.
bool plain_update(const json& curve) {
  const json& config = curve["optimizer_config"];
  for (const char* composed : {"Ftrl", "Lamb", "Adafactor", "Muon"})
    if (curve["optimizer"] == composed) return false;
  for (const char* key : {"clipnorm", "clipvalue", "global_clipnorm", "use_ema", "gradient_accumulation_steps"})
    if (config.contains(key)) return false;
  return curve["loss"] == "sparse_categorical_crossentropy" && curve["output"] == "linear";
}

TEST(Update, RetracesKerasAndPyTorch) {
  for_each_isa([](std::string_view isa) {
    SCOPED_TRACE(isa);
    int curves = 0;
    for (const json& curve : references()["curves"]) {
      if (!plain_update(curve)) continue;
      ++curves;
      expect_curve<float>(curve);
      expect_curve<double>(curve);
    }
    EXPECT_GE(curves, 35);
  });
}

struct Model {
  std::vector<float> p, m, v;
  explicit Model(int64_t n) : p(n), m(n), v(n) {
    for (int64_t i = 0; i < n; ++i)
      p[i] = 0.01f * static_cast<float>(i % 31 - 15), v[i] = 0.001f * static_cast<float>(i % 7);
  }
  TensorSlices<float> slices(const float* grad) {
    return {p.data(), grad, m.data(), v.data(), nullptr, static_cast<int64_t>(p.size()), 0.01f, 0.5f};
  }
};

const std::vector<float> kAdamScalars = {0.01f, 1.0f, 0.9f, 0.1f, 0.999f, 0.001f, 1e-7f, 0.1f, 0.001f, 0.0f, 0.0f};

TEST(Update, EveryElementMovesOnceWhateverTheThreads) {
  float scalars[kUpdateScalars] = {};
  scalars[kLr] = scalars[kGradScale] = 1;
  for (int threads = 1; threads <= 5; ++threads) {
    std::vector<std::vector<float>> values, grads;
    std::vector<TensorSlices<float>> tensors;
    for (const size_t size : {10, 5000, 1023, 0, 4096, 1, 100000, 7, 2048}) {
      std::vector<float>& value = values.emplace_back(size, 3.0f);
      const std::vector<float>& grad = grads.emplace_back(size, 1.0f);
      tensors.push_back({value.data(), grad.data(), nullptr, nullptr, nullptr, static_cast<int64_t>(size)});
    }
    for (int thread = 0; thread < threads; ++thread)
      update_tensors({}, tensors.data(), static_cast<int64_t>(tensors.size()), scalars, thread, threads);
    for (const std::vector<float>& value : values)
      for (const float moved : value) ASSERT_EQ(moved, 2.0f) << value.size() << " on " << threads << " threads";
  }
}

// One call over all tensors, blocks of a product and the outer product itself must give the same bits.
TEST(Update, BlocksAndOuterProductsEqualTheWholeUpdate) {
  const UpdateRule rule{.method = UpdateMethod::adam};
  const int64_t rows = 37, cols = 45;
  std::vector<float> x(rows), dy(cols), grad(rows * cols);
  for (int64_t i = 0; i < rows; ++i) x[i] = 0.1f * static_cast<float>(i - 11);
  for (int64_t j = 0; j < cols; ++j) dy[j] = 0.02f * static_cast<float>(j % 13 - 6);
  for (int64_t i = 0; i < rows * cols; ++i) grad[i] = x[i / cols] * dy[i % cols];
  for_each_isa([&](std::string_view isa) {
    SCOPED_TRACE(isa);
    Model whole(rows * cols), blocks(rows * cols), outer(rows * cols);
    const auto tensor = whole.slices(grad.data());
    for (int t = 0; t < 2; ++t) update_tensors(rule, &tensor, 1, kAdamScalars.data(), t, 2);
    for (int64_t row = 0; row < rows; row += 10)
      for (int64_t col = 0; col < cols; col += 20)
        BlockUpdate<float>(rule, blocks.slices(nullptr), kAdamScalars.data())
            .apply(row * cols + col, cols, std::min<int64_t>(10, rows - row), std::min<int64_t>(20, cols - col),
                   grad.data() + row * cols + col, cols);
    for (int t = 0; t < 2; ++t)
      update_outer_product(rule, outer.slices(nullptr), kAdamScalars.data(), rows, cols, x.data(), dy.data(), t, 2);
    EXPECT_EQ(whole.p, blocks.p);
    EXPECT_EQ(whole.m, blocks.m);
    EXPECT_EQ(whole.v, blocks.v);
    EXPECT_EQ(whole.p, outer.p);
    EXPECT_EQ(whole.m, outer.m);
    EXPECT_EQ(whole.v, outer.v);
  });
}

// The first Adam step with a zero state moves every weight by lr against the sign of its gradient; a gradient of zero
// moves nothing, an overflowing square does not become NaN, in later steps neither.
TEST(Update, AdamAtTheEdges) {
  for_each_isa([](std::string_view isa) {
    SCOPED_TRACE(isa);
    for (bool pytorch : {false, true}) {
      const UpdateRule rule{.method = UpdateMethod::adam, .pytorch = pytorch};
      const std::vector<float> grad = {0.0f, 1.0f, -1.0f, 0.1f, -30.0f, 1e12f, -1e15f, 0.0f, 2.0f};
      std::vector<float> p(9, 1.0f), m(9), v(9);
      const TensorSlices<float> tensor{p.data(), grad.data(), m.data(), v.data(), nullptr, 9};
      update_tensors(rule, &tensor, 1, kAdamScalars.data(), 0, 1);
      for (size_t i = 0; i < p.size(); ++i) {
        const float sign = static_cast<float>((grad[i] > 0) - (grad[i] < 0));
        EXPECT_NEAR(p[i], 1 - 0.01f * sign, 1e-5) << grad[i];
      }
      const float huge = 1e25f;
      const TensorSlices<float> one{p.data(), &huge, m.data(), v.data(), nullptr, 1};
      for (int step = 0; step < 3; ++step) {
        update_tensors(rule, &one, 1, kAdamScalars.data(), 0, 1);
        EXPECT_TRUE(std::isfinite(p[0])) << step;
      }
    }
  });
}

}  // namespace
}  // namespace isochron::kernels
