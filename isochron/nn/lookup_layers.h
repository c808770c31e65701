// From categories to numbers before training: strings, integers and values in ranges as indices, indices as vectors.
//
//   StringLookup colour({.vocabulary = {"red", "green", "blue"}});
//   Tensor ids = colour(StringColumn{"green", "pink"});                     // [2, 0]: 0 stands for what is not known
//   TextVectorization text({.max_tokens = 10000, .output_sequence_length = 64});
//   text.adapt(reviews);                                                   // the most frequent words
//   model.fit(text(reviews), y);
//   Discretization age({18., 35., 65.});                                   // a layer: also inside a model
//   CategoryEncoding one_hot(4, {.output_mode = "one_hot"});
//
// Strings live on the host: what takes them is called before the model, or in a pipeline's map(). Indices, orders of
// vocabularies and ways of counting are those of Keras.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "isochron/nn/layer.h"

namespace isochron {

// Strings in a shape: a column of a table, or rows of them.
class StringColumn {
 public:
  StringColumn(std::initializer_list<const char*> values);
  StringColumn(std::vector<std::string> values);
  // ShapeError when the count does not fit.
  StringColumn(std::vector<std::string> values, Shape shape);
  const std::vector<std::string>& values() const { return values_; }
  const Shape& shape() const { return shape_; }

 private:
  std::vector<std::string> values_;
  Shape shape_;
};

// How indices come out: "int" as they are; "one_hot" a vector for each; "multi_hot", "count" one vector for each row.
struct LookupOptions {
  int64_t max_tokens = 0;  // of the vocabulary, special ones included; 0: no limit
  int64_t num_oov_indices = 1;
  bool mask = false;  // whether index 0 is kept for the mask token: "", or -1 for integers
  std::vector<std::string> vocabulary = {};
  std::string output_mode = "int";
  bool invert = false;  // from indices back: use words()
};

class StringLookup {
 public:
  // ValueError for options that make no sense, or a vocabulary that names something twice.
  explicit StringLookup(LookupOptions options = {});
  // The vocabulary by frequency, most frequent first; of equals the one that sorts last comes first, as Keras has it.
  void adapt(const StringColumn& data);
  // int64 indices for "int", float32 vectors for the others. StateError without a vocabulary; ValueError for an unknown
  // string when there is no index for those.
  Tensor operator()(const StringColumn& strings) const;
  StringColumn words(const Tensor& indices) const;
  std::vector<std::string> get_vocabulary(bool include_special_tokens = true) const;
  int64_t vocabulary_size() const;
  int64_t index(const std::string& word) const;

 private:
  friend class TextVectorization;
  // For `owner`, whose name errors have.
  StringLookup(LookupOptions options, const char* owner);
  void set_vocabulary(const std::vector<std::string>& words);
  int64_t specials() const { return options_.num_oov_indices + (options_.mask ? 1 : 0); }
  const char* owner_;
  LookupOptions options_;
  std::vector<std::string> words_;
  std::unordered_map<std::string, int64_t> places_;
};

struct TextVectorizationOptions {
  int64_t max_tokens = 0;
  std::string standardize = "lower_and_strip_punctuation";  // or "lower", "strip_punctuation", "none"
  std::string split = "whitespace";                         // or "character", "none"
  int64_t ngrams = 0;                                       // also runs of up to so many words
  std::string output_mode = "int";                          // or "multi_hot", "count", "tf_idf"
  int64_t output_sequence_length = 0;                       // 0: of the longest text of the call
  std::vector<std::string> vocabulary = {};
  std::vector<double> idf_weights = {};  // of the words of `vocabulary`, for tf_idf
};

// Texts as rows of word indices, 0 where a text is over and 1 for words that are not known; or as vectors of a number
// for each word: whether, how often, or ("tf_idf") how often times log(1 + texts / (1 + texts with the word)). Words
// that are not known have the mean of these weights.
class TextVectorization {
 public:
  explicit TextVectorization(TextVectorizationOptions options = {});
  void adapt(const StringColumn& texts);
  Tensor operator()(const StringColumn& texts) const;
  std::vector<std::string> get_vocabulary() const { return lookup_.get_vocabulary(); }
  std::vector<std::string> words(const std::string& text) const;

 private:
  void set_idf_weights(const std::vector<double>& of_words);
  TextVectorizationOptions options_;
  StringLookup lookup_;
  std::vector<float> idf_;  // by index
};

// The bin of each value: index of the first boundary above it.
class Discretization : public Layer {
 public:
  // ValueError unless the boundaries ascend.
  explicit Discretization(std::vector<double> bin_boundaries, LayerOptions options = {});
  ISO_LAYER(Discretization)
  ISO_ARGUMENTS(bin_boundaries_)
  Tensor call(const Tensor& x, const CallContext&) override;
  Shape output_shape(const Shape& input) const override { return input; }
  const std::vector<double>& bin_boundaries() const { return bin_boundaries_; }

 private:
  std::vector<double> bin_boundaries_;
};

struct CategoryEncodingOptions {
  std::string output_mode = "multi_hot";  // or "one_hot", "count"
  std::string name = {};
};
ISO_OPTIONS(CategoryEncodingOptions, output_mode, name)

// Indices as vectors: (batch, n) -> (batch, num_tokens) for multi_hot and count, (…, num_tokens) for one_hot.
// One outside [0, num_tokens) is an IndexError when the result is computed, which names it and its position.
class CategoryEncoding : public Layer {
 public:
  // ValueError unless num_tokens is positive and the mode is known.
  explicit CategoryEncoding(int64_t num_tokens, CategoryEncodingOptions options = {});
  ISO_LAYER(CategoryEncoding)
  ISO_ARGUMENTS(num_tokens_, options_)
  Tensor call(const Tensor& x, const CallContext&) override;

 private:
  int64_t num_tokens_;
  CategoryEncodingOptions options_;
};

}  // namespace isochron
