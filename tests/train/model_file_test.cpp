// Whole models in a file: every layer, every optimizer, training that goes on.
#include "isochron/train/model_file.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>

#include "isochron/base/files.h"
#include "isochron/base/rng.h"
#include "isochron/isochron.h"
#include "isochron/train/training.h"
#include "tests/source_dir.h"

namespace isochron {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Tensor noise(const Shape& shape, uint64_t seed = 7) { return random_normal(shape, 0, 1, {.seed = seed}).eval(); }
// Small whole numbers.
Tensor tokens(const Shape& shape) { return cast(random_integers(shape, 0, 5, 3), DType::float32).eval(); }

void expect_same(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.spec(), b.spec());
  EXPECT_EQ(a.to_vector<double>(), b.to_vector<double>());
}

std::string saved(const Model& model, const TempFolder& folder) {
  const std::string path = folder.file("m.iso");
  model.save(path);
  return path;
}

void expect_round_trip(Model& model, const Tensors& x) {
  const TempFolder folder;
  const std::vector<Tensor> before = model.predict_all(x);
  const auto loaded = load_model(saved(model, folder));
  EXPECT_EQ(loaded->get_config(), model.get_config());
  const std::vector<Tensor> after = loaded->predict_all(x);
  ASSERT_EQ(after.size(), before.size());
  for (size_t i = 0; i < before.size(); ++i) expect_same(after[i], before[i]);
}

struct LayerCase {
  std::shared_ptr<Layer> layer;  // with options that are not the defaults
  Tensor x;
};

template <class L>
LayerCase of(L layer, Tensor x) {
  return {std::make_shared<L>(std::move(layer)), std::move(x)};
}

const std::map<std::string, LayerCase>& layer_cases() {
  static const std::map<std::string, LayerCase> cases = [] {
    const Tensor flat = noise({3, 6}), sequence = noise({2, 8, 4}), image = noise({2, 6, 6, 4}),
                 volume = noise({1, 4, 4, 4, 2}), words = tokens({2, 4});
    std::map<std::string, LayerCase> all;
    const auto add = [&](LayerCase one) { all.emplace(one.layer->class_name(), std::move(one)); };
    add(of(Dense(3, {.activation = "gelu",
                     .use_bias = false,
                     .kernel_initializer = initializers::random_normal({.stddev = 0.2, .seed = 1}),
                     .kernel_regularizer = l1_l2(0.1, 0.2),
                     .activity_regularizer = l1(0.3),
                     .kernel_constraint = max_norm(1.5)}),
           flat));
    add(of(Activation("softmax"), flat));
    add(of(EinsumDense("abc,cde->abde", {-1, 2, 3}, {.activation = "tanh", .bias_axes = "e"}), sequence));
    add(of(Flatten({.data_format = "channels_first"}), image));
    add(of(Reshape({2, -1}), flat));
    add(of(Permute({3, 1, 2}), image));
    add(of(RepeatVector(3), flat));
    add(of(Identity(), flat));
    add(of(ReLU({.max_value = 0.7, .negative_slope = 0.2, .threshold = 0.1}), flat));
    add(of(LeakyReLU({.negative_slope = 0.1}), flat));
    add(of(ELU({.alpha = 0.5}), flat));
    add(of(PReLU({.alpha_initializer = initializers::constant(0.3), .shared_axes = {1}}), image));
    add(of(Softmax({.axis = 1}), image));
    add(of(UnitNormalization({.axis = {1, 2}}), sequence));
    add(of(Dropout(0.25, {.noise_shape = {-1, 1}, .seed = 5}), flat));
    add(of(Rescaling(0.5, -2), flat));
    add(of(ActivityRegularization({.l1 = 0.1, .l2 = 0.2}), flat));
    add(of(Normalization({.axis = {1}, .mean = noise({6}), .variance = abs(noise({6})).eval()}), flat));
    add(of(Embedding(5, 3, {.embeddings_initializer = initializers::orthogonal(2, 9), .mask_zero = true}), words));
    add(of(Masking(0.5), sequence));
    add(of(TimeDistributed(Dense(3, {.activation = "tanh"})), sequence));
    add(of(Bidirectional(LSTM(3, {.return_sequences = true}), {.merge_mode = "mul"}), sequence));
    add(of(Recompute(Sequential{Dense(4, {.activation = "relu"}), Dense(2)}), flat));
    add(of(SimpleRNN(3, {.activation = "relu", .kernel_regularizer = "l2", .go_backwards = true}), sequence));
    add(of(LSTM(3, {.recurrent_activation = "hard_sigmoid", .unit_forget_bias = false, .return_sequences = true}),
           sequence));
    add(of(GRU(3, {.reset_after = false, .dropout = 0.1, .seed = 4}), sequence));
    const Tensor film = noise({2, 3, 4, 4, 2});
    add(of(ConvLSTM1D(3, 2, {.strides = 2, .padding = "same", .return_sequences = true}), image));
    add(of(ConvLSTM2D(3, {2, 3}, {.recurrent_activation = "hard_sigmoid", .recurrent_dropout = 0.1, .seed = 4}), film));
    add(of(ConvLSTM3D(2, 2, {.data_format = "channels_first", .dilation_rate = {1, 1, 2}, .go_backwards = true}),
           noise({1, 2, 2, 3, 3, 4})));
    add(of(MultiHeadAttention(2, 4, {.value_dim = 3, .output_shape = 5, .use_causal_mask = true, .rotary = true}),
           sequence));
    add(of(GroupQueryAttention(4, 6, 2, {.sliding_window = 3, .use_gate = true, .use_causal_mask = true}), sequence));
    add(of(SpectralNormalization(Conv1D(3, 2), {.power_iterations = 2}), sequence));
    add(of(TransformerEncoderLayer(2, 8, {.activation = "gelu", .norm_first = true}), sequence));
    add(of(TransformerDecoderLayer(2, 8, {.layer_norm_epsilon = 1e-4, .rotary = true}), sequence));
    add(of(PositionEmbedding(10), sequence));
    add(of(SinusoidalPositions(), sequence));
    add(of(Conv1D(3, 2, {.padding = "causal", .dilation_rate = 2}), sequence));
    add(of(Conv2D(4, {3, 2}, {.strides = {2, 1}, .padding = {{1, 0}, {0, 1}}, .groups = 2, .activation = "relu"}),
           image));
    add(of(Conv3D(2, 2, {.padding = "same", .kernel_constraint = unit_norm(1)}), volume));
    add(of(Conv1DTranspose(3, 3, {.strides = 2}), sequence));
    add(of(Conv2DTranspose(3, 3, {.strides = 2, .padding = "same", .output_padding = 1}), image));
    add(of(Conv3DTranspose(2, 2, {.use_bias = false, .activity_regularizer = l2(0.1)}), volume));
    add(of(DepthwiseConv1D(3, {.depth_multiplier = 2}), sequence));
    add(of(DepthwiseConv2D(3, {.strides = 2, .depthwise_regularizer = l1(0.3)}), image));
    add(of(SeparableConv1D(3, 2, {.padding = "same"}), sequence));
    add(of(SeparableConv2D(3, 2, {.depth_multiplier = 2, .activation = "selu"}), image));
    add(of(MaxPooling1D(2, {.strides = 1}), sequence));
    add(of(MaxPooling2D({2, 3}, {.padding = "same"}), image));
    add(of(MaxPooling3D(2), volume));
    add(of(AveragePooling1D(3), sequence));
    add(of(AveragePooling2D(2, {.data_format = "channels_first"}), image));
    add(of(AveragePooling3D(2, {.strides = 1}), volume));
    add(of(GlobalMaxPooling1D({.keepdims = true}), sequence));
    add(of(GlobalMaxPooling2D(), image));
    add(of(GlobalMaxPooling3D({.data_format = "channels_first"}), volume));
    add(of(GlobalAveragePooling1D(), sequence));
    add(of(GlobalAveragePooling2D({.keepdims = true}), image));
    add(of(GlobalAveragePooling3D(), volume));
    add(of(UpSampling1D(3), sequence));
    add(of(UpSampling2D({2, 3}, {.interpolation = "bilinear"}), image));
    add(of(UpSampling3D({1, 2, 3}, {.interpolation = "bilinear", .data_format = "channels_first"}), volume));
    add(of(ZeroPadding1D({1, 2}), sequence));
    add(of(ZeroPadding2D({{1, 0}, {2, 2}}, {.data_format = "channels_first"}), image));
    add(of(ZeroPadding3D({{1, 0}, {2, 2}, {0, 3}}), volume));
    add(of(Cropping1D({1, 2}), sequence));
    add(of(Cropping2D({{1, 0}, {0, 2}}), image));
    add(of(Cropping3D({1, 0, 1}, {.data_format = "channels_first"}), noise({1, 2, 4, 3, 4})));
    add(of(BatchNormalization({.momentum = 0.9, .scale = false, .beta_initializer = initializers::constant(0.5)}),
           image));
    add(of(LayerNormalization({.axis = {1, 2}, .epsilon = 1e-4}), sequence));
    add(of(GroupNormalization({.groups = 2, .center = false}), image));
    add(of(RMSNormalization({.epsilon = 1e-4}), sequence));
    add(of(SpatialDropout1D(0.3, {.seed = 8}), sequence));
    add(of(SpatialDropout2D(0.3), image));
    add(of(SpatialDropout3D(0.3, {.seed = 4}), volume));
    add(of(GaussianNoise(0.4, {.seed = 2}), flat));
    add(of(GaussianDropout(0.4), flat));
    add(of(AlphaDropout(0.2), flat));
    add(of(Resizing(4, 5, {.interpolation = "nearest", .crop_to_aspect_ratio = true}), image));
    add(of(CenterCrop(3, 4), image));
    add(of(RandomCrop(3, 4, {.seed = 1}), image));
    add(of(RandomFlip("vertical", {.seed = 2}), image));
    add(of(RandomRotation({-0.1, 0.3}, {.fill_mode = "constant", .fill_value = 2, .seed = 3}), image));
    add(of(RandomZoom(0.2), image));
    add(of(RandomTranslation(0.1, {-0.2, 0.4}), image));
    add(of(RandomContrast(0.3, {.value_range = {-1, 1}, .seed = 4}), image));
    add(of(RandomBrightness({-0.1, 0.3}, {.value_range = {-1, 1}, .seed = 4}), image));
    add(of(Discretization({-0.5, 0, 0.5}), flat));
    add(of(CategoryEncoding(5, {.output_mode = "count"}), words));
    add(of(Input({6}), flat));
    add(of(Sequential{Dense(4), Dense(2)}, flat));
    const Input in({6});
    add({std::make_shared<Model>(in, Dense(2)(in)), flat});
    return all;
  }();
  return cases;
}

// Layers that join several inputs: given the same one thrice.
const std::map<std::string, std::shared_ptr<Layer>>& joining_cases() {
  static const std::map<std::string, std::shared_ptr<Layer>> cases = [] {
    std::map<std::string, std::shared_ptr<Layer>> all;
    const auto add = [&]<class L>(L layer) {
      auto made = std::make_shared<L>(std::move(layer));
      all.emplace(made->class_name(), made);
    };
    add(Add());
    add(Subtract());
    add(Multiply());
    add(Average());
    add(Maximum());
    add(Minimum());
    add(Concatenate({.axis = 1}));
    add(Dot(2, 1, {.normalize = true}));
    add(Attention({.use_scale = true, .score_mode = "concat", .dropout = 0.1, .seed = 5, .use_causal_mask = true}));
    add(AdditiveAttention({.return_attention_scores = true}));
    add(Operation("sub", {}));
    return all;
  }();
  return cases;
}

TEST(ModelFile, EveryLayerComesBackAsItWas) {
  for (const auto& [name, one] : layer_cases()) {
    SCOPED_TRACE(name);
    Sequential model{Input(one.x.shape().erase(0)), one.layer};
    expect_round_trip(model, one.x);
  }
  for (const auto& [name, layer] : joining_cases()) {
    SCOPED_TRACE(name);
    const Input a({4, 4}), b({4, 4});
    Model model({a, b}, (*layer)(std::vector<SymbolicTensor>{a, b}));
    expect_round_trip(model, {noise({2, 4, 4}, 1), noise({2, 4, 4}, 2)});
  }
}

TEST(ModelFile, EveryLayerHasACase) {
  std::set<std::string> with_case, known;
  for (const auto& [name, one] : layer_cases()) with_case.insert(name == "Model" ? "Functional" : name);
  for (const auto& [name, layer] : joining_cases()) with_case.insert(name);
  for (const std::string& name : saved_layer_classes()) known.insert(name);
  EXPECT_EQ(with_case, known);
  // Classes of layers in the headers: all of them are known, but for those that can't be.
  const std::set<std::string> not_saved{"Lambda", "Model", "Class", "Scale", "Name"};
  const std::regex declared(R"(ISO_LAYER\((\w+)\))");
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(ISOCHRON_SOURCE_DIR) + "/isochron/nn")) {
    if (entry.path().extension() != ".h") continue;
    const std::string text = read_file(entry.path().string());
    for (auto it = std::sregex_iterator(text.begin(), text.end(), declared); it != std::sregex_iterator();
         ++it, ++found)
      EXPECT_TRUE(not_saved.contains((*it)[1]) || known.contains((*it)[1])) << (*it)[1];
  }
  EXPECT_GT(found, 70);
}

TEST(ModelFile, FunctionalModelsKeepSharedAndNestedLayersOutputsAndNames) {
  const Input left({6}, {.name = "left"}), right({6}, {.name = "right"});
  Dense shared(4, {.activation = "tanh", .name = "shared"});
  const Input inner_in({4});
  Model inner(inner_in, Dense(4)(Dropout(0.2)(inner_in)), {.name = "inner"});
  const auto a = inner(SymbolicTensor(shared(left))), b = inner(SymbolicTensor(shared(right)));
  const auto both = Concatenate()({a, b * 2.0 + 1.0});
  Model model({left, right}, {Dense(1, {.name = "price"})(both), Dense(3, {.name = "kind"})(both - 1.0)},
              {.name = "two_sided"});
  model.get_layer("inner")->set_trainable(false);
  model.compile({.optimizer = Adam(0.01),
                 .loss = {{"price", "mse"}, {"kind", SparseCategoricalCrossentropy({.from_logits = true})}},
                 .metrics = {{"kind", {"accuracy", SparseTopKCategoricalAccuracy(2)}}},
                 .loss_weights = {{"price", 0.25}, {"kind", 2}},
                 .nan_policy = NanPolicy::skip});
  expect_round_trip(model, {noise({5, 6}, 1), noise({5, 6}, 2)});
  const TempFolder folder;
  const auto loaded = load_model(saved(model, folder));
  EXPECT_EQ(loaded->name(), "two_sided");
  EXPECT_EQ(loaded->output_names(), model.output_names());
  EXPECT_EQ(loaded->summary(), model.summary());
  EXPECT_EQ(loaded->weights().size(), model.weights().size());
  EXPECT_EQ(loaded->trainable_variables().size(), model.trainable_variables().size());
  EXPECT_FALSE(loaded->get_layer("inner")->trainable());
  EXPECT_EQ(loaded->training()->options.nan_policy, NanPolicy::skip);
  EXPECT_EQ(loaded->training()->options.loss_weights.values(), (std::vector<double>{0.25, 2}));
  const Tensors x{noise({5, 6}, 1), noise({5, 6}, 2)};
  const Tensors y{noise({5, 1}), tensor({0, 1, 2, 0, 1})};
  EXPECT_EQ(loaded->evaluate(x, y, {.verbose = 0}), model.evaluate(x, y, {.verbose = 0}));
}

// Steps before and after saving: the loaded model takes them as the saved one does, to the bit.
void expect_goes_on(AnyOptimizer optimizer) {
  set_seed(11);
  Sequential model{Input({6}), Dense(8, {.activation = "relu"}), Dropout(0.3, {.seed = 3}), BatchNormalization(),
                   Dense(2, {.kernel_regularizer = l2(0.01), .kernel_constraint = max_norm(1)})};
  model.compile({.optimizer = std::move(optimizer), .loss = Huber({.delta = 0.7}), .metrics = {"mae"}});
  const Tensor x = noise({8, 6}, 1), y = noise({8, 2}, 2);
  for (int i = 0; i < 5; ++i) model.train_on_batch(x, y);
  const TempFolder folder;
  const auto loaded = load_model(saved(model, folder));
  EXPECT_EQ(loaded->optimizer().iterations().item<int64_t>(), 5);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(loaded->train_on_batch(x, y), model.train_on_batch(x, y)) << "step " << i;
  const std::vector<Tensor> expected = model.get_weights(), weights = loaded->get_weights();
  ASSERT_EQ(weights.size(), expected.size());
  for (size_t i = 0; i < weights.size(); ++i) expect_same(weights[i], expected[i]);
}

TEST(ModelFile, TrainingGoesOnToTheBitWithEveryOptimizer) {
  const std::vector<std::pair<const char*, AnyOptimizer>> all{
      {"SGD", SGD({.learning_rate = 0.1, .momentum = 0.9, .nesterov = true})},
      {"RMSprop", RMSprop({.momentum = 0.5, .centered = true})},
      {"Adam", Adam({.learning_rate = ExponentialDecay({.initial_learning_rate = 0.1, .decay_steps = 2})})},
      {"AMSGrad", Adam({.amsgrad = true, .clipnorm = 0.5})},
      {"AdamW", AdamW({.learning_rate = CosineDecay({.initial_learning_rate = 0.1, .decay_steps = 20})})},
      {"Adamax", Adamax({.global_clipnorm = 1.0})},
      {"Nadam", Nadam(0.01)},
      {"Adagrad", Adagrad({.clipvalue = 0.2})},
      {"Adadelta", Adadelta(1.0)},
      {"Lion", Lion({.learning_rate = 0.01, .weight_decay = 0.1})},
      {"Ftrl", Ftrl({.learning_rate = 0.1, .l1_regularization_strength = 0.01, .beta = 0.1})},
      {"Lamb", Lamb({.learning_rate = 0.01, .gradient_accumulation_steps = 2})},
      {"Adafactor", Adafactor({.learning_rate = 0.05, .clip_threshold = 0.5})},
      {"Muon", Muon({.learning_rate = 0.02, .exclude_layers = {"dense_1"}, .momentum = 0.9, .rms_rate = {}})},
      {"averages", SGD({.use_ema = true, .ema_momentum = 0.5, .ema_overwrite_frequency = 3})},
      {"accumulation", Adam({.gradient_accumulation_steps = 3})},
      {"PyTorch's SGD", optim::SGD({}, {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01})},
      {"PyTorch's NAdam", optim::NAdam({}, {.lr = 0.01})},
      {"PyTorch's RAdam", optim::RAdam({}, {.lr = 0.01, .weight_decay = 0.1, .decoupled_weight_decay = true})},
      {"by name", "adam"}};
  for (const auto& [name, optimizer] : all) {
    SCOPED_TRACE(name);
    expect_goes_on(optimizer);
  }
}

TEST(ModelFile, SchedulesRatesGroupsAndExceptionsFromDecayComeBack) {
  Sequential model{Input({3}), Dense(2, {.name = "first"}), Dense(1, {.name = "second"})};
  AdamW optimizer({.learning_rate = OneCycle({.max_lr = 0.5, .total_steps = 10, .anneal_strategy = "linear"})});
  optimizer.exclude_from_weight_decay({}, {"bias"});
  optimizer.add_param_group({.params = model.get_layer("second")->weights(), .lr = 0.25, .weight_decay = 0.5});
  model.compile({.optimizer = optimizer, .loss = "mse"});
  optimizer.set_learning_rate(0.125, 1);
  model.train_on_batch(noise({4, 3}), noise({4, 1}));
  const TempFolder folder;
  const auto loaded = load_model(saved(model, folder));
  ASSERT_EQ(loaded->optimizer().param_groups(), 2u);
  EXPECT_EQ(loaded->optimizer().learning_rate(1), 0.125);
  EXPECT_EQ(loaded->optimizer().learning_rate(0), optimizer.learning_rate(0));
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(loaded->train_on_batch(noise({4, 3}), noise({4, 1})), model.train_on_batch(noise({4, 3}), noise({4, 1})));
}

TEST(ModelFile, RandomStateIsTakenOverWhenAsked) {
  const auto train = [](Model& model) {
    return model.fit(noise({32, 4}), noise({32, 1}), {.epochs = 2, .batch_size = 8, .verbose = 0})["loss"];
  };
  set_seed(5);
  Sequential model{Input({4}), Dense(8), Dropout(0.5), Dense(1)};
  model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"mae"}});  // which loading makes anew
  train(model);
  const TempFolder folder;
  const std::string path = saved(model, folder);
  const std::vector<double> expected = train(model);
  set_seed(999);
  EXPECT_EQ(train(*load_model(path, {.random_state = true})), expected);
  set_seed(999);
  EXPECT_NE(train(*load_model(path)), expected);
  EXPECT_EQ(get_seed(), 999u);
}

TEST(ModelFile, StatefulLayersGoOnFromTheirStates) {
  Sequential model{Input({3, 2}), LSTM(4, {.stateful = true}), Dense(1)};
  const Tensor x = noise({2, 3, 2});
  model.predict(x, {.batch_size = 2});
  const TempFolder folder;
  const auto loaded = load_model(saved(model, folder));
  expect_same(loaded->predict(x, {.batch_size = 2}), model.predict(x, {.batch_size = 2}));
}

TEST(ModelFile, ModelsWithoutWeightsOrCompilationAreKept) {
  Sequential model{Dense(4), Dense(2)};
  const TempFolder folder;
  const auto loaded = load_model(saved(model, folder));
  EXPECT_FALSE(loaded->built());
  EXPECT_EQ(loaded->training(), nullptr);
  EXPECT_EQ(loaded->layers().size(), 2u);
  model.compile({.optimizer = "adam", .loss = "mse"});
  model.fit(noise({8, 3}), noise({8, 2}), {.verbose = 0});
  expect_round_trip(model, noise({5, 3}));
  EXPECT_EQ(load_model(saved(model, folder), {.compile = false})->training(), nullptr);
}

struct ScaleOptions {
  std::vector<double> shifts = {};
  std::optional<int64_t> least = {};
  std::string name = {};
};
ISO_OPTIONS(ScaleOptions, shifts, least, name)

class ScaleBy : public Layer {
 public:
  explicit ScaleBy(double factor, ScaleOptions options = {}) : factor_(factor), options_(std::move(options)) {
    set_name(options_.name);
  }
  ISO_LAYER(ScaleBy)
  ISO_ARGUMENTS(factor_, options_)
  void build(const Shape& input) override { scale_ = add_weight("scale", {input[-1]}, "ones"); }
  Tensor call(const Tensor& x, const CallContext&) override {
    Tensor y = x * scale_ * factor_;
    for (const double shift : options_.shifts) y = y + shift;
    return y;
  }

 private:
  double factor_;
  ScaleOptions options_;
  Variable scale_;
};

class Unregistered : public Layer {
 public:
  ISO_LAYER(Unregistered)
  Tensor call(const Tensor& x, const CallContext&) override { return x; }
};

class SignDescent : public Optimizer {
 public:
  explicit SignDescent(double rate = 0.01) : Optimizer({.learning_rate = rate, .name = "sign"}), rate_(rate) {}
  ISO_ARGUMENTS(rate_)
  void update_one(const Tensor& gradient, const Variable& variable, const Tensor& rate) override {
    const Variable momentum = slot(variable, "momentum");
    momentum.assign(0.9 * momentum + 0.1 * gradient);
    variable.assign(variable - rate * sign(momentum));
  }

 private:
  double rate_;
};

TEST(ModelFile, ClassesOfOnesOwnAreSavedOnceRegistered) {
  register_for_saving<ScaleBy>("ScaleBy");
  register_for_saving<ScaleBy>("ScaleBy");
  register_for_saving<SignDescent>("SignDescent");
  Sequential model{Input({4}), ScaleBy(3, {.shifts = {0.5, 1}, .least = 2, .name = "scaling"})};
  expect_round_trip(model, noise({3, 4}));
  EXPECT_EQ(model.get_layer("scaling")->get_config(),
            R"({"class_name":"ScaleBy","config":{"factor":3.0,"shifts":[0.5,1.0],"least":2,"name":"scaling"}})");
  expect_goes_on(SignDescent(0.02));
  EXPECT_THAT([] { register_for_saving<Unregistered>("Dense"); },
              ThrowsMessage<ValueError>(HasSubstr("\"Dense\" is the name of another class")));
}

TEST(ModelFile, WhatCanNotBeSavedIsSaid) {
  const TempFolder folder;
  const auto refuses = [&](Model& model, const std::string& words) {
    EXPECT_THAT([&] { model.save(folder.file("x.iso")); }, ThrowsMessage<ValueError>(HasSubstr(words)));
    EXPECT_FALSE(std::filesystem::exists(folder.file("x.iso")));
  };
  Sequential custom{Input({4}), Unregistered()};
  refuses(custom, "register_for_saving<Class>(\"Class\")");
  Sequential lambda{Input({4}), Lambda([](const Tensor& x) { return x + 1; }, {"plus_one"})};
  refuses(lambda, "layer \"plus_one\" (Lambda)");
  Sequential activated{Input({4}), Dense(2, {.activation = [](const Tensor& x) { return x * 2; }})};
  refuses(activated, "an activation is a function written in place");
  Sequential compiled{Input({4}), Dense(2)};
  compiled.compile({.optimizer = "sgd", .loss = [](const Tensor& y, const Tensor& p) { return abs(y - p); }});
  refuses(compiled, "loss \"loss\"");
}

TEST(ModelFile, IsNotCalledLikeAFileOfAnotherLibrary) {
  Sequential model{Input({3}), Dense(2)};
  const TempFolder folder;
  for (const char* name : {"m.keras", "m.h5", "m.pth"}) {
    try {
      model.save(folder.file(name));
      ADD_FAILURE() << name;
    } catch (const ValueError& error) {
      EXPECT_NE(std::string(error.what()).find("format of our own"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace isochron
