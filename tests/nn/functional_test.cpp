// Models of symbolic tensors: graphs, shared layers, several inputs and outputs, freezing, tables and pictures.
#include <gmock/gmock.h>

#include "isochron/isochron.h"
#include "reference.h"

namespace isochron {
namespace {

using reference::tensor_of;

const nlohmann::json& keras() {
  static const nlohmann::json document = reference::read_file("functional.json");
  return document;
}

std::vector<Tensor> tensors_of(const nlohmann::json& list) {
  std::vector<Tensor> out;
  for (const auto& entry : list) out.push_back(tensor_of(entry));
  return out;
}

AnyLayer merge_layer(const std::string& name, const nlohmann::json& config) {
  if (name == "Add") return Add();
  if (name == "Subtract") return Subtract();
  if (name == "Multiply") return Multiply();
  if (name == "Average") return Average();
  if (name == "Maximum") return Maximum();
  if (name == "Minimum") return Minimum();
  if (name == "Concatenate") return Concatenate({.axis = config.value("axis", -1)});
  return Dot(config["axes"][0], config["axes"][1], {.normalize = config.value("normalize", false)});
}

TEST(Merge, ComputesAsKerasDoes) {
  for (const auto& merge : keras()["merges"]) {
    SCOPED_TRACE(merge["layer"].get<std::string>() + merge["config"].dump());
    const AnyLayer layer = merge_layer(merge["layer"], merge["config"]);
    EXPECT_CLOSE((*layer.get())(tensors_of(merge["inputs"]))[0], tensor_of(merge["output"]), 1e-5, 1e-6);
  }
  EXPECT_ERROR(Add()(zeros({2, 3})), ValueError, "joins two tensors or more");
  EXPECT_ERROR(Subtract()({zeros({2, 3}), zeros({2, 3}), zeros({2, 3})}), ValueError, "exactly two");
  EXPECT_ERROR(Dot(1)({zeros({2, 3}), zeros({2, 4})}), ShapeError, "same extent");
}

// The model of generate_functional.py.
Model two_headed() {
  const auto title = Input({4}, {.name = "title"}), body = Input({6}, {.name = "body"});
  Dense shared(5, {.activation = "tanh", .name = "shared"}), widen(6, {.name = "widen"});
  widen.set_trainable(false);
  const auto a = shared(widen(title)), b = shared(body);
  const auto joined = Concatenate({.name = "joined"})({a, b});
  const auto hidden = Dense(10, {.activation = "relu", .name = "hidden"})(joined);
  const auto residual = Add({.name = "residual"})({hidden, joined});
  Model model({title, body}, {Dense(1, {.name = "priority"})(residual), Dense(3, {.name = "department"})(residual)},
              {.name = "tickets"});
  for (const Variable& weight : model.weights()) weight.assign(tensor_of(keras()["start"][weight.name()]));
  return model;
}

void compile(Model& model) {
  model.compile({.optimizer = SGD({.learning_rate = 0.1, .momentum = 0.9}),
                 .loss = {{"department", SparseCategoricalCrossentropy({.from_logits = true})}, {"priority", "mse"}},
                 .metrics = {{"department", {"accuracy"}}, {"priority", {"mae"}}},
                 .loss_weights = {{"priority", 0.3}, {"department", 1.5}}});
}

TEST(Functional, TrainsAsKerasDoes) {
  Model model = two_headed();
  compile(model);
  const std::vector<Tensor> x = tensors_of(keras()["x"]), y = tensors_of(keras()["y"]);
  const History history = model.fit(x, y, {.epochs = 4, .batch_size = 8, .shuffle = false, .verbose = 0});
  // Keras counts a ragged last batch as a full one in the losses by output, and by its examples in their sum.
  const auto by_output = [](const std::string& name) { return name.ends_with("_loss"); };
  for (const auto& [name, values] : keras()["history"].items())
    for (size_t epoch = 0; epoch < values.size(); ++epoch)
      if (!by_output(name)) {
        EXPECT_NEAR(history[name][epoch], values[epoch].get<double>(), 2e-4) << name << " in epoch " << epoch;
      }
  EXPECT_NEAR(0.3 * history["priority_loss"][3] + 1.5 * history["department_loss"][3], history["loss"][3], 1e-5);
  const Logs logs = model.evaluate({{"body", x[1]}, {"title", x[0]}}, y, {.batch_size = 8, .verbose = 0});
  for (const auto& [name, value] : keras()["evaluated"].items())
    if (!by_output(name)) {
      EXPECT_NEAR(logs_value(logs, name), value.get<double>(), 2e-4) << name;
    }
  const std::vector<Tensor> predictions = model.predict_all(x, {.batch_size = 7});
  ASSERT_EQ(predictions.size(), 2u);
  for (size_t i = 0; i < 2; ++i) EXPECT_CLOSE(predictions[i], tensor_of(keras()["predictions"][i]), 1e-3, 1e-4);
  // The frozen layer is as it was.
  EXPECT_CLOSE(model.get_layer("widen")->weights()[0], tensor_of(keras()["start"]["widen/kernel"]), 0, 0);
}

TEST(Functional, ShowsItsGraph) {
  const Model model = two_headed();
  // In Keras' order.
  std::vector<std::string> names;
  for (const auto& layer : model.layers()) names.push_back(layer->name());
  EXPECT_THAT(names, testing::ElementsAre("title", "widen", "body", "shared", "joined", "hidden", "residual",
                                          "priority", "department"));
  const std::string table = model.summary();
  EXPECT_THAT(table, testing::StartsWith("Model: \"tickets\"\n"));
  EXPECT_THAT(table, testing::HasSubstr("Connected to"));
  EXPECT_THAT(table, testing::ContainsRegex("shared \\(Dense\\) +│ \\(None, 5\\) +│ +35 │ widen\\[0\\]\\[0\\], body"));
  EXPECT_THAT(table, testing::ContainsRegex("joined \\(Concatenate\\) +│ \\(None, 10\\) +│ +0 │ shared\\[0\\]\\[0\\], "
                                            "shared\\[1\\]\\[0\\]"));
  EXPECT_THAT(table, testing::HasSubstr(" Non-trainable params: 30 (120.00 B)\n"));
  const std::string svg = model.to_svg();
  EXPECT_THAT(svg, testing::StartsWith("<svg "));
  for (const auto& layer : model.layers()) EXPECT_THAT(svg, testing::HasSubstr(">" + layer->name() + "</text>"));
  size_t lines = 0;
  for (size_t at = svg.find("<path"); at != std::string::npos; at = svg.find("<path", at + 1)) ++lines;
  EXPECT_EQ(lines, 10u);
  EXPECT_THAT(Sequential({Input({2}), Dense(3)}).to_svg(), testing::HasSubstr("Dense (None, 3), 9 params"));
}

TEST(Functional, PlainOpsAreLayers) {
  const auto x = Input({3}), y = Input({3});
  const auto z = relu(2 * x - y / 4 + 1) * sigmoid(y);
  Model model({x, y}, {z, mean(z, {1}, true), reshape(z, {-1, 3, 1}), 1 - maximum(x, 0.5)});
  const Tensor a = random_normal({4, 3}, 0, 1, {.seed = 1}), b = random_normal({4, 3}, 0, 1, {.seed = 2});
  const Tensor expected = relu(2 * a - b / 4 + 1) * sigmoid(b);
  const std::vector<Tensor> out = model({a, b});
  EXPECT_CLOSE(out[0], expected, 1e-6, 1e-6);
  EXPECT_CLOSE(out[1], mean(expected, {1}, true), 1e-6, 1e-6);
  EXPECT_EQ(out[2].shape(), Shape({4, 3, 1}));
  EXPECT_CLOSE(out[3], 1 - maximum(a, 0.5), 1e-6, 1e-6);
  EXPECT_ERROR(x + Input({4}), ShapeError, "add");
}

TEST(Functional, ModelsNestAndShareTheirLayers) {
  const auto in = Input({3});
  Sequential encoder{Dense(4, {.activation = "relu", .name = "enc"}), Dense(2)};
  const auto code = encoder(in);
  Model inner(in, Dense(3)(code), {.name = "autoencoder"});
  const auto outer_in = Input({3});
  Model outer(outer_in, inner(outer_in) + outer_in);
  EXPECT_EQ(outer.count_params(), inner.count_params());
  EXPECT_EQ(inner.weights().size(), 6u);
  const Tensor x = random_normal({5, 3}, 0, 1, {.seed = 3}).eval();
  EXPECT_CLOSE(outer(x), inner(x) + x, 1e-6, 1e-6);
  EXPECT_CLOSE(outer.predict(x), inner(x) + x, 1e-6, 1e-6);
  // A second model of the same layers, from the middle of the first.
  Model half(inner.inputs(), inner.output_of(encoder.name()));
  EXPECT_CLOSE(half(x), encoder(x), 1e-6, 1e-6);
  // Weights are the same variables: what training changes in one, all see.
  outer.compile({.optimizer = SGD(0.1), .loss = "mse"});
  const Tensor before = half(x).eval();
  outer.fit(x, zeros({5, 3}), {.epochs = 1, .verbose = 0});
  EXPECT_FALSE(allclose(half(x), before));
  EXPECT_CLOSE(half(x), encoder(x), 1e-6, 1e-6);
}

TEST(Functional, FreezingStopsUpdates) {
  const auto in = Input({3});
  Sequential base{Dense(4, {.activation = "tanh"})};
  Dense head(1);
  Model model(in, head(base(in)));
  base.set_trainable(false);
  EXPECT_EQ(model.trainable_variables().size(), 2u);
  const std::vector<Tensor> before = model.get_weights();
  model.compile({.optimizer = SGD(0.1), .loss = "mse"});
  model.fit(ones({8, 3}), ones({8, 1}), {.epochs = 2, .verbose = 0});
  const std::vector<Tensor> after = model.get_weights();
  EXPECT_TRUE(same_elements(before[0], after[0]));
  EXPECT_FALSE(same_elements(before[2], after[2]));
  base.set_trainable(true);
  model.compile({.optimizer = SGD(0.1), .loss = "mse"});
  model.fit(ones({8, 3}), ones({8, 1}), {.epochs = 2, .verbose = 0});
  EXPECT_FALSE(same_elements(before[0], model.get_weights()[0]));
}

TEST(Functional, OutputsWithoutALossNeedNoTargets) {
  const auto in = Input({3});
  const auto code = Dense(2, {.name = "code"})(in);
  Model model(in, {Dense(3, {.name = "picture"})(code), code});
  model.compile({.optimizer = "adam", .loss = {{"picture", "mse"}}, .metrics = {{"picture", {"mae"}}}});
  const Tensor x = ones({8, 3});
  const History history = model.fit(x, x, {.verbose = 0});
  EXPECT_EQ(history["picture_mae"].size(), 1u);
  EXPECT_EQ(model.predict_all(x)[1].shape(), Shape({8, 2}));
  EXPECT_ERROR(model.predict(x), StateError, "predict_all");
}

class NoClone : public Layer {
 public:
  std::string class_name() const override { return "NoClone"; }
  Tensor call(const Tensor& x, const CallContext&) override { return x; }
};

TEST(Functional, SaysWhatIsWrong) {
  const auto a = Input({3}, {.name = "a"}), b = Input({3}, {.name = "b"});
  const auto y = Dense(2, {.name = "y"})(a), z = Dense(2, {.name = "z"})(b);
  EXPECT_ERROR(Model(a, y + z), ValueError, "needs input \"b\", which is not among the inputs (a)");
  EXPECT_ERROR(Model(y, z), ValueError, "an input of a model comes from Input");
  EXPECT_ERROR(Model({a, a}, y), ValueError, "listed twice");
  EXPECT_ERROR(Model(a, Dense(2, {.name = "y"})(y)), ValueError, "two layers are called \"y\"");
  EXPECT_ERROR(Dense(2)({a, b}), ValueError, "takes one input, got 2");
  EXPECT_ERROR(Lambda([](const Tensor& x) { return sum(x); })(a), ShapeError, "must keep the batch axis");
  EXPECT_ERROR(NoClone()(a), StateError, "ISO_LAYER(NoClone)");
  EXPECT_EQ((*std::make_shared<NoClone>())(a).shape(), Shape({3}));
  EXPECT_ERROR(SymbolicTensor().shape(), StateError, "undefined");

  Model model({a, b}, {y, z});
  EXPECT_ERROR(model.compile({.loss = {"mse", "mse", "mse"}}), ValueError, "3 loss for 2 outputs (y, z)");
  EXPECT_ERROR(model.compile({.loss = {{"yy", "mse"}}}), ValueError, "\"yy\", which the model does not have");
  EXPECT_ERROR(model.compile({.loss = "mse", .metrics = {MeanAbsoluteErrorMetric()}}), ValueError, "metrics by output");
  EXPECT_ERROR(model.get_layer("w"), ValueError, "no layer \"w\"");
  EXPECT_ERROR(model.get_layer(7), IndexError, "has 4 layers");
  EXPECT_EQ(model.get_layer(-1)->name(), "z");
  model.compile({.loss = "mse"});
  const Tensor x = ones({4, 3}), t = ones({4, 2});
  EXPECT_ERROR(model.fit(x, {t, t}, {.verbose = 0}), ValueError, "1 tensor as x, the model takes 2 (a, b)");
  EXPECT_ERROR(model.fit({{"a", x}, {"c", x}}, {t, t}, {.verbose = 0}), ValueError, "x names \"c\"");
  EXPECT_ERROR(model.fit({x, ones({5, 3})}, {t, t}, {.verbose = 0}), ShapeError, "same number of rows");
  EXPECT_ERROR(model({x}), ValueError, "takes 2 inputs (a, b), got 1");
  EXPECT_ERROR(Sequential({Dense(2)}).inputs(), StateError, "no functional model");
}

TEST(Functional, RecurrentLayersBuildTheirWeightsAndKeepTheirStates) {
  const auto in = Input({4, 3});
  Model model(in, Dense(1)(LSTM(5, {.stateful = true})(LSTM(6, {.return_sequences = true})(in))));
  const Tensor x = random_normal({7, 4, 3}, 0, 1, {.seed = 1}).eval();
  const Tensor first = model.predict(x, {.batch_size = 7}), second = model.predict(x, {.batch_size = 7});
  EXPECT_FALSE(allclose(first, second, 1e-6, 1e-6)) << "goes on from the states of the first";
  std::dynamic_pointer_cast<LSTM>(model.get_layer(2))->reset_states();
  EXPECT_CLOSE(model.predict(x, {.batch_size = 7}), first, 0, 0);
  model.compile({.optimizer = Adam(1e-2), .loss = "mse"});
  EXPECT_GT(model.fit(x, zeros({7, 1}), {.verbose = 0})["loss"][0], 0);
}

TEST(Functional, ADecoderStartsFromTheStatesOfItsEncoder) {
  const auto source = Input({4, 3}), target = Input({5, 2});
  const SymbolicTensors encoded = LSTM(6, {.return_state = true, .name = "encoder"})(SymbolicTensors{source});
  ASSERT_EQ(encoded.size(), 3u);
  EXPECT_EQ(encoded[2].shape(), Shape({6}));
  const SymbolicTensor decoded =
      LSTM(6, {.return_sequences = true, .name = "decoder"})({target, encoded[1], encoded[2]});
  Model model({source, target}, Dense(1)(decoded));
  const Tensor s = random_normal({7, 4, 3}, 0, 1, {.seed = 1}).eval(),
               t = random_normal({7, 5, 2}, 0, 1, {.seed = 2}).eval();
  const auto layer = [&](const char* name) { return std::dynamic_pointer_cast<LSTM>(model.get_layer(name)); };
  const std::vector<Tensor> states = layer("encoder")->run(s).states;
  const Tensor by_hand = (*model.get_layer(-1))(layer("decoder")->run(t, {.initial_states = states}).output);
  EXPECT_CLOSE(model.predict({s, t}), by_hand, 1e-6, 1e-6);
  EXPECT_GT(max(abs(by_hand - (*model.get_layer(-1))(layer("decoder")->run(t).output))).item(), 1e-3);

  model.compile({.optimizer = Adam(1e-2), .loss = "mse"});
  model.fit({s, t}, zeros({7, 5, 1}), {.epochs = 2, .verbose = 0});
  const std::string path = testing::TempDir() + "encoder_decoder.iso";
  model.save(path);
  EXPECT_CLOSE(load_model(path)->predict({s, t}), model.predict({s, t}), 0, 0);
  EXPECT_NE(model.summary().find("encoder[0][2]"), std::string::npos) << model.summary();
}

TEST(Functional, AttentionLooksAtAnotherSequence) {
  const auto source = Input({6, 4}), target = Input({3, 8});
  const SymbolicTensor met = MultiHeadAttention(2, 4, {.name = "meet"})({target, source});
  Model model({source, target}, TransformerDecoderLayer(2, 16, {.name = "decode"})({met, source}));
  const Tensor s = random_normal({5, 6, 4}, 0, 1, {.seed = 1}).eval(),
               t = random_normal({5, 3, 8}, 0, 1, {.seed = 2}).eval();
  auto& meet = dynamic_cast<MultiHeadAttention&>(*model.get_layer("meet"));
  auto& decode = dynamic_cast<TransformerDecoderLayer&>(*model.get_layer("decode"));
  EXPECT_CLOSE(model.predict({s, t}), decode(meet(t, s), s), 1e-5, 1e-5);
  model.compile({.optimizer = Adam(1e-2), .loss = "mse"});
  model.fit({s, t}, zeros({5, 3, 8}), {.epochs = 1, .verbose = 0});
  const std::string path = testing::TempDir() + "cross_attention.iso";
  model.save(path);
  EXPECT_CLOSE(load_model(path)->predict({s, t}), model.predict({s, t}), 0, 0);
  EXPECT_ERROR(MultiHeadAttention(1, 2)({target, target, target, target, target}), ValueError, "got 5 inputs");
  EXPECT_ERROR(TransformerDecoderLayer(2, 4)({target, source, source}), ValueError, "got 3 inputs");
}

TEST(SymbolicOps, SliceStackCastAndClip) {
  const Input x({3}), ids({2}, {.dtype = DType::int32});
  const SymbolicTensor left = slice(x, {0, 0}, {kEnd, 2}), right = slice(x, {0, 1}, {kEnd, kEnd});
  const SymbolicTensor both = stack({left, right, cast(ids, DType::float32)}, 1);
  EXPECT_EQ(both.shape(), Shape({3, 2}));
  Model model({x, ids}, clip(both, 0, 4));
  const Tensor given = tensor({{1.f, -2.f, 3.f}}), tokens = tensor({{5, 2}}, DType::int32);
  const Tensor expected = reshape(tensor({1.f, 0.f, 0.f, 3.f, 4.f, 2.f}), {1, 3, 2});
  EXPECT_CLOSE(model(std::vector{given, tokens})[0], expected, 0, 0);
  model.save(testing::TempDir() + "symbolic_ops.iso");
  EXPECT_CLOSE((*load_model(testing::TempDir() + "symbolic_ops.iso"))(std::vector{given, tokens})[0], expected, 0, 0);
  EXPECT_EQ(slice(x, {0, 0}, {kEnd, kEnd}, {1, 2}).shape(), Shape({2}));
  EXPECT_ERROR(slice(x, {0, 0}, {2, 2}), ValueError, "axis 0 is the batch axis");
  EXPECT_ERROR(slice(x, {0}, {kEnd, 2}), ValueError, "got 1, 2 and 1 numbers");
  for (const int64_t batch : {0, -3}) EXPECT_ERROR(stack({left, right}, batch), ValueError, "axis 0 is the batch axis");
}

// As the same ops on tensors, before and after the model was saved.
TEST(SymbolicOps, ComputeWhatTheirNamesakesDo) {
  const Input x({3}), ids({3}, {.dtype = DType::int64});
  const Tensor v = random_normal({4, 3}, 0, 1, {.seed = 3}).eval(),
               n = tensor({{1, 0, 2}, {0, 0, 1}, {2, 2, 2}, {1, 1, 0}}, DType::int64);
  const auto check = [&](const SymbolicTensor& y, const Tensor& expected) {
    SCOPED_TRACE(y.layer()->name());
    EXPECT_EQ(y.dtype(), expected.dtype());
    Model model({x, ids}, y);
    const std::string path = testing::TempDir() + "symbolic_op.iso";
    model.save(path);
    for (const Model& one : {model, *load_model(path)}) {
      Model run = one;
      EXPECT_TRUE(same_elements(run(std::vector{v, n})[0].eval(), expected.eval()));
    }
  };
  check(where(x > 0, x, 0.1 * x), where(v > 0, v, 0.1 * v));
  check(where(x <= 0.5, 2, x), where(v <= 0.5, 2, v));
  check(where(not_equal(ids, 0), x, -1), where(n != 0, v, -1));
  check(cast(equal(ids, 2), DType::float32), cast(n == 2, DType::float32));
  check(logical_or(x < -1, !(x >= 0)), logical_or(v < -1, !(v >= 0)));
  check(ids * 2 + 1, n * 2 + 1);
  check(1 - ids % 2, 1 - n % 2);
  check(ids * 0.5, n * 0.5);
  check(floor_div(ids, 2), floor_div(n, 2));
  check(min(x, 1), min(v, 1));
  check(isochron::std(x, {1}, true), isochron::std(v, {1}, true));
  check(logsumexp(x, -1), logsumexp(v, -1));
  check(any(ids > 1, 1), any(n > 1, 1));
  check(argmax(x, 1), argmax(v, 1));
  check(argmin(x, 1, true), argmin(v, 1, true));
  check(softmax(x), softmax(v));
  check(log_softmax(x, 1), log_softmax(v, 1));
  check(leaky_relu(x, 0.3), leaky_relu(v, 0.3));
  check(one_hot(ids, 4), one_hot(n, 4));
  check(erf(floor(x)), erf(floor(v)));
}

TEST(Merging, NamesTheShapesOfExamples) {
  const Input a({4}), b({3});
  EXPECT_ERROR(Add()({a, b}), ShapeError,
               "[Add] shapes must broadcast together (equal extents, or 1), got (4,) and (3,)");
}

}  // namespace
}  // namespace isochron
