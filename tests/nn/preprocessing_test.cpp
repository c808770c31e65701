// Image, lookup and text layers against Keras (tests/references/generate_preprocessing.py).
#include <gtest/gtest.h>

#include "isochron/isochron.h"
#include "isochron/nn/config.h"
#include "reference.h"

namespace isochron {
namespace {

using reference::tensor_of;

const nlohmann::json& keras() {
  static const nlohmann::json document = reference::read_file("preprocessing.json");
  return document;
}
Tensor images() { return tensor_of(keras()["images"]); }
std::vector<std::string> strings(const nlohmann::json& list) { return list.get<std::vector<std::string>>(); }

TEST(ImageLayers, ComputeAsKerasDoes) {
  for (const auto& entry : keras()["layers"]) {
    SCOPED_TRACE(entry["layer"].get<std::string>() + entry["config"].dump());
    const int64_t height = entry["size"][0], width = entry["size"][1];
    const auto& config = entry["config"];
    const std::string interpolation = config.value("interpolation", "bilinear");
    const AnyLayer layer = entry["layer"] == "CenterCrop" ? AnyLayer(CenterCrop(height, width))
                           : entry["layer"] == "UpSampling2D"
                               ? AnyLayer(UpSampling2D({height, width}, {.interpolation = interpolation}))
                               : AnyLayer(Resizing(height, width,
                                                   {.interpolation = interpolation,
                                                    .crop_to_aspect_ratio = config.value("crop_to_aspect_ratio", false),
                                                    .pad_to_aspect_ratio = config.value("pad_to_aspect_ratio", false),
                                                    .fill_value = config.value("fill_value", 0.0)}));
    EXPECT_CLOSE((*layer.get())(images()), tensor_of(entry["output"]), 1e-5, 1e-3);
  }
  for (const auto& entry : keras()["brightness"]) {
    const double factor = entry["factor"];
    RandomBrightness layer({factor, factor}, {.value_range = {entry["value_range"][0], entry["value_range"][1]}});
    EXPECT_CLOSE(layer(images(), {.training = true}), tensor_of(entry["output"]), 1e-5, 1e-3);
  }
  for (const auto& entry : keras()["affine"]) {
    SCOPED_TRACE(entry["mode"].get<std::string>());
    EXPECT_CLOSE(affine_transform(images(), tensor_of(entry["transforms"]),
                                  {.fill_mode = entry["mode"].get<std::string>(), .fill_value = 9}),
                 tensor_of(entry["output"]), 1e-4, 5e-2);
  }
}

TEST(ImageLayers, RandomOnesChangeImagesWhileTrainingOnly) {
  set_seed(3);
  const Tensor x = images();
  const auto check = [&](const AnyLayer& layer, bool same_shape) {
    SCOPED_TRACE(layer.get()->class_name());
    const Tensor still = (*layer.get())(x), moved = (*layer.get())(x, {.training = true});
    if (same_shape) {
      EXPECT_TRUE(same_elements(still, x));
    }
    EXPECT_EQ(still.shape(), moved.shape());
    EXPECT_FALSE(allclose(moved, still));
    EXPECT_TRUE(all(is_finite(moved)).item<bool>());
    EXPECT_GE(min(moved).item(), -1e-3);
    EXPECT_LE(max(moved).item(), 255.001);
  };
  check(RandomRotation(0.3), true);
  check(RandomZoom(FactorRange(-0.4, -0.2)), true);
  check(RandomZoom({0.1, 0.3}, {-0.3, -0.1}), true);
  check(RandomTranslation(0.4, 0.4), true);
  check(RandomContrast(0.9), true);
  check(RandomBrightness(0.5), true);
  check(RandomCrop(4, 3), false);
  // A flip shows after a few batches, and only ever mirrors.
  bool flipped = false;
  for (int i = 0; i < 8; ++i) {
    const Tensor y = RandomFlip("horizontal")(x, {.training = true}).eval();
    for (int64_t image = 0; image < 2; ++image) {
      const bool mirrored = same_elements(y[image].eval(), flip(x, {2})[image].eval());
      EXPECT_TRUE(mirrored || same_elements(y[image].eval(), x[image].eval()));
      flipped |= mirrored;
    }
  }
  EXPECT_TRUE(flipped);
  // A quarter turn of a square image, exactly.
  const Tensor square = slice(x, {0, 0, 0}, {kEnd, 6, 6});
  const Tensor turned = RandomRotation({0.25, 0.25 + 1e-12})(square, {.training = true});
  const Tensor back = RandomRotation({-0.25, -0.25 + 1e-12})(turned, {.training = true});
  EXPECT_CLOSE(back, square, 1e-3, 0.1);
  EXPECT_ERROR(Resizing(0, 3), ValueError, "at least 1");
  EXPECT_ERROR(Resizing(2, 3, {.interpolation = "cubic"}), ValueError, "did you mean \"bicubic\"");
  EXPECT_ERROR(Resizing(2, 3, {.crop_to_aspect_ratio = true, .pad_to_aspect_ratio = true}), ValueError, "choose one");
  EXPECT_ERROR(UpSampling3D(2, {.interpolation = "bicubic"}), ValueError, "must be \"nearest\" or \"bilinear\"");
  EXPECT_ERROR(RandomFlip("horizontl"), ValueError, "did you mean \"horizontal\"");
  EXPECT_ERROR(RandomBrightness(1.5), ValueError, "factor must be in [-1, 1], got -1.5 to 1.5");
  EXPECT_ERROR(RandomRotation(0.1, {.fill_mode = "mirror"}), ValueError, "fill_mode");
  EXPECT_ERROR(CenterCrop(2, 2)(zeros({2, 3})), ShapeError, "takes images");
}

TEST(ImageLayers, TakeOneImageAlone) {
  const Tensor x = images(), one = x[0].eval();
  const auto check = [&](AnyLayer layer) {
    SCOPED_TRACE(layer.get()->class_name());
    const Tensor batch = slice(x, {0}, {1});
    EXPECT_CLOSE((*layer.get())(one), (*layer.get())(batch)[0], 0, 0);
    const Tensor y = (*layer.get())(one, {.training = true});
    EXPECT_EQ(y.shape(), (*layer.get())(batch, {.training = true})[0].shape());
  };
  check(Resizing(4, 5));
  check(CenterCrop(3, 4));
  check(RandomCrop(3, 4));
  check(RandomFlip());
  check(RandomRotation({-0.2, 0.2}));
  check(RandomTranslation({-0.1, 0.2}, 0.1));
  check(RandomZoom({-0.2, 0.2}));
  check(RandomContrast({0.1, 0.2}));
  check(RandomBrightness({-0.1, 0.2}));
  EXPECT_ERROR(Resizing(2, 2)(zeros({1, 1, 2, 2, 3})), ShapeError, "[Resizing] takes images");
}

TEST(ImageLayers, ContrastIsBetweenItsTwoFactors) {
  // Around the mean 0.5 a difference of 0.25 becomes one of 0.25 [1 - lower, 1 + upper].
  const Tensor image = reshape(tensor({0.25f, 0.75f}), {1, 2, 1});
  for (int i = 0; i < 20; ++i) {
    const double brighter = RandomContrast({0, 0.5})(image, {.training = true}).item({0, 1, 0});
    EXPECT_GE(brighter, 0.75);
    EXPECT_LE(brighter, 0.875);
  }
  EXPECT_ERROR(RandomContrast({-0.1, 0.2}), ValueError, "factor must be in [0, 1], got -0.1");
  // As older files have it.
  const Config one = Config::from_json(R"({"class_name": "RandomContrast", "config": {"factor": 0.3}})");
  EXPECT_THAT(ConfigReader().layer(one)->get_config(), testing::HasSubstr("\"factor\":[0.3,0.3]"));
}

TEST(ImageLayers, ASeedGivesItsOwnSequence) {
  const Tensor x = images();
  const auto check = [&](const std::function<AnyLayer(std::optional<uint64_t>)>& make) {
    const AnyLayer first = make(5), again = make(5), other = make(6);
    SCOPED_TRACE(first.get()->class_name());
    const auto drawn = [&](const AnyLayer& layer) {
      Tensor all = (*layer.get())(x, {.training = true});
      for (int i = 1; i < 12; ++i) all = concat({all, (*layer.get())(x, {.training = true})});
      return all.eval();
    };
    set_seed(1);
    const Tensor sequence = drawn(first);
    set_seed(2);
    EXPECT_TRUE(same_elements(drawn(again), sequence));
    EXPECT_FALSE(allclose(drawn(other), sequence));
    EXPECT_FALSE(allclose(drawn(first), sequence));
    EXPECT_EQ(first.get()->state().size(), 1u);
  };
  using Seed = std::optional<uint64_t>;
  check([](Seed seed) { return RandomFlip("horizontal", {.seed = seed}); });
  check([](Seed seed) { return RandomCrop(4, 3, {.seed = seed}); });
  check([](Seed seed) { return RandomContrast(0.9, {.seed = seed}); });
  check([](Seed seed) { return RandomBrightness(0.3, {.seed = seed}); });
  check([](Seed seed) { return RandomRotation(0.3, {.seed = seed}); });
  check([](Seed seed) { return RandomZoom(0.3, {.seed = seed}); });
  check([](Seed seed) { return RandomTranslation(0.4, 0.4, {.seed = seed}); });
}

TEST(ImageLayers, TrainAsPartOfAModel) {
  const auto in = Input({7, 6, 2}, {.dtype = DType::uint8});
  Sequential augment{RandomFlip(), RandomRotation(0.1), RandomZoom(0.1), RandomBrightness(0.2)};
  Model model(in, Dense(1)(Flatten()(Rescaling(1. / 255)(augment(Resizing(4, 4)(in))))));
  model.compile({.optimizer = "adam", .loss = "mse"});
  const Tensor x = cast(images(), DType::uint8);
  model.fit(x, zeros({2, 1}), {.epochs = 2, .verbose = 0});
  EXPECT_TRUE(same_elements(model.predict(x), model.predict(x)));
}

TEST(StringLookup, GivesKerasIndices) {
  const auto& entry = keras()["lookup"];
  StringLookup lookup({.max_tokens = 4});
  EXPECT_ERROR(lookup({"a"}), StateError, "no vocabulary");
  lookup.adapt(strings(entry["words"]));
  EXPECT_EQ(lookup.get_vocabulary(), strings(entry["vocabulary"]));
  const Tensor ids = lookup({"red", "pink", "green", "blue"});
  EXPECT_EQ(ids.to_vector<int64_t>(), entry["ids"].get<std::vector<int64_t>>());
  EXPECT_EQ(lookup.words(ids).values(), (std::vector<std::string>{"red", "pink", "[UNK]", "blue"}));
  const StringLookup masked({.mask = true, .vocabulary = {"a", "b"}});
  EXPECT_EQ(masked({"b", "", "z"}).to_vector<int64_t>(), entry["masked"].get<std::vector<int64_t>>());
  const StringLookup hot({.vocabulary = {"a", "b"}, .output_mode = "one_hot"});
  EXPECT_EQ(hot({"b"}).to_vector<float>(), (std::vector<float>{0, 0, 1}));
  EXPECT_ERROR(StringLookup({.vocabulary = {"a", "a"}}), ValueError, "twice");
  EXPECT_ERROR(StringLookup({.num_oov_indices = 0, .vocabulary = {"a"}})({"b"}), ValueError, "not in the vocabulary");
  EXPECT_ERROR(StringColumn({"a", "b", "c"}, Shape{2, 2}), ShapeError, "got 3 strings");
}

TEST(TextVectorization, GivesKerasIndices) {
  const auto& entry = keras()["text"];
  TextVectorization text({.output_sequence_length = 5});
  text.adapt(strings(entry["texts"]));
  EXPECT_EQ(text.get_vocabulary(), strings(entry["vocabulary"]));
  EXPECT_TRUE(same_elements(text(strings(entry["unseen"])), tensor_of(entry["ids"])));
  TextVectorization grams({.max_tokens = 8, .ngrams = 2, .output_mode = "count"});
  grams.adapt(strings(entry["texts"]));
  EXPECT_EQ(grams.get_vocabulary(), strings(entry["grams"]));
  EXPECT_TRUE(same_elements(grams(strings(entry["unseen"])), tensor_of(entry["counts"])));
  EXPECT_EQ(TextVectorization({.standardize = "none", .split = "character"}).words("aé!"),
            (std::vector<std::string>{"a", "é", "!"}));
  EXPECT_ERROR(TextVectorization({.split = "word"}), ValueError, "unknown option \"word\"");
  EXPECT_ERROR(TextVectorization({.output_mode = "one_hot"}), ValueError, "[TextVectorization] unknown option");
  EXPECT_ERROR(TextVectorization({.max_tokens = 1}), ValueError, "[TextVectorization] max_tokens must leave room");
}

TEST(CategoryLayers, ComputeAsKerasDoes) {
  EXPECT_TRUE(same_elements(Discretization({-0.5, 0, 1})(tensor_of(keras()["values"])), tensor_of(keras()["bins"])));
  const Tensor indices = tensor_of(keras()["indices"]);
  for (const char* mode : {"multi_hot", "count"})
    EXPECT_TRUE(same_elements(CategoryEncoding(4, {.output_mode = mode})(indices), tensor_of(keras()[mode]))) << mode;
  EXPECT_TRUE(same_elements(CategoryEncoding(4, {.output_mode = "one_hot"})(slice(indices, {0, 0}, {kEnd, 1})),
                            tensor_of(keras()["one_hot"])));
  EXPECT_ERROR(Discretization({1, 0}), ValueError, "ascend");
  EXPECT_ERROR(CategoryEncoding(0), ValueError, "at least 1");
  for (const char* mode : {"multi_hot", "count", "one_hot"}) {
    CategoryEncoding encode(3, {.output_mode = mode});
    EXPECT_ERROR(encode(tensor({{0}, {4}})).eval(), IndexError,
                 "[CategoryEncoding] indices must be in [0, 3), got 4 at position (1, 0)");
    EXPECT_ERROR(encode(tensor({{-1}})).eval(), IndexError, "got -1 at position (0, 0)");
    EXPECT_ERROR(encode(tensor({{2}}) + 1).eval(), IndexError, "[CategoryEncoding] indices must be in [0, 3), got 3");
    EXPECT_CLOSE(encode(tensor({{1}}) + 1), tensor({{0.f, 0.f, 1.f}}), 0, 0);
  }
}

TEST(Text, WeighsWordsByHowRareTheyAre) {
  const StringColumn texts{"the cat sat on the mat", "the dog ate the cat", "birds fly", "a dog and a bird"};
  TextVectorization text({.max_tokens = 6, .output_mode = "tf_idf"});
  EXPECT_ERROR(text({"cat"}), StateError, "no vocabulary");
  text.adapt(texts);
  EXPECT_EQ(text.get_vocabulary(), (std::vector<std::string>{"[UNK]", "the", "dog", "cat", "a", "sat"}));
  const double twice = std::log(1 + 4 / 3.0), once = std::log(1 + 4 / 2.0), unknown = (3 * twice + 2 * once) / 5;
  EXPECT_CLOSE(text({"the cat cat flew", "dog zebra"}),
               tensor({{unknown, twice, 0.0, 2 * twice, 0.0, 0.0}, {unknown, 0.0, twice, 0.0, 0.0, 0.0}}), 1e-6, 1e-6);
  TextVectorization given({.output_mode = "tf_idf", .vocabulary = {"cat", "dog"}, .idf_weights = {1, 3}});
  EXPECT_CLOSE(given({"dog dog bird"}), tensor({{2.0, 0.0, 6.0}}), 1e-6, 1e-6);
  EXPECT_ERROR(TextVectorization({.output_mode = "tf_idf", .vocabulary = {"cat"}}), ValueError, "got 0");
}

}  // namespace
}  // namespace isochron
