// Hashing and IntegerLookup against Keras: hashing.json, made by generate_hashing.py.
#include <gtest/gtest.h>

#include "isochron/isochron.h"
#include "reference.h"

namespace isochron {
namespace {

TEST(Hashing, GivesTheBinsOfKeras) {
  const nlohmann::json reference = reference::read_file("hashing.json");
  const auto bins = reference["num_bins"].get<int64_t>();
  const Hashing plain(bins), salted(bins, {.salt = {{133, 137}}}), masked(5, {.mask_value = "red"});
  const StringLookup lookup({.num_oov_indices = 7, .vocabulary = {"red"}});
  for (const auto& entry : reference["strings"]) {
    const auto text = entry["text"].get<std::string>();
    EXPECT_EQ(plain.bin(text), entry["bin"].get<int64_t>()) << text;
    EXPECT_EQ(salted.bin(text), entry["salted"].get<int64_t>()) << text;
    EXPECT_EQ(masked.bin(text), entry["masked"].get<int64_t>()) << text;
  }
  for (const auto& entry : reference["unknown"])
    EXPECT_EQ(lookup.index(entry["text"].get<std::string>()), entry["index"].get<int64_t>()) << entry["text"];
}

TEST(Hashing, TakesIntegersAsKerasDoes) {
  const nlohmann::json reference = reference::read_file("hashing.json");
  std::vector<int64_t> numbers, bins, indices, masked, spread;
  for (const auto& entry : reference["integers"]) {
    numbers.push_back(entry["number"]);
    bins.push_back(entry["bin"]);
    indices.push_back(entry["index"]);
    masked.push_back(entry["masked"]);
    spread.push_back(entry["spread"]);
  }
  const Tensor x = tensor(numbers);
  const std::vector<int64_t> vocabulary{12, 36, 1138, 42};
  EXPECT_EQ(Hashing(reference["num_bins"].get<int64_t>())(x).to_vector<int64_t>(), bins);
  EXPECT_EQ(IntegerLookup({.vocabulary = vocabulary})(x).to_vector<int64_t>(), indices);
  EXPECT_EQ(IntegerLookup({.mask_token = 0, .vocabulary = vocabulary})(x).to_vector<int64_t>(), masked);
  EXPECT_EQ(IntegerLookup({.num_oov_indices = 3, .vocabulary = vocabulary})(x).to_vector<int64_t>(), spread);
}

TEST(Hashing, GivesVectorsAndRefusesWhatMakesNoSense) {
  const Hashing hot(3, {.output_mode = "one_hot"});
  const Tensor vectors = hot(StringColumn{"a", "b"});
  EXPECT_EQ(vectors.shape(), (Shape{2, 3}));
  EXPECT_EQ(vectors.to_vector<float>()[static_cast<size_t>(hot.bin("a"))], 1.f);
  EXPECT_ERROR(Hashing(0), ValueError, "num_bins must be at least 1");
  EXPECT_ERROR(Hashing(1, {.mask_value = ""}), ValueError, "num_bins must be at least 2");
  EXPECT_ERROR(Hashing(4, {.output_mode = "onehot"}), ValueError, "did you mean \"one_hot\"");
  EXPECT_ERROR(Hashing(4)(zeros({2})), DTypeError, "needs integers");
}

TEST(IntegerLookup, LearnsItsVocabulary) {
  IntegerLookup lookup({.max_tokens = 3});
  EXPECT_ERROR(lookup.index(3), StateError, "no vocabulary yet");
  lookup.adapt(tensor({5, 7, 7, 9, 9, 1}));
  EXPECT_EQ(lookup.get_vocabulary(), (std::vector<int64_t>{9, 7}));
  EXPECT_EQ(lookup(tensor({7, 5, 9})).to_vector<int64_t>(), (std::vector<int64_t>{2, 0, 1}));
  EXPECT_ERROR(IntegerLookup({.vocabulary = {1, 1}}), ValueError, "names 1 twice");
  EXPECT_ERROR(IntegerLookup({.num_oov_indices = 0, .vocabulary = {1}}).index(2), ValueError, "num_oov_indices is 0");
}

}  // namespace
}  // namespace isochron
