// Modules of torch.nn: outputs, gradients and a training curve against PyTorch (tests/references/modules.json).
#include "isochron/nn/modules.h"

#include <gtest/gtest.h>

#include "isochron/graph/tape.h"
#include "isochron/ops/ops.h"
#include "isochron/optim/lr_scheduler.h"
#include "isochron/optim/torch_optimizers.h"
#include "reference.h"

namespace isochron {
namespace {

using nlohmann::json;
using reference::kReal;
using reference::tensor_of;

const json& references() { return reference::read_file("modules.json"); }

std::vector<std::pair<std::string, Tensor>> state_of(const json& state) {
  std::vector<std::pair<std::string, Tensor>> out;
  for (const auto& [name, value] : state.items()) out.emplace_back(name, tensor_of(value));
  return out;
}

struct Case {
  std::shared_ptr<nn::Module> module;
  std::function<std::vector<Tensor>(const std::vector<Tensor>&)> run;
};

template <class M>
Case plain(M module) {
  return {std::make_shared<M>(module), [module](const auto& in) mutable { return std::vector{module(in[0])}; }};
}
template <class M, class F>
Case with(M module, F run) {
  return {std::make_shared<M>(module), [module, run](const auto& in) mutable { return run(module, in); }};
}
template <class M>
Case with_states(M module) {
  return with(module, [](M& m, const std::vector<Tensor>& in) {
    const nn::RecurrentOutput out = m.run(in[0], in.size() > 1 ? in[1] : Tensor());
    return out.c.defined() ? std::vector{out.output, out.h, out.c} : std::vector{out.output, out.h};
  });
}
template <class M>
Case step(M module) {
  return with(module, [](M& m, const std::vector<Tensor>& in) {
    return std::vector{m.run(in[0], in.size() > 1 ? in[1] : Tensor())};
  });
}
using Inputs = const std::vector<Tensor>&;

std::map<std::string, Case> spatial_cases() {
  using namespace nn;
  return {
      {"conv1d", plain(Conv1d(4, 6, 3, {.stride = 2, .padding = 1, .dtype = kReal}))},
      {"conv1d_same", plain(Conv1d(3, 2, 4, {.padding = "same", .dilation = 2, .dtype = kReal}))},
      {"conv1d_groups", plain(Conv1d(4, 6, 3, {.groups = 2, .bias = false, .dtype = kReal}))},
      {"conv2d_single", plain(Conv2d(2, 3, {3, 2}, {.padding = {1, 0}, .dtype = kReal}))},
      {"conv3d", plain(Conv3d(2, 3, 2, {.stride = {1, 2, 1}, .dtype = kReal}))},
      {"conv_transpose1d", plain(ConvTranspose1d(3, 2, 3, {.stride = 2, .output_padding = 1, .dtype = kReal}))},
      {"conv_transpose2d", plain(ConvTranspose2d(4, 2, 4, {.stride = 2, .padding = 1, .dtype = kReal}))},
      {"conv_transpose2d_groups", plain(ConvTranspose2d(4, 6, 3, {.groups = 2, .dilation = 2, .dtype = kReal}))},
      {"conv_transpose3d", plain(ConvTranspose3d(2, 3, 2, {.stride = 2, .bias = false, .dtype = kReal}))},
      {"max_pool1d", plain(MaxPool1d({3}, {.stride = 2}))},
      {"max_pool2d", plain(MaxPool2d(3, {.stride = 2, .padding = 1, .ceil_mode = true}))},
      {"max_pool3d", plain(MaxPool3d(2))},
      {"avg_pool1d", plain(AvgPool1d(2, {.padding = 1}))},
      {"avg_pool2d", plain(AvgPool2d(3, {.stride = 2, .padding = 1, .ceil_mode = true}))},
      {"avg_pool2d_inside",
       plain(AvgPool2d(3, {.stride = 2, .padding = 1, .ceil_mode = true, .count_include_pad = false}))},
      {"avg_pool3d", plain(AvgPool3d(2, {.stride = 1}))},
      {"adaptive_avg_pool1d", plain(AdaptiveAvgPool1d({3}))},
      {"adaptive_avg_pool2d", plain(AdaptiveAvgPool2d({2, 3}))},
      {"adaptive_avg_pool2d_even", plain(AdaptiveAvgPool2d(2))},
      {"adaptive_avg_pool3d", plain(AdaptiveAvgPool3d(1))},
      {"adaptive_max_pool1d", plain(AdaptiveMaxPool1d(4))},
      {"adaptive_max_pool2d", plain(AdaptiveMaxPool2d({3, -1}))},
      {"upsample_nearest", plain(Upsample(2))},
      {"upsample_bilinear", plain(Upsample({3, 2}, {.mode = "bilinear"}))},
      {"upsample_linear", plain(Upsample(2, {.mode = "linear"}))},
      {"pixel_shuffle", plain(PixelShuffle(2))},
      {"pixel_unshuffle", plain(PixelUnshuffle(3))},
      {"zero_pad2d", plain(ZeroPad2d({1, 2, 0, 3}))},
      {"constant_pad1d", plain(ConstantPad1d(2, 1.5))},
      {"conv2d_circular",
       plain(Conv2d(2, 3, {3, 2}, {.stride = 2, .padding = {1, 2}, .padding_mode = "circular", .dtype = kReal}))},
      {"conv1d_replicate",
       plain(Conv1d(3, 2, 4, {.padding = "same", .dilation = 2, .padding_mode = "replicate", .dtype = kReal}))},
      {"conv3d_reflect",
       plain(Conv3d(2, 2, 3, {.padding = 1, .groups = 2, .padding_mode = "reflect", .dtype = kReal}))},
      {"reflection_pad1d", plain(ReflectionPad1d({2, 1}))},
      {"reflection_pad2d", plain(ReflectionPad2d({1, 2, 0, 2}))},
      {"reflection_pad3d", plain(ReflectionPad3d(1))},
      {"replication_pad1d", plain(ReplicationPad1d({3}))},
      {"replication_pad2d", plain(ReplicationPad2d({1, 4, 2, 0}))},
      {"replication_pad3d", plain(ReplicationPad3d({1, 0, 0, 2, 1, 1}))},
      {"circular_pad2d", plain(CircularPad2d({2, 1, 3, 0}))},
      {"unflatten", plain(Unflatten(1, {2, 3}))},
      {"batch_norm3d", plain(BatchNorm3d(2, {.dtype = kReal}))},
      {"instance_norm1d", plain(InstanceNorm1d(3, {.dtype = kReal}))},
      {"instance_norm2d", plain(InstanceNorm2d(2, {.eps = 1e-3, .affine = true, .dtype = kReal}))},
  };
}

std::map<std::string, Case> sequence_cases() {
  using namespace nn;
  std::map<std::string, Case> cases = {
      {"embedding_padding", plain(Embedding(5, 3, {.padding_idx = 0, .dtype = kReal}))},
      {"embedding_bag_weights", with(EmbeddingBag(5, 3, {.mode = "sum", .dtype = kReal}),
                                     [](EmbeddingBag& bag, Inputs in) { return std::vector{bag.run(in[0], in[1])}; })},
      {"rnn", with_states(RNN(3, 4, {.num_layers = 2, .bidirectional = true, .dtype = kReal}))},
      {"rnn_relu",
       with_states(RNN(3, 4, {.bias = false, .batch_first = true, .nonlinearity = "relu", .dtype = kReal}))},
      {"lstm_single", with_states(LSTM(3, 4, {.bidirectional = true, .dtype = kReal}))},
      {"gru_states", with_states(GRU(3, 4, {.dtype = kReal}))},
      {"rnn_cell", step(RNNCell(3, 4, {.dtype = kReal}))},
      {"rnn_cell_relu", step(RNNCell(3, 4, {.nonlinearity = "relu", .dtype = kReal}))},
      {"gru_cell", step(GRUCell(3, 4, {.dtype = kReal}))},
      {"gru_cell_single", step(GRUCell(3, 4, {.bias = false, .dtype = kReal}))},
      {"lstm_cell", with(LSTMCell(3, 4, {.dtype = kReal}),
                         [](LSTMCell& cell, Inputs in) {
                           const auto [h, c] = cell.run(in[0], in[1], in[2]);
                           return std::vector{h, c};
                         })},
  };
  for (const std::string mode : {"mean", "sum", "max"}) {
    cases.emplace("embedding_bag_" + mode, plain(EmbeddingBag(5, 3, {.mode = mode, .dtype = kReal})));
    cases.emplace("embedding_bag_" + mode + "_padding",
                  plain(EmbeddingBag(5, 3, {.mode = mode, .padding_idx = 0, .dtype = kReal})));
  }
  return cases;
}

std::map<std::string, Case> attention_cases() {
  using namespace nn;
  const Tensor padding =
      reshape(tensor({false, false, true, false, false, false, true, true, false, true}), {2, 5}).eval();
  const Tensor later = triu(ones({4, 5}), 2) > 0;
  const MultiheadAttention attend(6, 2, {.batch_first = true, .dtype = kReal});
  return {
      {"attention_added", with(attend,
                               [=](MultiheadAttention& m, Inputs in) {
                                 const Tensor added = cast(padding, kReal) * -3;
                                 return std::vector{m.run(in[0], in[1], in[1], {added, in[2]})};
                               })},
      {"attention_each_head", with(attend,
                                   [=](MultiheadAttention& m, Inputs in) {
                                     const auto [y, w] = m.run_with_weights(in[0], in[1], in[1], {padding, in[2]});
                                     EXPECT_CLOSE(m.run(in[0], in[1], in[1], {padding, in[2]}), y, 1e-12, 1e-12);
                                     return std::vector{y, w};
                                   })},
      {"attention_widths", with(MultiheadAttention(6, 3, {.bias = false, .kdim = 4, .vdim = 5, .dtype = kReal}),
                                [](MultiheadAttention& m, Inputs in) {
                                  const auto [y, w] = m.run_with_weights(in[0], in[1], in[2], {}, false);
                                  return std::vector{y, w};
                                })},
      {"transformer_encoder", with(TransformerEncoder(TransformerEncoderLayer(6, 2,
                                                                              {.dim_feedforward = 7,
                                                                               .dropout = 0,
                                                                               .activation = "gelu",
                                                                               .batch_first = true,
                                                                               .norm_first = true,
                                                                               .dtype = kReal}),
                                                      2, LayerNorm(6, {.dtype = kReal})),
                                   [=](TransformerEncoder& m, Inputs in) {
                                     return std::vector{m.run(in[0], {.src_key_padding_mask = padding})};
                                   })},
      {"transformer_decoder",
       with(TransformerDecoder(TransformerDecoderLayer(6, 3, {.dim_feedforward = 7, .dropout = 0, .dtype = kReal}), 2),
            [=](TransformerDecoder& m, Inputs in) {
              return std::vector{
                  m(in[0], in[1], {.memory_mask = later, .memory_key_padding_mask = padding, .tgt_is_causal = true})};
            })},
  };
}

std::map<std::string, Case> masked_encoder_cases() {
  using namespace nn;
  const Tensor padding = (reshape(tensor({0., 0., 1., 0., 1., 0.}, kReal), {2, 3}) * -2).eval();
  const TransformerEncoderLayer layer(4, 2, {.dim_feedforward = 5, .dropout = 0, .dtype = kReal});
  return {
      {"encoder_layer_masks", with(layer,
                                   [=](TransformerEncoderLayer& m, Inputs in) {
                                     return std::vector{m(in[0], {.src_mask = in[1], .src_key_padding_mask = padding})};
                                   })},
      {"encoder_causal", with(TransformerEncoder(layer, 2), [=](TransformerEncoder& m, Inputs in) {
         const Tensor y = m(in[0], {.src_key_padding_mask = padding, .is_causal = true});
         const Tensor causal = Transformer::generate_square_subsequent_mask(3, kReal);
         EXPECT_CLOSE(m(in[0], {.mask = causal, .src_key_padding_mask = padding}), y, 1e-12, 1e-12);
         EXPECT_FALSE(allclose(m(in[0]), y));
         return std::vector{y};
       })}};
}

std::map<std::string, Case> transformer_cases() {
  using namespace nn;
  const TransformerOptions sizes{.d_model = 4,
                                 .nhead = 2,
                                 .num_encoder_layers = 2,
                                 .num_decoder_layers = 1,
                                 .dim_feedforward = 5,
                                 .dropout = 0,
                                 .dtype = kReal};
  TransformerOptions pre = sizes;
  pre.activation = "gelu";
  pre.layer_norm_eps = 1e-3;
  pre.batch_first = pre.norm_first = true;
  const auto flags = [](std::initializer_list<bool> values, std::vector<int64_t> shape) {
    return reshape(tensor(values), shape).eval();
  };
  const Tensor padding = flags({false, false, true, false, true, true}, {2, 3});
  const TransformerCall masks{
      .src_mask = triu(ones({3, 3}), 1) > 0,
      .memory_mask = triu(ones({4, 3}), 1) > 0,
      .src_key_padding_mask = padding,
      .tgt_key_padding_mask = flags({false, false, false, true, false, false, true, false}, {2, 4}),
      .memory_key_padding_mask = padding};
  return {{"transformer", with(Transformer(sizes),
                               [](Transformer& m, Inputs in) {
                                 const Tensor causal = Transformer::generate_square_subsequent_mask(4, kReal);
                                 const Tensor y = m(in[0], in[1], {.tgt_mask = causal});
                                 EXPECT_CLOSE(m(in[0], in[1], {.tgt_is_causal = true}), y, 1e-12, 1e-12);
                                 return std::vector{y};
                               })},
          {"transformer_norm_first",
           with(Transformer(pre), [=](Transformer& m, Inputs in) { return std::vector{m(in[0], in[1], masks)}; })}};
}

void expect_case(const json& one, const Case& given) {
  nn::Module& module = *given.module;
  module.train(one["training"]);
  module.load_state_dict(state_of(one["state"]));
  std::vector<Tensor> inputs, floating;
  for (const json& value : one["inputs"]) {
    const Tensor input = tensor_of(value);
    if (is_floating(input.dtype())) {
      inputs.push_back(Variable(input));
      floating.push_back(inputs.back());
    } else {
      inputs.push_back(input);
    }
  }
  GradientTape tape;
  const std::vector<Tensor> outputs = given.run(inputs);
  ASSERT_EQ(outputs.size(), one["outputs"].size());
  Tensor total = scalar(0, kReal);
  for (size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_CLOSE(outputs[i], tensor_of(one["outputs"][i]), 1e-9, 1e-10);
    total = total + sum(outputs[i] * tensor_of(one["dys"][i]));
  }
  std::vector<Tensor> wanted = floating;
  for (const Variable& parameter : module.parameters()) wanted.push_back(parameter);
  const std::vector<Tensor> gradients = tape.gradient(total, wanted);
  for (size_t i = 0; i < floating.size(); ++i)
    EXPECT_CLOSE(gradients[i], tensor_of(one["input_gradients"][i]), 1e-8, 1e-9);
  size_t next = floating.size();
  for (const auto& [name, parameter] : module.named_parameters()) {
    SCOPED_TRACE(name);
    EXPECT_CLOSE(gradients[next++], tensor_of(one["gradients"][name]), 1e-8, 1e-9);
  }
}

TEST(Modules, AgreeWithPyTorch) {
  std::map<std::string, Case> cases = spatial_cases();
  cases.merge(sequence_cases());
  cases.merge(attention_cases());
  cases.merge(transformer_cases());
  cases.merge(masked_encoder_cases());
  EXPECT_EQ(cases.size(), references()["modules"].size());
  for (const json& one : references()["modules"]) {
    const std::string name = one["module"];
    SCOPED_TRACE(name);
    ASSERT_TRUE(cases.contains(name));
    expect_case(one, cases.at(name));
  }
}

TEST(Modules, TrainAlongPyTorchsCurve) {
  const json& curve = references()["curve"];
  nn::Sequential net{nn::Conv1d(2, 4, 3, {.padding = 1, .dtype = kReal}),
                     nn::InstanceNorm1d(4, {.affine = true, .dtype = kReal}),
                     nn::ReLU(),
                     nn::ConvTranspose1d(4, 3, 2, {.stride = 2, .dtype = kReal}),
                     nn::AdaptiveAvgPool1d(3),
                     nn::Flatten(),
                     nn::Linear(9, 2, {.dtype = kReal})};
  net.load_state_dict(state_of(curve["state"]));
  const Tensor x = tensor_of(curve["x"]), y = tensor_of(curve["y"]);
  optim::Adam optimizer(net.parameters(), {.lr = 0.05});
  optim::lr_scheduler::StepLR scheduler(optimizer, 7, 0.5);
  for (const double expected : curve["losses"]) {
    optimizer.zero_grad();
    const Tensor loss = mse_loss(net(x), y);
    EXPECT_NEAR(loss.item(), expected, 1e-6 * expected);
    loss.backward();
    optimizer.step();
    scheduler.step();
  }
}

TEST(Modules, ATransformerStartsByXaviersRuleAndSaysWhatDoesNotFit) {
  nn::Transformer model({.d_model = 8, .nhead = 2, .num_encoder_layers = 2, .num_decoder_layers = 1});
  EXPECT_ERROR(model(zeros({5, 3, 8}), zeros({4, 2, 8})), ShapeError, "must agree in their batch");
  EXPECT_ERROR(model(zeros({5, 3, 8}), zeros({4, 3, 6})), ShapeError, "with 8 features, got (5, 3, 8) and (4, 3, 6)");
  EXPECT_ERROR(nn::Transformer({.d_model = 8, .nhead = 3}), ValueError, "8 features can't be divided among 3 heads");
  EXPECT_ERROR(nn::Transformer({.num_encoder_layers = 0}), ValueError, "num_layers must be positive, got 0");
  const double bound = std::sqrt(6.0 / (8 + 2048));
  std::vector<Tensor> first;
  for (const auto& [name, parameter] : model.named_parameters()) {
    if (!name.ends_with("linear1.weight")) continue;
    const double largest = max(abs(parameter)).item();
    EXPECT_LE(largest, bound) << name;
    EXPECT_GT(largest, 0.99 * bound) << name;
    for (const Tensor& other : first) EXPECT_FALSE(same_elements(parameter, other)) << name;  // layers start apart
    first.push_back(parameter.read());
  }
  EXPECT_EQ(first.size(), 3u);
}

TEST(Modules, ChannelsAreDroppedWhole) {
  nn::Dropout2d dropout(0.5);
  const std::vector<float> kept = dropout(ones({8, 16, 3, 3})).to_vector<float>();
  int dropped = 0;
  for (size_t channel = 0; channel < 8 * 16; ++channel) {
    const float first = kept[channel * 9];
    EXPECT_TRUE(first == 0 || first == 2);
    for (size_t i = 1; i < 9; ++i) EXPECT_EQ(kept[channel * 9 + i], first);
    dropped += first == 0;
  }
  EXPECT_GT(dropped, 30);
  EXPECT_LT(dropped, 98);
  dropout.eval();
  EXPECT_CLOSE(dropout(ones({2, 3, 3})), ones({2, 3, 3}), 0, 0);
}

TEST(Modules, PaddingRowStartsAsZerosAndStaysSo) {
  nn::Embedding embedding(4, 3, {.padding_idx = -1});
  const auto row = [&] { return sum(abs(slice(embedding.weight, {3}, {4}))).item(); };
  EXPECT_EQ(row(), 0);
  optim::SGD optimizer(embedding.parameters(), {.lr = 1});
  sum(embedding(tensor({3, 1, 3}))).backward();
  optimizer.step();
  EXPECT_EQ(row(), 0);
  EXPECT_ERROR(embedding(tensor({4})).eval(), IndexError, "got 4");
}

TEST(Modules, LayersOfATransformerStartAlikeAndAreApart) {
  nn::TransformerEncoder encoder(nn::TransformerEncoderLayer(4, 2, {.dim_feedforward = 8}), 2);
  const auto parameters = encoder.named_parameters();
  ASSERT_EQ(parameters.size(), 24u);
  EXPECT_EQ(parameters[0].first, "layers.0.self_attn.in_proj_weight");
  EXPECT_EQ(parameters[12].first, "layers.1.self_attn.in_proj_weight");
  EXPECT_TRUE(same_elements(parameters[0].second, parameters[12].second));
  parameters[0].second.assign(zeros({12, 4}));
  EXPECT_FALSE(same_elements(parameters[0].second, parameters[12].second));
}

TEST(Modules, SayWhatDoesNotFit) {
  const Tensor image = ones({2, 3, 8, 8});
  EXPECT_ERROR(nn::Conv2d(3, 4, 3)(ones({8, 8})), ShapeError, "(channels, rows, columns), got (8, 8)");
  EXPECT_ERROR(nn::Conv2d(4, 4, 3)(image), ShapeError, "[Conv2d] takes 4 channels, got 3 in (2, 3, 8, 8)");
  EXPECT_ERROR(nn::Conv2d(3, 4, 3, {.stride = 2, .padding = "same"}), ValueError, "goes with stride 1");
  EXPECT_ERROR(nn::Conv2d(3, 4, 3, {.padding = "smae"}), ValueError, "did you mean \"same\"?");
  EXPECT_ERROR(nn::Conv2d(3, 4, 3, {.padding_mode = "circlar"}), ValueError, "did you mean \"circular\"?");
  EXPECT_ERROR(nn::Conv2d(3, 4, 3, {.padding = 8, .padding_mode = "reflect"})(image), ShapeError,
               "[Conv2d] borders must be narrower than the image, got 8 and 8");
  EXPECT_ERROR(nn::Conv1d(3, 4, 3, {.padding = {1, 2}}), ValueError, "padding needs 1 or 1 numbers, got (1, 2)");
  EXPECT_ERROR(nn::Conv3d(3, 4, 3, {.groups = 2}), ValueError, "[Conv3d] groups must divide the channels");
  EXPECT_ERROR(nn::ConvTranspose2d(3, 4, 3, {.output_padding = 1}), ValueError, "must be below the stride");
  EXPECT_ERROR(nn::MaxPool2d(3, {.padding = 2}), ValueError, "half of the window, got (2, 2)");
  EXPECT_ERROR(nn::AdaptiveAvgPool2d(0), ValueError, "must be positive, or -1");
  EXPECT_ERROR(nn::PixelShuffle(2)(image), ShapeError, "a multiple of 4, got 3");
  EXPECT_ERROR(nn::PixelUnshuffle(3)(image), ShapeError, "multiples of 3");
  EXPECT_ERROR(nn::Unflatten(1, {2, -1})(image), ShapeError, "axis 1 of (2, 3, 8, 8) does not divide into (2, -1)");
  EXPECT_ERROR(nn::ReflectionPad2d({8, 0, 0, 0})(image), ShapeError,
               "must be narrower than the image, got 8 and 0 for axis 3 of (2, 3, 8, 8)");
  EXPECT_ERROR(nn::CircularPad1d(9)(image), ShapeError, "must be no wider than the image");
  EXPECT_ERROR(nn::ReplicationPad1d({1, 2, 3}), ValueError, "padding needs 1 or 2 numbers, got (1, 2, 3)");
  EXPECT_ERROR(nn::Upsample(2, {.mode = "bilinar"}), ValueError, "did you mean \"bilinear\"?");
  EXPECT_ERROR(nn::InstanceNorm1d(3)(image), ShapeError, "with 1 spatial axis, got (2, 3, 8, 8)");
  EXPECT_ERROR(nn::Embedding(5, 3)(ones({2})), DTypeError, "takes tokens as integers, got float32");
  EXPECT_ERROR(nn::Embedding(5, 3, {.padding_idx = 5}), ValueError, "one of 5 rows, got 5");
  EXPECT_ERROR(nn::EmbeddingBag(5, 3, {.mode = "men"}), ValueError, "did you mean \"mean\"?");
  EXPECT_ERROR(nn::EmbeddingBag(5, 3).run(ones({1, 2}, DType::int64), ones({1, 2})), ValueError,
               "go with mode \"sum\"");
  EXPECT_ERROR(nn::RNN(3, 4, {.nonlinearity = "tan"}), ValueError, "did you mean \"tanh\"?");
  EXPECT_ERROR(nn::LSTM(3, 4, {.dropout = 2}), ValueError, "dropout must be in [0, 1], got 2");
  EXPECT_ERROR(nn::LSTM(3, 4)(ones({0, 2, 3})), ShapeError, "needs at least one step");
  EXPECT_ERROR(nn::LSTM(3, 4)(ones({5, 2, 3}, kReal)), DTypeError, "[LSTM] takes float32, got float64");
  EXPECT_ERROR(nn::GRUCell(3, 4).run(ones({2, 3}), ones({3, 4})), ShapeError, "states must be (2, 4), got (3, 4)");
  nn::MultiheadAttention attend(6, 2, {.batch_first = true});
  const Tensor x = ones({2, 5, 6});
  EXPECT_ERROR(attend.run(x, x, x, {.attn_mask = ones({5}, DType::boolean)}), ShapeError,
               "must be (5, 5) or (4, 5, 5), got (5,)");
  EXPECT_ERROR(attend.run(x, x, x, {.attn_mask = ones({5, 5}, DType::int64)}), DTypeError, "got int64");
  EXPECT_ERROR(attend.run(x, x, x, {.key_padding_mask = ones({2, 4}, DType::boolean)}), ShapeError,
               "must be (2, 5) as the keys are, got (2, 4)");
  EXPECT_ERROR(attend.run(x, ones({2, 5, 4}), x), ShapeError, "a key of (N, L, …) with 6 features, got (2, 5, 4)");
  EXPECT_ERROR(attend.run(x, ones({3, 5, 6}), x), ShapeError, "must agree in batch");
  EXPECT_ERROR(nn::TransformerEncoderLayer(6, 2, {.activation = "gleu"}), ValueError, "did you mean \"gelu\"?");
}

}  // namespace
}  // namespace isochron
