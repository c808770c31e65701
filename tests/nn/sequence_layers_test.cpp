// Recurrent, embedding and attention layers against Keras and PyTorch (tests/references/sequences.json).
#include <gtest/gtest.h>

#include "isochron/graph/tape.h"
#include "isochron/nn/layers.h"
#include "isochron/nn/losses.h"
#include "isochron/nn/model.h"
#include "isochron/nn/modules.h"
#include "isochron/ops/ops.h"
#include "isochron/optim/optimizers.h"
#include "reference.h"

namespace isochron {
namespace {

using nlohmann::json;
using reference::kReal;

const json& references() { return reference::read_file("sequences.json"); }

Tensor reference_of(const json& value) { return reference::tensor_of(value); }

Tensor truths_of(const json& value) {
  if (value.is_null()) return {};
  return tensor(value["data"].get<std::vector<bool>>(), Shape(value["shape"].get<std::vector<int64_t>>()));
}

void assign_all(const std::vector<Variable>& variables, const json& values) {
  ASSERT_EQ(variables.size(), values.size());
  for (size_t i = 0; i < variables.size(); ++i) variables[i].assign(reference_of(values[i]));
}

void expect_gradients(GradientTape& tape, const Tensor& total, std::vector<Variable> sources,
                      const std::vector<Variable>& weights, const json& expected, double tolerance = 1e-8) {
  sources.insert(sources.end(), weights.begin(), weights.end());
  const std::vector<Tensor> gradients = tape.gradient(total, sources);
  ASSERT_EQ(gradients.size(), expected.size());
  for (size_t i = 0; i < gradients.size(); ++i) {
    SCOPED_TRACE(fmt::format("gradient {}", i));
    ASSERT_TRUE(gradients[i].defined());
    EXPECT_CLOSE(gradients[i], reference_of(expected[i]), tolerance, tolerance / 10);
  }
}

template <class Options>
Options options_of(const json& o) {
  Options out;
  if (o.contains("activation")) out.activation = o["activation"].get<std::string>();
  if constexpr (requires { out.recurrent_activation; })
    if (o.contains("recurrent_activation")) out.recurrent_activation = o["recurrent_activation"].get<std::string>();
  if constexpr (requires { out.reset_after; }) out.reset_after = o.value("reset_after", true);
  out.use_bias = o.value("use_bias", true);
  out.return_sequences = o.value("return_sequences", false);
  out.return_state = o.value("return_state", false);
  out.go_backwards = o.value("go_backwards", false);
  out.unroll = o.value("unroll", false);
  out.dtype = kReal;
  return out;
}

std::shared_ptr<RecurrentLayer> recurrent_of(const std::string& name, const json& o) {
  const int64_t units = o["units"];
  if (name == "SimpleRNN") return std::make_shared<SimpleRNN>(units, options_of<SimpleRNNOptions>(o));
  if (name == "LSTM") return std::make_shared<LSTM>(units, options_of<LSTMOptions>(o));
  if (name == "GRU") return std::make_shared<GRU>(units, options_of<GRUOptions>(o));
  return nullptr;
}

std::shared_ptr<Layer> wrapper_of(const std::string& name, const json& o) {
  const int64_t units = o["units"];
  if (name == "TimeDistributed") return std::make_shared<TimeDistributed>(Dense(units, {.dtype = kReal}));
  return std::make_shared<Bidirectional>(GRU(units, options_of<GRUOptions>(o)),
                                         BidirectionalOptions{.merge_mode = o["merge_mode"].get<std::string>()});
}

TEST(RecurrentLayers, AgreeWithKeras) {
  for (const json& one : references()["recurrent"]) {
    const std::string name = one["layer"];
    SCOPED_TRACE(name + one["options"].dump() + (one["mask"].is_null() ? "" : " masked"));
    std::shared_ptr<Layer> layer = recurrent_of(name, one["options"]);
    if (!layer) layer = wrapper_of(name, one["options"]);
    const Variable x(reference_of(one["x"]));
    layer->ensure_built(Shape(x.shape().dims().subspan(1)));
    assign_all(layer->trainable_variables(), one["weights"]);
    const Tensor mask = truths_of(one["mask"]);
    GradientTape tape;
    std::vector<Tensor> inputs{x};
    for (const json& state : one["states"]) inputs.push_back(reference_of(state));
    const std::vector<Tensor> results = (*layer)(inputs, {.mask = mask});
    ASSERT_EQ(results.size(), 1 + one["final"].size());
    EXPECT_CLOSE(results[0], reference_of(one["y"]), 1e-9, 1e-10);
    EXPECT_EQ(Shape(results[0].shape().dims().subspan(1)), layer->output_shape(layer->input_shape()));
    Tensor total = sum(results[0] * reference_of(one["dy"]));
    for (size_t i = 1; i < results.size(); ++i) {
      EXPECT_CLOSE(results[i], reference_of(one["final"][i - 1]), 1e-9, 1e-10);
      total = total + sum(square(results[i]));
    }
    expect_gradients(tape, total, {x}, layer->trainable_variables(), one["gradients"]);
  }
}

TEST(RecurrentLayers, BothWaysGiveAndTakeStates) {
  const Tensor x = random_normal({2, 4, 3}, 0, 1, {.seed = 1}).eval();
  std::vector<Tensor> inputs{x};
  for (uint64_t i = 0; i < 4; ++i) inputs.push_back(random_normal({2, 5}, 0, 1, {.seed = 2 + i}).eval());
  Bidirectional both(LSTM(5, {.return_state = true}));
  const std::vector<Tensor> results = both(inputs);
  ASSERT_EQ(results.size(), 5u);
  LSTM one_way(5), back(5, {.go_backwards = true});
  one_way.ensure_built({4, 3});
  back.ensure_built({4, 3});
  for (size_t i = 0; i < 3; ++i) {
    one_way.weights()[i].assign(both.weights()[i]);
    back.weights()[i].assign(both.weights()[3 + i]);
  }
  const RecurrentResult a = one_way.run(x, {.initial_states = {inputs[1], inputs[2]}});
  const RecurrentResult b = back.run(x, {.initial_states = {inputs[3], inputs[4]}});
  EXPECT_CLOSE(results[0], concat({a.output, b.output}, -1), 1e-6, 1e-6);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_CLOSE(results[1 + i], a.states[i], 1e-6, 1e-6);
    EXPECT_CLOSE(results[3 + i], b.states[i], 1e-6, 1e-6);
  }
  EXPECT_ERROR(both(x), ValueError, "gives 5 outputs");
  EXPECT_ERROR(both({x, inputs[1]}), ValueError, "equally many initial states");
  EXPECT_ERROR(both({x, inputs[1], inputs[2]}), ValueError, "takes 2 initial states, got 1");
  EXPECT_ERROR(one_way({x, inputs[1], x}), ShapeError, "an initial state must be");
}

TEST(AttentionLayers, AgreeWithKeras) {
  for (const json& one : references()["attention"]) {
    SCOPED_TRACE(one["options"].dump());
    const json& o = one["options"];
    MultiHeadAttention layer(o["num_heads"], o["key_dim"],
                             {.value_dim = o.value("value_dim", 0),
                              .use_bias = o.value("use_bias", true),
                              .output_shape = o.value("output_shape", 0),
                              .dtype = kReal});
    const Variable query(reference_of(one["query"]));
    const bool cross = !one["value"].is_null();
    const Variable other = cross ? Variable(reference_of(one["value"])) : query;
    const Tensor value = other.read();
    AttentionCall call{.key = reference_of(one["key"]),
                       .attention_mask = truths_of(one["attention_mask"]),
                       .use_causal_mask = one["causal"].get<bool>()};
    if (!one["key_mask"].is_null()) set_mask(value, truths_of(one["key_mask"]));
    layer(query, value, call);
    assign_all(layer.trainable_variables(), one["weights"]);
    GradientTape tape;
    const Tensor y = cross && !call.use_causal_mask.value() && call.key.defined() ? layer({query, value, call.key})[0]
                                                                                  : layer(query, value, call);
    // Keras rounds the scale to float32.
    EXPECT_CLOSE(y, reference_of(one["y"]), 1e-6, 1e-7);
    std::vector<Variable> sources{query};
    if (cross) sources.push_back(other);
    expect_gradients(tape, sum(y * reference_of(one["dy"])), sources, layer.trainable_variables(), one["gradients"],
                     1e-6);
  }
}

TEST(AttentionLayers, SelfAttentionUsesTheMaskOfItsInput) {
  set_seed(1);
  MultiHeadAttention attend(2, 4);
  const Tensor x = random_normal({2, 5, 8}, 0, 1, {.seed = 4});
  const Tensor mask = reshape(tensor({true, true, true, false, false, true, false, false, false, false}), {2, 5});
  set_mask(x, mask);
  const Tensor y = attend(x);
  EXPECT_TRUE(same_elements(mask_of(y), mask));
  // The first example sees three steps, the second one.
  EXPECT_CLOSE(slice(y, {0, 0}, {1, 3}), attend(slice(x, {0, 0}, {1, 3})), 1e-5, 1e-6);
  EXPECT_CLOSE(slice(y, {1, 0}, {2, 1}), attend(slice(x, {1, 0}, {2, 1})), 1e-5, 1e-6);
}

TEST(AttentionLayers, DropoutOfScoresKeepsTheMean) {
  set_seed(2);
  MultiHeadAttention attend(1, 4, {.dropout = 0.5});
  const Tensor x = random_normal({1, 6, 4}, 0, 1, {.seed = 5});
  const Tensor y = attend(x);
  Tensor total = zeros_like(y);
  for (int i = 0; i < 400; ++i) total = (total + attend(x, {.training = true})).eval();
  EXPECT_CLOSE(total / 400, y, 0, 0.35);
  EXPECT_FALSE(allclose(attend(x, {.training = true}), y, 1e-3, 1e-3));
}

// Keras' weights of our blocks, in their own order, from PyTorch's.
std::vector<Tensor> attention_weights(std::map<std::string, Tensor>& w, const std::string& prefix, int64_t heads) {
  const Tensor all = transpose(w.at(prefix + "in_proj_weight"));  // (E, 3 E)
  const int64_t e = all.dim(0), d = e / heads;
  const std::vector<Tensor> kernels = split(all, 3, 1), biases = split(w.at(prefix + "in_proj_bias"), 3, 0);
  std::vector<Tensor> out;
  for (size_t i = 0; i < 3; ++i) {
    out.push_back(reshape(kernels[i], {e, heads, d}));
    out.push_back(reshape(biases[i], {heads, d}));
  }
  out.push_back(reshape(transpose(w.at(prefix + "out_proj.weight")), {heads, d, e}));
  out.push_back(w.at(prefix + "out_proj.bias"));
  return out;
}

void expect_block(const json& one, Layer& layer, const std::function<Tensor(const Tensor&)>& call, bool decoder) {
  std::map<std::string, Tensor> w;
  for (size_t i = 0; i < one["names"].size(); ++i) w[one["names"][i]] = reference_of(one["weights"][i]);
  std::vector<Tensor> weights = attention_weights(w, "self_attn.", 2);
  const auto add = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) weights.push_back(w.at(name).rank() == 2 ? transpose(w.at(name)) : w.at(name));
  };
  add({"norm1.weight", "norm1.bias"});
  if (decoder) {
    for (const Tensor& t : attention_weights(w, "multihead_attn.", 2)) weights.push_back(t);
    add({"norm2.weight", "norm2.bias"});
  }
  add({"linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias"});
  decoder ? add({"norm3.weight", "norm3.bias"}) : add({"norm2.weight", "norm2.bias"});
  const Variable x(reference_of(one["x"]));
  call(x);
  const std::vector<Variable> own = layer.trainable_variables();
  ASSERT_EQ(own.size(), weights.size());
  for (size_t i = 0; i < own.size(); ++i) own[i].assign(weights[i]);
  GradientTape tape;
  const Tensor y = call(x);
  EXPECT_CLOSE(y, reference_of(one["y"]), 1e-9, 1e-10);
  EXPECT_CLOSE(tape.gradient(sum(y * reference_of(one["dy"])), x), reference_of(one["gradients"][0]), 1e-8, 1e-9);
}

TEST(SequenceModules, AgreeWithPyTorch) {
  for (const json& one : references()["torch"]) {
    const std::string name = one["layer"];
    const json& o = one["options"];
    SCOPED_TRACE(name + o.dump());
    if (name == "TransformerEncoderLayer") {
      TransformerEncoderLayer layer(
          2, 8,
          {.activation = o.value("activation", "relu"), .norm_first = o.value("norm_first", false), .dtype = kReal});
      expect_block(
          one, layer, [&](const Tensor& x) { return layer(x); }, false);
      continue;
    }
    if (name == "TransformerDecoderLayer") {
      TransformerDecoderLayer layer(2, 8, {.dtype = kReal});
      const Tensor memory = reference_of(one["memory"]);
      expect_block(
          one, layer, [&](const Tensor& x) { return layer(x, memory); }, true);
      continue;
    }
    const Variable x(reference_of(one["x"]));
    const int64_t width = x.shape()[2],
                  hidden = name == "LSTM" || name == "GRU" ? one["weights"][1]["shape"][1].get<int64_t>() : 0;
    const nn::RecurrentOptions options{.num_layers = o.value("num_layers", 1),
                                       .bias = o.value("bias", true),
                                       .batch_first = o.value("batch_first", false),
                                       .bidirectional = o.value("bidirectional", false),
                                       .dtype = kReal};
    std::shared_ptr<nn::RecurrentModule> recurrent;
    if (name == "LSTM") recurrent = std::make_shared<nn::LSTM>(width, hidden, options);
    if (name == "GRU") recurrent = std::make_shared<nn::GRU>(width, hidden, options);
    nn::MultiheadAttention attention(6, o.value("causal", false) ? 3 : 2,
                                     {.batch_first = o.value("batch_first", false), .dtype = kReal});
    nn::Module& module = recurrent ? static_cast<nn::Module&>(*recurrent) : attention;
    std::vector<std::string> names;
    for (const auto& [path, variable] : module.named_parameters()) names.push_back(path);
    EXPECT_EQ(json(names), one["names"]);
    assign_all(module.parameters(), one["weights"]);
    GradientTape tape;
    Tensor y, total;
    if (recurrent) {
      const nn::RecurrentOutput out = recurrent->run(x);
      y = out.output;
      total = sum(square(out.h));
      EXPECT_CLOSE(out.h, reference_of(one["final"][0]), 1e-9, 1e-10);
      if (out.c.defined()) {
        total = total + sum(square(out.c));
        EXPECT_CLOSE(out.c, reference_of(one["final"][1]), 1e-9, 1e-10);
      }
    } else if (o.value("causal", false)) {
      y = attention.run(x, x, x, {.is_causal = true});
      total = scalar(0, kReal);
    } else {
      const Tensor padding = reshape(tensor({false, false, true, true, false, false, false, true}), {2, 4});
      y = attention.run(x, x, x, {.key_padding_mask = padding});
      total = scalar(0, kReal);
    }
    EXPECT_CLOSE(y, reference_of(one["y"]), 1e-9, 1e-10);
    expect_gradients(tape, total + sum(y * reference_of(one["dy"])), {x}, module.parameters(), one["gradients"]);
  }
}

// The causal transformer of generate_sequences.py.
class SmallTransformer : public Model {
 public:
  SmallTransformer() {
    embed_ = std::make_shared<Embedding>(12, 8, EmbeddingOptions{.dtype = kReal});
    block_ = std::make_shared<TransformerEncoderLayer>(
        2, 16, TransformerLayerOptions{.use_causal_mask = true, .dtype = kReal});
    out_ = std::make_shared<Dense>(3, DenseOptions{.dtype = kReal});
    for (const std::shared_ptr<Layer>& layer : std::initializer_list<std::shared_ptr<Layer>>{embed_, block_, out_})
      add_sublayer(layer);
  }
  Tensor call(const Tensor& x, const CallContext& context) override {
    return (*out_)((*block_)((*embed_)(x, context), context), context);
  }

 private:
  std::shared_ptr<Layer> embed_, block_, out_;
};

TEST(SequenceModels, TrainAlongKerasCurves) {
  for (const json& one : references()["curves"]) {
    const std::string name = one["model"];
    const bool adam = one.contains("optimizer");
    SCOPED_TRACE(name + (adam ? " adam" : " sgd"));
    std::shared_ptr<Model> model;
    if (name == "transformer")
      model = std::make_shared<SmallTransformer>();
    else
      model = std::make_shared<Sequential>(
          Sequential{Embedding(12, 5, {.mask_zero = true, .dtype = kReal}),
                     Bidirectional(LSTM(4, {.return_sequences = true, .dtype = kReal})),
                     GRU(6, {.return_sequences = name == "sequences", .dtype = kReal}), Dense(3, {.dtype = kReal})});
    const Tensor x = reference_of(one["x"]), y = reference_of(one["y"]);
    (*model)(x);
    const std::vector<Variable> weights = model->trainable_variables();
    ASSERT_EQ(weights.size(), one["weights"].size());
    for (size_t i = 0; i < weights.size(); ++i) weights[i].assign(cast(reference_of(one["weights"][i]), kReal));
    model->compile({.optimizer = adam ? AnyOptimizer(Adam(0.01)) : AnyOptimizer(SGD(0.1)),
                    .loss = SparseCategoricalCrossentropy({.from_logits = true})});
    for (size_t step = 0; step < one["losses"].size(); ++step)
      ASSERT_NEAR(model->train_on_batch(x, y)[0].second, one["losses"][step].get<double>(), 2e-5) << "step " << step;
  }
}

TEST(RecurrentLayers, StatefulLayersGoOnWhereTheyEnded) {
  set_seed(3);
  LSTM whole(6, {.return_sequences = true}), parts(6, {.return_sequences = true, .stateful = true});
  const Tensor x = random_normal({2, 8, 3}, 0, 1, {.seed = 6});
  whole(x);
  parts(slice(x, {0, 0}, {2, 4}));
  for (size_t i = 0; i < 3; ++i) parts.weights()[i].assign(whole.weights()[i]);
  parts.reset_states();
  const Tensor first = parts(slice(x, {0, 0}, {2, 4})).eval(), second = parts(slice(x, {0, 4}, {2, 8})).eval();
  EXPECT_CLOSE(concat({first, second}, 1), whole(x), 1e-5, 1e-6);
  parts.reset_states();
  EXPECT_CLOSE(parts(slice(x, {0, 0}, {2, 4})), first, 1e-6, 1e-7);
  EXPECT_ERROR(parts(ones({3, 4, 3})), ShapeError, "goes on with states of shape (2, ");
}

TEST(RecurrentLayers, FusedAndPlainLoopsAgreeInFloat32) {
  for (const int64_t units : {5, 16, 40}) {
    set_seed(4);
    LSTM fused(units), plain(units, {.unroll = true});
    const Tensor x = random_normal({7, 11, 9}, 0, 1, {.seed = 7});
    fused(x);
    plain(x);
    for (size_t i = 0; i < 3; ++i) plain.weights()[i].assign(fused.weights()[i]);
    const auto gradients = [&](LSTM& layer) {
      GradientTape tape;
      return tape.gradient(sum(square(layer(x))), layer.trainable_variables());
    };
    EXPECT_CLOSE(fused(x), plain(x), 1e-4, 1e-5);
    const std::vector<Tensor> a = gradients(fused), b = gradients(plain);
    for (size_t i = 0; i < a.size(); ++i) EXPECT_CLOSE(a[i], b[i], 1e-3, 1e-4);
  }
}

TEST(RecurrentLayers, DropoutActsWhileTraining) {
  set_seed(5);
  LSTM lstm(4, {.dropout = 0.5, .recurrent_dropout = 0.5});
  const Tensor x = random_normal({2, 3, 4}, 0, 1, {.seed = 8});
  EXPECT_TRUE(same_elements(lstm(x), lstm(x)));
  EXPECT_FALSE(same_elements(lstm(x, {.training = true}), lstm(x, {.training = true})));
}

TEST(RecurrentLayers, SayWhatDoesNotFit) {
  EXPECT_ERROR(LSTM(0), ValueError, "[LSTM] units must be at least 1, got 0");
  EXPECT_ERROR(GRU(2, {.recurrent_dropout = 1}), ValueError, "[GRU] recurrent_dropout must be in [0, 1), got 1");
  EXPECT_ERROR(LSTM(2)(ones({3, 4})), ShapeError, "needs (batch, time, features)");
  EXPECT_ERROR(LSTM(2)(ones({3, 0, 4})), ShapeError, "at least one step");
  EXPECT_ERROR(LSTM(2).run(ones({3, 2, 4}), {.initial_states = {ones({3, 2})}}), ValueError, "takes 2 initial states");
  EXPECT_ERROR(Bidirectional(LSTM(2), {.merge_mode = "summ"}), ValueError, "did you mean \"sum\"");
  EXPECT_ERROR(MultiHeadAttention(0, 2), ValueError, "must be positive");
  EXPECT_ERROR(TransformerEncoderLayer(3, 8)(ones({1, 2, 4})), ShapeError, "4 features can't be divided among 3 heads");
}

TEST(MaskingLayer, HidesStepsOfOneValue) {
  Masking masking(-1);
  const Tensor x = reshape(tensor({1.f, 2.f, -1.f, -1.f, -1.f, 3.f}), {1, 3, 2});
  const Tensor y = masking(x);
  EXPECT_TRUE(same_elements(mask_of(y), reshape(tensor({true, false, true}), {1, 3})));
  EXPECT_CLOSE(y, reshape(tensor({1.f, 2.f, 0.f, 0.f, -1.f, 3.f}), {1, 3, 2}), 0, 0);
  EXPECT_TRUE(same_elements(mask_of(Dense(2)(y)), mask_of(y)));
  EXPECT_FALSE(mask_of(Flatten()(y)).defined());
  EXPECT_ERROR(set_mask(x, x), DTypeError, "a mask must be bool");
}

TEST(Bidirectional, WithoutAMergeModeGivesBoth) {
  Bidirectional both(GRU(3), {.merge_mode = nullptr});
  const std::vector<Tensor> results = both(std::vector{ones({2, 4, 5})});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[1].shape(), Shape({2, 3}));
}

TEST(Attention, NamesTheShapeOfExamples) {
  EXPECT_ERROR(MultiHeadAttention(2, 2)(zeros({2, 4})), ShapeError,
               "[MultiHeadAttention] needs (batch, time, features), got examples of shape (4,)");
}

}  // namespace
}  // namespace isochron
