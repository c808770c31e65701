#include "isochron/nn/module.h"

#include <gmock/gmock.h>
#include <cmath>

#include "isochron/nn/modules.h"
#include "isochron/nn/torch_losses.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/matmul.h"
#include "isochron/ops/random_key.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"
#include "isochron/optim/torch_optimizers.h"
#include "reference.h"

namespace isochron {
namespace {

struct SimpleModel : nn::Module {
  nn::Linear linear{100, 10};
  SimpleModel() { register_module("linear", linear); }
  Tensor forward(Tensor x) override { return linear(x); }
};

struct Net : nn::Module {
  SimpleModel body;
  nn::Dropout dropout{0.5};
  nn::Linear head{10, 2, {.bias = false}};
  Variable scale;
  Net() {
    scale = register_parameter("scale", ones({2}));
    register_buffer("seen", zeros({}));
    register_module("body", body);
    register_module("dropout", dropout);
    register_module("head", head);
  }
  Tensor forward(Tensor x) override { return head(dropout(body(x))) * scale; }
};

TEST(Module, ParametersHaveDottedNames) {
  Net net;
  std::vector<std::string> names;
  for (const auto& [name, parameter] : net.named_parameters()) names.push_back(name);
  EXPECT_THAT(names, testing::ElementsAre("scale", "body.linear.weight", "body.linear.bias", "head.weight"));
  EXPECT_EQ(net.parameters().size(), 4u);
  EXPECT_EQ(net.count_params(), 2 + 1000 + 10 + 20);
  ASSERT_EQ(net.named_buffers().size(), 1u);
  EXPECT_EQ(net.named_buffers()[0].first, "seen");
  EXPECT_EQ(net(zeros({3, 100})).shape(), Shape({3, 2}));
}

TEST(Module, TrainAndEvalReachEveryModule) {
  Net net;
  EXPECT_TRUE(net.dropout.is_training());
  net.eval();
  EXPECT_FALSE(net.is_training());
  EXPECT_FALSE(net.dropout.is_training());
  const Tensor x = ones({4, 100});
  EXPECT_TRUE(same_elements(net(x), net(x)));
  net.train();
  EXPECT_TRUE(net.dropout.is_training());
  EXPECT_FALSE(same_elements(net(x), net(x)));
}

TEST(Module, CopiesShareParametersAndMode) {
  Net net;
  Net copy = net;
  copy.scale.assign(zeros({2}));
  copy.eval();
  EXPECT_FALSE(net.dropout.is_training());
  EXPECT_EQ(sum(abs(net(ones({1, 100})))).item(), 0);
  EXPECT_EQ(net.parameters()[0].state(), copy.parameters()[0].state());
}

TEST(Module, ParametersSharedByModulesCountOnce) {
  struct Tied : nn::Module {
    nn::Linear linear{3, 3};
    Tied() {
      register_module("first", linear);
      register_module("second", linear);
    }
  } tied;
  EXPECT_EQ(tied.parameters().size(), 2u);
}

TEST(Module, TrainsByBackwardAndStep) {
  set_seed(2);
  SimpleModel net;
  optim::SGD optimizer(net.parameters(), {.lr = 0.01});
  const Tensor x = ones({4, 100}), y = zeros({4, 10});
  const double before = mse_loss(net(x), y).item();
  for (int i = 0; i < 20; ++i) {
    optimizer.zero_grad();
    const Tensor loss = mse_loss(net(x), y);
    loss.backward();
    optimizer.step();
  }
  EXPECT_LT(mse_loss(net(x), y).item(), 0.05 * before);
}

TEST(Module, FrozenParametersHaveNoGradient) {
  Net net;
  net.body.set_requires_grad(false);
  net.eval();
  sum(net(ones({1, 100}))).backward();
  EXPECT_FALSE(net.body.linear.weight.grad().defined());
  EXPECT_TRUE(net.head.weight.grad().defined());
  net.zero_grad();
  EXPECT_FALSE(net.head.weight.grad().defined());
}

TEST(Module, SummaryIsATree) {
  EXPECT_EQ(Net().summary(),
            "Net(\n"
            "  (body): SimpleModel(\n"
            "    (linear): Linear(in_features=100, out_features=10, bias=True)\n"
            "  )\n"
            "  (dropout): Dropout(p=0.5)\n"
            "  (head): Linear(in_features=10, out_features=2, bias=False)\n"
            ")\n"
            "parameters: 1032, trainable: 1032\n");
}

TEST(Module, RegistersModulesMadeInPlace) {
  struct Holder : nn::Module {
    nn::Linear linear = register_module("linear", nn::Linear(4, 2));
    Tensor forward(Tensor x) override { return linear(x); }
  } holder;
  EXPECT_EQ(holder.parameters()[0].state(), holder.linear.weight.state());
}

TEST(Module, SaysWhatDoesNotFit) {
  struct Bad : nn::Module {
    using Module::register_buffer;
    using Module::register_module;
    using Module::register_parameter;
  } bad;
  nn::Linear linear(2, 2);
  bad.register_module("linear", linear);
  EXPECT_ERROR(bad.register_module("linear", linear), ValueError, "\"linear\" is registered already");
  EXPECT_ERROR(bad.register_parameter("linear", ones({1})), ValueError, "\"linear\" is registered already");
  EXPECT_ERROR(bad.register_module("a.b", linear), ValueError, "got \"a.b\"");
  EXPECT_ERROR(bad.register_module("", linear), ValueError, "must not be empty");
  EXPECT_ERROR(bad.register_module("self", bad), ValueError, "holds the module it is registered in");
  EXPECT_ERROR(bad.register_parameter("count", arange(3)), DTypeError, "only floating tensors can be trained");
  EXPECT_ERROR(bad(ones({1})), StateError, "has no forward(Tensor)");
}

TEST(Linear, StartsAsPyTorchDoes) {
  const nn::Linear linear(400, 300);
  const double bound = 1 / std::sqrt(400.);
  for (const Tensor& parameter : {Tensor(linear.weight), Tensor(linear.bias)}) {
    EXPECT_LE(max(abs(parameter)).item(), bound);
    EXPECT_GT(max(abs(parameter)).item(), 0.95 * bound);
  }
  EXPECT_NEAR(isochron::std(linear.weight).item(), bound / std::sqrt(3.), 0.01 * bound);
}

TEST(Linear, MultipliesByTheTransposedWeight) {
  nn::Linear linear(2, 3);
  linear.weight.assign(tensor({{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}}));
  linear.bias.assign(tensor({0.f, 1.f, 2.f}));
  EXPECT_CLOSE(linear(tensor({{1.f, 1.f}})), tensor({{3.f, 8.f, 13.f}}), 1e-6, 0);
  EXPECT_ERROR(linear(ones({1, 3})), ShapeError, "takes (…, 2), got (1, 3)");
  EXPECT_ERROR(linear(ones({1, 2}, DType::float64)), DTypeError, "takes float32, got float64");
  EXPECT_ERROR(nn::Linear(0, 3), ValueError, "got 0 and 3");
}

struct Stack : nn::Module {
  nn::ModuleList layers{nn::Linear(2, 3)};
  Stack() {
    register_module("layers", layers);
    layers.append(nn::ReLU());
    layers.append(nn::Linear(3, 1));
  }
  Tensor forward(Tensor x) override {
    for (const auto& layer : layers) x = (*layer)(x);
    return x;
  }
};

TEST(ModuleList, HoldsModulesByNumber) {
  Stack net;
  std::vector<std::string> names;
  for (const auto& [name, parameter] : net.named_parameters()) names.push_back(name);
  EXPECT_THAT(names, testing::ElementsAre("layers.0.weight", "layers.0.bias", "layers.2.weight", "layers.2.bias"));
  EXPECT_EQ(net(ones({4, 2})).shape(), Shape({4, 1}));
  EXPECT_EQ(net.layers.size(), 3u);
  EXPECT_EQ(net.layers[-1](ones({4, 3})).shape(), Shape({4, 1}));
  net.eval();
  EXPECT_FALSE(net.layers[1].is_training());
  EXPECT_ERROR(net.layers[3], IndexError, "there are 3 entries, got index 3");
}

std::vector<std::string> names_of(const auto& entries) {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries) names.push_back(name);
  return names;
}

TEST(Module, StateGoesOutAndComesBack) {
  Net net, other;
  const auto state = net.state_dict();
  EXPECT_THAT(names_of(state),
              testing::ElementsAre("scale", "body.linear.weight", "body.linear.bias", "head.weight", "seen"));
  // What was given stays as it is while training goes on.
  net.scale.assign_add(ones({2}));
  EXPECT_CLOSE(state[0].second, ones({2}), 0, 0);
  EXPECT_TRUE(other.load_state_dict(state).missing_keys.empty());
  EXPECT_TRUE(same_elements(other.head.weight, net.head.weight));
  EXPECT_CLOSE(other.scale, ones({2}), 0, 0);
  // Values are taken over, not shared.
  net.head.weight.assign(zeros({2, 10}));
  EXPECT_GT(max(abs(other.head.weight)).item(), 0);
}

TEST(Module, StateThatDoesNotFitChangesNothing) {
  Net net;
  auto state = net.state_dict();
  state[0] = {"scales", ones({2})};
  state[1].second = zeros({10, 99});
  const Tensor bias = net.body.linear.bias.read();
  state[2].second = bias + 1;
  EXPECT_ERROR(net.load_state_dict(state), ValueError,
               "does not fit Net; nothing was loaded\n  missing (1): scale\n  extra (1): scales\n  mismatched (1): "
               "body.linear.weight is float32(10, 100), the state has float32(10, 99)");
  // Not strict is about names: shapes must fit either way.
  EXPECT_ERROR(net.load_state_dict(state, {.strict = false}), ValueError, "mismatched (1)");
  EXPECT_TRUE(same_elements(net.body.linear.bias, bias));
  state.erase(state.begin() + 1);
  const nn::IncompatibleKeys keys = net.load_state_dict(state, {.strict = false});
  EXPECT_THAT(keys.missing_keys, testing::ElementsAre("scale", "body.linear.weight"));
  EXPECT_THAT(keys.unexpected_keys, testing::ElementsAre("scales"));
  EXPECT_CLOSE(net.body.linear.bias, bias + 1, 0, 0);
  EXPECT_ERROR(net.load_state_dict({{"scale", Tensor()}}), ValueError, "\"scale\" is an undefined tensor");
}

TEST(Module, ModulesBelowAreFoundAndApplied) {
  Net net;
  EXPECT_THAT(names_of(net.named_children()), testing::ElementsAre("body", "dropout", "head"));
  EXPECT_EQ(net.children().size(), 3u);
  EXPECT_THAT(names_of(net.named_modules()), testing::ElementsAre("body", "body.linear", "dropout", "head"));
  int linears = 0;
  net.apply([&](nn::Module& module) {
    auto* linear = dynamic_cast<nn::Linear*>(&module);
    if (!linear) return;
    nn::init::constant_(linear->weight, 0.5);
    ++linears;
  });
  EXPECT_EQ(linears, 2);
  EXPECT_CLOSE(net.head.weight, full({2, 10}, 0.5f), 0, 0);
  EXPECT_CLOSE(net.body.linear.weight, full({10, 100}, 0.5f), 0, 0);
  nn::Sequential chain{nn::Linear(2, 3), nn::ReLU()};
  EXPECT_NE(dynamic_cast<nn::Linear*>(chain.children()[0].get()), nullptr);
  net.requires_grad_(false);
  EXPECT_FALSE(net.head.weight.requires_grad());
}

TEST(ModuleDict, HoldsModulesByName) {
  struct Heads : nn::Module {
    nn::ModuleDict heads{{"age", nn::Linear(2, 1)}};
    Heads() {
      register_module("heads", heads);
      heads.insert("kind", nn::Linear(2, 3));
    }
  } net;
  EXPECT_THAT(names_of(net.named_parameters()),
              testing::ElementsAre("heads.age.weight", "heads.age.bias", "heads.kind.weight", "heads.kind.bias"));
  EXPECT_EQ(net.heads["kind"](ones({4, 2})).shape(), Shape({4, 3}));
  EXPECT_TRUE(net.heads.contains("age"));
  EXPECT_ERROR(net.heads["kidn"], ValueError, "did you mean \"kind\"?");
  EXPECT_ERROR(net.heads.insert("age", nn::ReLU()), ValueError, "registered already");
}

TEST(ParameterList, HoldsParametersByNumber) {
  struct Powers : nn::Module {
    nn::ParameterList factors{ones({2}), zeros({3})};
    Powers() { register_module("factors", factors); }
  } net;
  net.factors.append(ones({1}));
  EXPECT_THAT(names_of(net.named_parameters()), testing::ElementsAre("factors.0", "factors.1", "factors.2"));
  EXPECT_EQ(net.factors[-2].shape(), Shape({3}));
  EXPECT_ERROR(net.factors[3], IndexError, "there are 3 entries, got index 3");
}

// Bounds and deviations of torch.nn.init, in closed form.
TEST(Init, FollowsPyTorchsFormulas) {
  set_seed(5);
  const Variable w(zeros({60, 20, 3, 3}));
  const double fan_in = 20 * 9, fan_out = 60 * 9;
  const auto expect_uniform = [&](double bound) {
    EXPECT_LE(max(abs(w)).item(), bound);
    EXPECT_GT(max(abs(w)).item(), 0.99 * bound);
    EXPECT_NEAR(isochron::std(w).item(), bound / std::sqrt(3.), 0.02 * bound);
  };
  const auto expect_normal = [&](double deviation) {
    EXPECT_NEAR(isochron::std(w).item(), deviation, 0.03 * deviation);
    EXPECT_GT(max(abs(w)).item(), 3 * deviation);
  };
  nn::init::xavier_uniform_(w, nn::init::calculate_gain("tanh"));
  expect_uniform(5. / 3 * std::sqrt(6 / (fan_in + fan_out)));
  nn::init::xavier_normal_(w);
  expect_normal(std::sqrt(2 / (fan_in + fan_out)));
  nn::init::kaiming_uniform_(w, {.a = std::sqrt(5.)});
  expect_uniform(1 / std::sqrt(fan_in));
  nn::init::kaiming_normal_(w, {.mode = "fan_out", .nonlinearity = "relu"});
  expect_normal(std::sqrt(2 / fan_out));
  nn::init::uniform_(w, -2, 2);
  expect_uniform(2);
  nn::init::normal_(w, 0, 0.3);
  expect_normal(0.3);
  nn::init::trunc_normal_(w, 0, 0.02);
  expect_normal(0.02);
  // A normal cut at one deviation has deviation 0.5396.
  nn::init::trunc_normal_(w, 1, 2, -1, 3);
  EXPECT_LE(max(w).item(), 3);
  EXPECT_GE(min(w).item(), -1);
  EXPECT_NEAR(isochron::std(w).item(), 2 * 0.5396, 0.03);
  const Variable square(zeros({4, 4})), wide(zeros({3, 2, 4}));
  nn::init::eye_(square);
  EXPECT_CLOSE(square, eye(4), 0, 0);
  nn::init::orthogonal_(wide, 2);
  const Tensor rows = reshape(wide, {3, 8});
  EXPECT_CLOSE(matmul(rows, rows, {.transpose_b = true}), 4 * eye(3), 1e-5, 1e-5);
  EXPECT_ERROR(nn::init::xavier_uniform_(Variable(zeros({3}))), ShapeError, "got (3,)");
  EXPECT_ERROR(nn::init::kaiming_normal_(w, {.mode = "fan_int"}), ValueError, "did you mean \"fan_in\"?");
  EXPECT_ERROR(nn::init::calculate_gain("rleu"), ValueError, "did you mean \"relu\"?");
}

TEST(ClipGrad, ScalesAllGradientsByTheirCommonNorm) {
  const Variable a(zeros({2})), b(zeros({1})), unused(ones({1}));
  const auto gradients = [&] {
    for (const Variable& v : {a, b}) v.zero_grad();
    (sum(a * tensor({2.f, -4.f})) + sum(b * 4)).backward();
  };
  gradients();
  EXPECT_NEAR(nn::utils::clip_grad_norm_({a, b, unused}, 3).item(), 6, 1e-6);
  EXPECT_CLOSE(a.grad(), tensor({1.f, -2.f}), 1e-6, 0);
  EXPECT_CLOSE(b.grad(), tensor({2.f}), 1e-6, 0);
  EXPECT_NEAR(nn::utils::clip_grad_norm_({a, b, unused}, 5).item(), 3, 1e-6);
  EXPECT_CLOSE(a.grad(), tensor({1.f, -2.f}), 1e-6, 0);
  gradients();
  EXPECT_NEAR(nn::utils::clip_grad_norm_({a, b}, 1, INFINITY).item(), 4, 1e-6);
  EXPECT_CLOSE(a.grad(), tensor({0.5f, -1.f}), 1e-6, 0);
  nn::utils::clip_grad_value_({a, b, unused}, 0.75);
  EXPECT_CLOSE(a.grad(), tensor({0.5f, -0.75f}), 1e-6, 0);
  EXPECT_FALSE(unused.grad().defined());
  EXPECT_EQ(nn::utils::clip_grad_norm_({unused}, 1).item(), 0);
  EXPECT_ERROR(nn::utils::clip_grad_norm_({a}, -1), ValueError, "max_norm must not be negative, got -1");
  EXPECT_ERROR(nn::utils::clip_grad_norm_({a}, 1, 0), ValueError, "norm_type must be positive, got 0");
}

TEST(Modules, SmallOnesAndChains) {
  const Tensor x = tensor({{-1.f, 0.5f}});
  EXPECT_CLOSE(nn::ReLU()(x), tensor({{0.f, 0.5f}}), 0, 0);
  EXPECT_CLOSE(nn::Tanh()(x), tanh(x), 1e-6, 0);
  EXPECT_CLOSE(nn::Sigmoid()(x), sigmoid(x), 1e-6, 0);
  EXPECT_EQ(nn::Flatten()(ones({2, 3, 4})).shape(), Shape({2, 12}));
  EXPECT_EQ(nn::Flatten(0, 1)(ones({2, 3, 4})).shape(), Shape({6, 4}));
  EXPECT_ERROR(nn::Flatten(2, 1)(ones({2, 3, 4})), ValueError, "must not come after");
  EXPECT_ERROR(nn::Dropout(-1), ValueError, "p must be in [0, 1]");
  nn::Sequential net{nn::Flatten(), nn::Linear(12, 5), nn::ReLU(), nn::Dropout(0.5), nn::Linear(5, 2)};
  EXPECT_EQ(net(ones({2, 3, 4})).shape(), Shape({2, 2}));
  EXPECT_EQ(net.named_parameters()[2].first, "4.weight");
}

TEST(Modules, TakeArgumentsInPyTorchsOrder) {
  const Tensor x = ones({1, 2, 6, 6});
  EXPECT_EQ(nn::MaxPool2d(2, 1)(x).shape(), Shape({1, 2, 5, 5}));
  EXPECT_EQ(nn::MaxPool2d(3, 2, 1)(x).shape(), Shape({1, 2, 3, 3}));
  EXPECT_EQ(nn::AvgPool2d({2, 2}, {2, 1})(x).shape(), Shape({1, 2, 3, 5}));
  EXPECT_FALSE(nn::Linear(4, 2, false).bias.defined());
  EXPECT_TRUE(nn::Linear(4, 2, true).bias.defined());
  nn::Sequential net(nn::Linear(4, 3), nn::ReLU(), nn::Linear(3, 2));
  EXPECT_EQ(net(ones({5, 4})).shape(), Shape({5, 2}));
  EXPECT_EQ(nn::Sequential(nn::Linear(4, 3)).parameters().size(), 2u);
  EXPECT_EQ(nn::Sequential(net).parameters().size(), 4u);
  nn::MultiheadAttention attend(4, 2);
  const Tensor q = ones({3, 1, 4}), k = ones({5, 1, 4});
  EXPECT_TRUE(same_elements(attend(q, k, k), attend.run(q, k, k)));
  EXPECT_EQ(attend(q).shape(), Shape({3, 1, 4}));
}

}  // namespace
}  // namespace isochron
