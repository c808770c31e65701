// Categories without a vocabulary, and integers with one. Bins and indices are those of Keras.
//
//   Hashing bins(8);
//   Tensor ids = bins(StringColumn{"red", "green"});                  // each in [0, 8), the same ones in every program
//   Hashing(8, {.salt = {{133, 137}}, .mask_value = ""});             // bin 0 is for "" alone
//   IntegerLookup codes({.vocabulary = {12, 36, 1138, 42}});
//   codes(tensor({36, 7}));                                           // [2, 0]: 0 stands for what is not known
//
// They run on the host, before a model or in a pipeline's map().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "isochron/nn/lookup_layers.h"

namespace isochron {

// FarmHash's Fingerprint64, and SipHash-2-4 by a key: what TensorFlow makes bins from.
uint64_t fingerprint64(std::string_view bytes);
uint64_t keyed_hash64(std::pair<uint64_t, uint64_t> key, std::string_view bytes);

struct HashingOptions {
  std::optional<std::string> mask_value = {};              // gets bin 0, which then holds nothing else
  std::optional<std::pair<uint64_t, uint64_t>> salt = {};  // other bins; two equal numbers for a single one
  std::string output_mode = "int";                         // or "one_hot", "multi_hot", "count"
};

class Hashing {
 public:
  // ValueError unless there is a bin (two with a mask_value) and the mode is known.
  explicit Hashing(int64_t num_bins, HashingOptions options = {});
  // int64 bins for "int", float32 vectors for the others. Integers are hashed as their decimal digits.
  Tensor operator()(const StringColumn& values) const;
  Tensor operator()(const Tensor& integers) const;
  int64_t bin(const std::string& value) const;

 private:
  int64_t num_bins_;
  HashingOptions options_;
};

struct IntegerLookupOptions {
  int64_t max_tokens = 0;  // of the vocabulary, special ones included; 0: no limit
  int64_t num_oov_indices = 1;
  std::optional<int64_t> mask_token = {};  // gets index 0
  std::vector<int64_t> vocabulary = {};
  std::string output_mode = "int";  // or "one_hot", "multi_hot", "count"
};

class IntegerLookup {
 public:
  explicit IntegerLookup(IntegerLookupOptions options = {});
  // The vocabulary by frequency, most frequent first; of equals the larger one comes first.
  void adapt(const Tensor& integers);
  // StateError without a vocabulary; ValueError for an unknown number when there is no index for those.
  Tensor operator()(const Tensor& integers) const;
  const std::vector<int64_t>& get_vocabulary() const { return options_.vocabulary; }  // without special tokens
  int64_t vocabulary_size() const { return specials() + static_cast<int64_t>(options_.vocabulary.size()); }
  int64_t index(int64_t number) const;

 private:
  void set_vocabulary(std::vector<int64_t> numbers);
  int64_t specials() const { return options_.num_oov_indices + (options_.mask_token ? 1 : 0); }
  IntegerLookupOptions options_;
  std::unordered_map<int64_t, int64_t> places_;
};

}  // namespace isochron
