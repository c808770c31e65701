// Weights from and to the files of Keras and PyTorch (tests/references/generate_weights.py made the ones in files/).
#include <gmock/gmock.h>

#include <cstdlib>

#include "isochron/base/files.h"
#include "isochron/checkpoint/hdf5.h"
#include "isochron/checkpoint/safetensors.h"
#include "isochron/isochron.h"
#include "isochron/tensor/npy.h"
#include "tests/source_dir.h"

namespace isochron {
namespace {

std::string committed(const std::string& name) { return ISOCHRON_SOURCE_DIR "/tests/checkpoint/files/" + name; }

// Where files for `generate_weights.py check` go, when someone asks for them.
std::string written(const TempFolder& folder, const std::string& name) {
  const char* kept = std::getenv("ISOCHRON_KEEP_WEIGHTS");
  return kept ? std::string(kept) + "/" + name : folder.file(name);
}

#define EXPECT_ERROR(statement, Kind, words) \
  EXPECT_THAT([&] { statement; }, testing::ThrowsMessage<isochron::Kind>(testing::HasSubstr(words)))

Sequential conv_model() {
  return {Input({6, 6, 2}),
          Conv2D(3, 3, {.padding = "same", .activation = "relu"}),
          MaxPooling2D(),
          DepthwiseConv2D(2, {.depth_multiplier = 2}),
          Flatten(),
          Dropout(0.3),
          Dense(5, {.activation = "tanh"}),
          Sequential{Input({5}), Dense(4), Dense(3)}};
}

Model functional_model() {
  const auto a = Input({4}), b = Input({6});
  Dense shared(5, {.activation = "tanh"}), widen(6);
  SymbolicTensor x = Concatenate()({shared(widen(a)), shared(b)});
  x = Dense(10, {.activation = "relu"})(x) + x;
  return Model({a, b}, {Dense(1)(x), Dense(3)(x)});
}

struct TorchNet : nn::Module {
  nn::Conv2d conv{2, 3, 3, {.padding = 1}};
  nn::Sequential body{nn::Linear(108, 7), nn::ReLU(), nn::Linear(7, 4, {.bias = false})};
  TorchNet() {
    register_module("conv", conv);
    register_module("body", body);
  }
  Tensor forward(Tensor x) override { return body(reshape(relu(conv(x)), {x.shape()[0], -1})); }
};

void expect_predictions(const std::string& name, const std::vector<Tensor>& actual) {
  const NpzArrays expected = read_npz(committed(name + ".predictions.npz"));
  for (size_t i = 0; i < actual.size(); ++i) {
    const Tensor& want = expected.at(fmt::format("y{}", i));
    EXPECT_TRUE(allclose(actual[i], want, 1e-5, 1e-5)) << to_string(actual[i]) << " for " << to_string(want);
  }
}
Tensor input(const std::string& name, int i = 0) {
  return read_npz(committed(name + ".predictions.npz")).at(fmt::format("x{}", i));
}

TEST(Weights, KerasFilesGiveKerasPredictions) {
  Sequential conv = conv_model();
  conv.load_weights(committed("keras_conv.weights.h5"));
  expect_predictions("keras_conv", {conv.predict(input("keras_conv"))});
  Model functional = functional_model();
  functional.load_weights(committed("keras_functional.weights.h5"));
  expect_predictions("keras_functional",
                     functional.predict_all({input("keras_functional"), input("keras_functional", 1)}));
}

// Keras' file gives Keras' predictions, and so does ours of the same weights.
void expect_read_and_written(const std::string& name, const std::function<Model()>& make) {
  Model model = make(), copy = make();
  model.load_weights(committed(name + ".weights.h5"));
  expect_predictions(name, {model.predict(input(name))});
  const TempFolder folder;
  model.save_weights(written(folder, name + ".weights.h5"));
  copy.load_weights(written(folder, name + ".weights.h5"));
  expect_predictions(name, {copy.predict(input(name))});
}

TEST(Weights, KerasFilesOfAttentionAreReadAndWritten) {
  expect_read_and_written("keras_attention", [] {
    const Input x({5, 6});
    const SymbolicTensor y = MultiHeadAttention(2, 3, {.value_dim = 4})(SymbolicTensor(x));
    return Model(x, Dense(2)(SymbolicTensor(MultiHeadAttention(3, 2, {.use_bias = false})(y))));
  });
}

TEST(Weights, KerasFilesOfLayersInLayersAreReadAndWritten) {
  expect_read_and_written("keras_wrapped", [] {
    const Input x({3, 4, 4, 2});
    const SymbolicTensor read = Bidirectional(ConvLSTM2D(2, 2, {.return_sequences = true}))(SymbolicTensor(x));
    const SymbolicTensor y = GroupQueryAttention(2, 4, 2, {.use_gate = true})(Reshape({3, 36})(read));
    return Model(x, SpectralNormalization(Dense(3))(y));
  });
}

TEST(Weights, KerasFilesOfEinsumsAreReadAndWritten) {
  expect_read_and_written("keras_einsum", [] {
    const Input x({3, 4});
    const SymbolicTensor y = EinsumDense("abc,cde->abde", {-1, 2, 3}, {.activation = "tanh", .bias_axes = "de"})(x);
    return Model(x, EinsumDense("...de,def->...f", 5, {.bias_axes = "f"})(y));
  });
}

TEST(Weights, TorchFilesGiveTorchPredictions) {
  TorchNet net;
  net.load_weights(committed("torch_net.safetensors"));
  net.eval();
  expect_predictions("torch_net", {net(input("torch_net"))});
  EXPECT_EQ(read_safetensors(committed("torch_net.safetensors")).metadata.at("format"), "pt");
}

TEST(Weights, EveryFormatBringsTheSameWeightsBack) {
  TempFolder folder;
  Sequential model = conv_model();
  model.load_weights(committed("keras_conv.weights.h5"));
  for (const char* name : {"keras_conv.weights.h5", "w.safetensors", "w.npz"}) {
    const std::string path = written(folder, name);
    model.save_weights(path);
    Sequential other = conv_model();
    other.load_weights(path);
    const std::vector<Tensor> a = model.get_weights(), b = other.get_weights();
    for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_elements(a[i], b[i])) << name << ", weight " << i;
  }
  Model functional = functional_model(), copy = functional_model();
  functional.load_weights(committed("keras_functional.weights.h5"));
  functional.save_weights(written(folder, "keras_functional.weights.h5"));
  copy.load_weights(written(folder, "keras_functional.weights.h5"));
  EXPECT_TRUE(same_elements(functional.get_weights()[4], copy.get_weights()[4]));
  TorchNet net;
  net.load_weights(committed("torch_net.safetensors"));
  net.save_weights(written(folder, "torch_net.safetensors"));
  TorchNet net_copy;
  net_copy.load_weights(written(folder, "torch_net.safetensors"));
  EXPECT_TRUE(same_elements(net.body.parameters()[0], net_copy.body.parameters()[0]));
}

// The writer against h5py's own: the same datasets, at any number of links.
TEST(Weights, Hdf5KeepsAnyNumberOfDatasets) {
  TempFolder folder;
  for (const int count : {0, 1, 8, 9, 300, 2500}) {
    NamedTensors all;
    for (int i = 0; i < count; ++i)
      all.emplace_back(fmt::format("layers/dense_{}/vars/{}", i, i % 3), full({2, i % 4}, i, DType::float64));
    all.emplace_back("top", scalar(7, DType::int64));
    write_hdf5(folder.file("many.h5"), all);
    const NamedTensors back = read_hdf5(folder.file("many.h5"));
    ASSERT_EQ(back.size(), all.size());
    for (const auto& [name, value] : all) {
      const auto found = std::find_if(back.begin(), back.end(), [&](const auto& e) { return e.first == name; });
      ASSERT_NE(found, back.end()) << name;
      EXPECT_TRUE(same_elements(found->second, value)) << name;
    }
  }
}

TEST(Weights, SafetensorsKeepsEveryDtype) {
  TempFolder folder;
  NamedTensors all;
  for (const DType dtype : {DType::float32, DType::float64, DType::int32, DType::int64, DType::uint8, DType::boolean,
                            DType::bfloat16, DType::float16})
    all.emplace_back(std::string(name_of(dtype)), cast(tensor({{0.f, 1.f, 1.f}}), dtype).eval());
  all.emplace_back("empty", zeros({0, 3}).eval());
  all.emplace_back("scalar", scalar(2.5));
  write_safetensors(folder.file("all.safetensors"), all, {{"epoch", "3"}});
  const SafetensorsFile back = read_safetensors(folder.file("all.safetensors"));
  EXPECT_EQ(back.metadata.at("epoch"), "3");
  for (const auto& [name, value] : all) EXPECT_TRUE(same_elements(back.at(name), value)) << name;
  EXPECT_ERROR(back.at("none"), FileError, "there is no tensor \"none\"; there are float32");
}

TEST(Weights, SayWhatIsMissingExtraAndMismatched) {
  TempFolder folder;
  const std::string path = folder.file("w.safetensors");
  Sequential{Input({3}), Dense(4), Dense(2), Dense(1)}.save_weights(path);
  Sequential other{Input({3}), Dense(5), Dense(2), Rescaling(2), Dense(1, {.use_bias = false})};
  const std::vector<Tensor> before = other.get_weights();
  EXPECT_ERROR(other.load_weights(path), FileError,
               "does not fit; nothing was loaded\n  extra (1): dense_2/bias\n  mismatched (3): dense/kernel is "
               "float32(3, 5), the file has float32(3, 4), dense/bias is");
  EXPECT_TRUE(same_elements(before[4], other.get_weights()[4]));
  other.load_weights(path, {.skip_mismatch = true});
  EXPECT_FALSE(same_elements(before[4], other.get_weights()[4]));
  Sequential larger{Input({3}), Dense(4), Dense(2), Dense(1), Dense(1)};
  EXPECT_ERROR(larger.load_weights(path), FileError, "missing (2): dense_3/kernel, dense_3/bias");
  EXPECT_ERROR(larger.save_weights(folder.file("w.txt")), ValueError, ".safetensors, .npz or .weights.h5");
  EXPECT_ERROR(Sequential({Dense(2)}).save_weights(path), StateError, "no weights yet");
  EXPECT_ERROR(larger.load_weights(folder.file("none.npz")), FileError, "none.npz");
  // Floats are converted, names of layers are taken where they fit better.
  Sequential named{Input({2}), Dense(1, {.name = "head"})};
  write_safetensors(path, {{"head/kernel", zeros({2, 1}, DType::float64)}, {"head/bias", ones({1}, DType::bfloat16)}});
  named.load_weights(path);
  EXPECT_EQ(named.weights()[1].item(), 1);
}

}  // namespace
}  // namespace isochron
