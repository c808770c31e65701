// Inputs with extents that are not known before the data come.
#include <gmock/gmock.h>

#include <map>

#include "isochron/base/files.h"
#include "isochron/isochron.h"
#include "reference.h"

namespace isochron {
namespace {

using testing::HasSubstr;

const Shape kAnyLength = Shape::partial(std::vector<int64_t>{-1, 3});

Tensor noise(const Shape& shape) { return random_normal(shape, 0, 1, {.seed = 7}); }

TEST(PartialShape, HoldsWhatIsKnown) {
  EXPECT_TRUE(kAnyLength.is_partial());
  EXPECT_EQ(kAnyLength.elements(), -1);
  EXPECT_EQ(to_string(kAnyLength), "(None, 3)");
  EXPECT_EQ(kAnyLength.filled(5), Shape({5, 3}));
  EXPECT_EQ(to_string(kAnyLength.insert(0, 32)), "(32, None, 3)");
  EXPECT_EQ(to_string(kAnyLength.with(-1, 4)), "(None, 4)");
  EXPECT_EQ(kAnyLength.with(0, 4), Shape({4, 3}));
  EXPECT_FALSE(kAnyLength.with(0, 4).is_partial());
  EXPECT_EQ(kAnyLength.erase(0), Shape({3}));
  EXPECT_EQ(to_string(kAnyLength.erase(1)), "(None,)");
  EXPECT_FALSE(Shape::partial(std::vector<int64_t>{2, 3}).is_partial());
  EXPECT_ERROR(Shape({-1, 3}), ShapeError, "must not be negative");
  EXPECT_ERROR(Shape::partial(std::vector<int64_t>{-2, 3}), ShapeError, "must not be negative");
  EXPECT_ERROR(zeros(kAnyLength), ShapeError, "must not be negative");
  EXPECT_ERROR(GlobalMaxPooling1D().output_shape(kAnyLength), ShapeError,
               "extents must be known, got shape (1, None, 3)");
}

Shape shape_of(const nlohmann::json& extents) {
  std::vector<int64_t> dims;
  for (const auto& extent : extents) dims.push_back(extent.is_null() ? -1 : extent.get<int64_t>());
  return Shape::partial(dims);
}

TEST(PartialShape, LayersGiveTheShapesOfKeras) {
  const std::map<std::string, AnyLayer> layers{
      {"dense", Dense(5)},
      {"conv1d", Conv1D(6, 3)},
      {"conv1d_causal", Conv1D(6, 3, {.padding = "causal"})},
      {"conv1d_strides", Conv1D(6, 3, {.strides = 2, .padding = "same"})},
      {"conv2d", Conv2D(6, 3)},
      {"conv2d_half_known", Conv2D(6, 3)},
      {"conv2d_transpose", Conv2DTranspose(6, 3, {.strides = 2})},
      {"depthwise", DepthwiseConv2D(3, {.depth_multiplier = 2})},
      {"separable", SeparableConv2D(6, 3, {.padding = "same"})},
      {"max_pooling1d", MaxPooling1D(2)},
      {"average_pooling2d", AveragePooling2D(3, {.strides = 2})},
      {"global_average1d", GlobalAveragePooling1D()},
      {"global_max2d", GlobalMaxPooling2D({.keepdims = true})},
      {"upsampling2d", UpSampling2D(2)},
      {"zero_padding2d", ZeroPadding2D(2)},
      {"cropping1d", Cropping1D({1, 2})},
      {"resizing", Resizing(8, 9)},
      {"center_crop", CenterCrop(8, 9)},
      {"batch_norm", BatchNormalization()},
      {"layer_norm", LayerNormalization()},
      {"group_norm", GroupNormalization({.groups = 2})},
      {"dropout", SpatialDropout1D(0.5)},
      {"activation", Activation("softmax")},
      {"embedding", Embedding(10, 7)},
      {"lstm", LSTM(5)},
      {"lstm_sequences", LSTM(5, {.return_sequences = true})},
      {"gru_backwards", GRU(5, {.return_sequences = true, .go_backwards = true})},
      {"bidirectional", Bidirectional(SimpleRNN(5, {.return_sequences = true}))},
      {"conv_lstm", ConvLSTM1D(2, 3, {.return_sequences = true})},
      {"time_distributed", TimeDistributed(Dense(5))},
      {"time_distributed_images", TimeDistributed(Conv2D(2, 3))},
      {"flatten", Flatten()},
      {"flatten_known_axis_last", Flatten()},
      {"reshape", Reshape({-1, 2})},
      {"permute", Permute({2, 1})},
      {"rescaling", Rescaling(0.5)},
  };
  for (const auto& [name, keras] : reference::read_file("partial_shapes.json").items()) {
    SCOPED_TRACE(name);
    const Input x(shape_of(keras["input"]));
    EXPECT_EQ((*layers.at(name).get())(SymbolicTensor(x)).shape(), shape_of(keras["output"]));
  }
}

// A model for any length against the same layers with each length said.
TEST(PartialShape, SequencesOfAllLengthsGoThroughOneModel) {
  const auto x = Input({-1, 3}, {.name = "steps"});
  EXPECT_EQ(x.shape(), kAnyLength);
  Conv1D conv(4, 3, {.activation = "relu"});
  Bidirectional both(LSTM(5, {.return_sequences = true}));
  MultiHeadAttention attention(2, 4);
  Dense out(2);
  const auto layers = [&](const SymbolicTensor& in) {
    const SymbolicTensor h = both(conv(in));
    return out(GlobalAveragePooling1D()(attention({h, h})));
  };
  const SymbolicTensor h = conv(x);
  EXPECT_EQ(to_string(h.shape()), "(None, 4)");
  EXPECT_EQ(to_string(both(h).shape()), "(None, 10)");
  Model any(x, layers(x));
  EXPECT_EQ(any.outputs()[0].shape(), Shape({2}));
  for (const int64_t length : {3, 9, 70}) {
    const auto fixed_in = Input({length, 3});
    Model fixed(fixed_in, layers(fixed_in));
    const Tensor batch = noise({2, length, 3});
    EXPECT_CLOSE(any(batch), fixed(batch), 1e-5, 1e-6);
  }
  any.compile({.optimizer = SGD({.learning_rate = 0.05}), .loss = "mse"});
  const Tensor y = zeros({4, 2});
  for (const int64_t length : {5, 11}) {
    const double before = any.train_on_batch(noise({4, length, 3}), y)["loss"];
    for (int step = 0; step < 20; ++step) (void)any.train_on_batch(noise({4, length, 3}), y);
    EXPECT_LT(any.evaluate(noise({4, length, 3}), y, {.verbose = 0})["loss"], before);
  }
}

TEST(PartialShape, ImagesOfAllSizesGoThroughOneModel) {
  const auto x = Input({-1, -1, 3});
  const auto a = Conv2D(4, 3, {.padding = "same", .activation = "relu"})(x);
  const auto down = MaxPooling2D(2)(a);
  const auto up = UpSampling2D(2)(down);
  const auto joined = Concatenate()({a, up});
  EXPECT_EQ(to_string(joined.shape()), "(None, None, 8)");
  Model model(x, {Conv2D(1, 1)(joined), GlobalAveragePooling2D()(down)});
  EXPECT_THAT(model.summary(), HasSubstr("(None, None, None, 8)"));
  EXPECT_THAT(model.to_svg(), HasSubstr("(None, None, None, 8)"));
  for (const int64_t size : {8, 20}) {
    const std::vector<Tensor> out = model(std::vector<Tensor>{noise({2, size, size / 2, 3})});
    EXPECT_EQ(out[0].shape(), Shape({2, size, size / 2, 1}));
    EXPECT_EQ(out[1].shape(), Shape({2, 4}));
  }
}

TEST(PartialShape, SequentialModelsStartWithSuchAnInputToo) {
  Sequential model{Input({-1}, {.dtype = DType::int32}), Embedding(20, 6, {.mask_zero = true}), GRU(5), Dense(1)};
  EXPECT_TRUE(model.built());
  EXPECT_EQ(model.count_params(), 20 * 6 + (6 + 5 + 2) * 15 + 6);
  EXPECT_THAT(model.summary(), HasSubstr("(None, None, 6)"));
  EXPECT_THAT(model.to_svg(), HasSubstr("(None, None, 6)"));
  for (const int64_t length : {1, 4, 9}) EXPECT_EQ(model(ones({2, length}, DType::int32)).shape(), Shape({2, 1}));

  Sequential inner{Dense(4), LSTM(3, {.return_sequences = true})};
  const auto x = Input({-1, 3});
  EXPECT_EQ(to_string(inner(x).shape()), "(None, 3)");
  EXPECT_THAT(inner.summary(), HasSubstr("(None, None, 4)"));
}

TEST(PartialShape, IsSavedWithTheModel) {
  const TempFolder folder;
  const auto x = Input({-1, 3});
  Model functional(x, Dense(2)(LSTM(4)(x)));
  Sequential chain{Input({-1, 3}), Conv1D(4, 2), GlobalMaxPooling1D()};
  Sequential outer{Dense(3), GRU(2)};
  outer.ensure_built(kAnyLength);
  for (Model* model : std::initializer_list<Model*>{&functional, &chain, &outer}) {
    model->save(folder.file("model.iso"));
    const std::shared_ptr<Model> loaded = load_model(folder.file("model.iso"));
    EXPECT_EQ(loaded->input_shape(), kAnyLength);
    for (const int64_t length : {4, 7})
      EXPECT_CLOSE((*loaded)(noise({2, length, 3})), (*model)(noise({2, length, 3})), 0, 0);
  }
}

TEST(PartialShape, LayersThatNeedWhatIsNotKnownAreRefused) {
  const auto x = Input({-1, 3});
  Dense dense(2, {.name = "head"});
  EXPECT_ERROR(dense(Flatten()(x)), ShapeError, "[Dense] layer \"head\" must know more of its input than (None, None)");
  EXPECT_FALSE(dense.built());
  EXPECT_EQ(dense(Input({6})).shape(), Shape({2}));  // and is as good as new
  EXPECT_EQ(dense.count_params(), 14);
  EXPECT_ERROR((Sequential{Input({-1, 3}), Flatten(), Dense(2)}), ShapeError, "than (None, None)");
  EXPECT_ERROR(Dense(2)(Input({4, -1})), ShapeError, "than (None, 4, None)");
  EXPECT_ERROR(Input({-2, 3}), ShapeError, "must not be negative, got (-2, 3)");

  MultiHeadAttention attention(2, 4);
  EXPECT_ERROR(attention(Input({5, -1})), ShapeError, "must know more of its input");
  EXPECT_EQ(attention(zeros({1, 5, 6})).shape(), Shape({1, 5, 6}));
  EXPECT_EQ(attention.weights().size(), 8u);
  TransformerEncoderLayer encoder(2, 8);
  EXPECT_ERROR(encoder(Input({5, -1})), ShapeError, "must know more of its input");
  EXPECT_EQ(encoder(zeros({1, 5, 8})).shape(), Shape({1, 5, 8}));
  EXPECT_EQ(encoder.weights().size(), 16u);
  SpectralNormalization spectral(Dense(2));
  EXPECT_ERROR(spectral(Input({-1})), ShapeError, "must know more of its input");
  EXPECT_EQ(spectral(zeros({1, 3})).shape(), Shape({1, 2}));
  // Operations name the layers they happened in here as well.
  EXPECT_ERROR(Conv2D(4, 3, {.name = "third"})(Input({-1, 8})), ShapeError, "in layer \"third\" (Conv2D)");

  Model model(x, Dense(2)(x));
  EXPECT_ERROR(model(zeros({4, 5, 2})), ShapeError, "examples of shape (None, 3), got a batch of shape (4, 5, 2)");
  EXPECT_ERROR(model(zeros({4, 3})), ShapeError, "examples of shape (None, 3), got a batch of shape (4, 3)");
}

}  // namespace
}  // namespace isochron
