#include "isochron/nn/lookup_layers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "isochron/base/names.h"
#include "isochron/nn/hashing.h"
#include "isochron/ops/ops.h"

namespace isochron {
namespace {

void check_mode(const char* what, const std::string& mode, std::vector<std::string_view> known) {
  if (std::find(known.begin(), known.end(), mode) == known.end())
    fail<ValueError>(what, "unknown option \"{}\"{}", mode, did_you_mean(mode, known));
}

const char* const kUnknown = "[UNK]";

// Most frequent first; of equals the one that sorts last.
std::vector<std::string> by_frequency(const std::map<std::string, int64_t>& counts, int64_t limit) {
  std::vector<std::pair<std::string, int64_t>> all(counts.begin(), counts.end());
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first > b.first;
  });
  if (limit >= 0 && static_cast<int64_t>(all.size()) > limit) all.resize(static_cast<size_t>(limit));
  std::vector<std::string> words;
  for (auto& [word, count] : all) words.push_back(std::move(word));
  return words;
}

// A float32 row of `width` for each row of indices.
Tensor rows_of_counts(const std::vector<std::vector<int64_t>>& rows, int64_t width, bool binary) {
  std::vector<float> out(rows.size() * static_cast<size_t>(width));
  for (size_t r = 0; r < rows.size(); ++r)
    for (const int64_t index : rows[r]) {
      float& cell = out[r * static_cast<size_t>(width) + static_cast<size_t>(index)];
      cell = binary ? 1.f : cell + 1.f;
    }
  return Tensor::from_buffer(std::move(out), {static_cast<int64_t>(rows.size()), width});
}

bool is_punctuation(char c) {
  return std::string_view("!\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~'").find(c) != std::string_view::npos;
}

}  // namespace

StringColumn::StringColumn(std::initializer_list<const char*> values)
    : values_(values.begin(), values.end()), shape_{static_cast<int64_t>(values.size())} {}
StringColumn::StringColumn(std::vector<std::string> values) : values_(std::move(values)) {
  shape_ = {static_cast<int64_t>(values_.size())};
}
StringColumn::StringColumn(std::vector<std::string> values, Shape shape) : values_(std::move(values)), shape_(shape) {
  if (static_cast<int64_t>(values_.size()) != shape_.elements())
    fail<ShapeError>("StringColumn", "shape {} has {} elements, got {} strings", shape_, shape_.elements(),
                     values_.size());
}

StringLookup::StringLookup(LookupOptions options) : StringLookup(std::move(options), "StringLookup") {}

StringLookup::StringLookup(LookupOptions options, const char* owner) : owner_(owner), options_(std::move(options)) {
  check_mode(owner_, options_.output_mode, {"int", "one_hot", "multi_hot", "count"});
  if (options_.num_oov_indices < 0)
    fail<ValueError>(owner_, "num_oov_indices must not be negative, got {}", options_.num_oov_indices);
  if (options_.max_tokens < 0 || (options_.max_tokens && options_.max_tokens <= specials()))
    fail<ValueError>(owner_, "max_tokens must leave room beside {} special ones, got {}", specials(),
                     options_.max_tokens);
  if (!options_.vocabulary.empty()) set_vocabulary(options_.vocabulary);
}

void StringLookup::set_vocabulary(const std::vector<std::string>& words) {
  places_.clear();
  for (const std::string& word : words)
    if (!places_.emplace(word, specials() + static_cast<int64_t>(places_.size())).second)
      fail<ValueError>(owner_, "the vocabulary names \"{}\" twice", word);
  if (options_.max_tokens && vocabulary_size() > options_.max_tokens)
    fail<ValueError>(owner_, "the vocabulary has {} tokens, max_tokens is {}", vocabulary_size(), options_.max_tokens);
  words_ = words;
}

void StringLookup::adapt(const StringColumn& data) {
  std::map<std::string, int64_t> counts;
  for (const std::string& word : data.values())
    if (!(options_.mask && word.empty())) ++counts[word];
  set_vocabulary(by_frequency(counts, options_.max_tokens ? options_.max_tokens - specials() : -1));
}

int64_t StringLookup::vocabulary_size() const { return specials() + static_cast<int64_t>(places_.size()); }

int64_t StringLookup::index(const std::string& word) const {
  if (words_.empty()) fail<StateError>(owner_, "there is no vocabulary yet: give .vocabulary or call adapt(data)");
  if (options_.mask && word.empty()) return 0;
  const auto found = places_.find(word);
  if (found != places_.end()) return found->second;
  if (options_.num_oov_indices == 0)
    fail<ValueError>(owner_, "\"{}\" is not in the vocabulary, and num_oov_indices is 0", word);
  return (options_.mask ? 1 : 0) +
         static_cast<int64_t>(fingerprint64(word) % static_cast<uint64_t>(options_.num_oov_indices));
}

Tensor StringLookup::operator()(const StringColumn& strings) const {
  std::vector<int64_t> indices;
  for (const std::string& word : strings.values()) indices.push_back(index(word));
  const Tensor ids = Tensor::from_buffer(std::move(indices), strings.shape());
  if (options_.output_mode == "int") return ids;
  return CategoryEncoding(vocabulary_size(), {.output_mode = options_.output_mode})(ids).eval();
}

std::vector<std::string> StringLookup::get_vocabulary(bool include_special_tokens) const {
  std::vector<std::string> all;
  if (include_special_tokens) {
    if (options_.mask) all.emplace_back("");
    all.insert(all.end(), static_cast<size_t>(options_.num_oov_indices), kUnknown);
  }
  all.insert(all.end(), words_.begin(), words_.end());
  return all;
}

StringColumn StringLookup::words(const Tensor& indices) const {
  const std::vector<std::string> all = get_vocabulary();
  std::vector<std::string> out;
  for (const int64_t i : indices.to_vector<int64_t>())
    out.push_back(i >= 0 && i < static_cast<int64_t>(all.size()) ? all[static_cast<size_t>(i)] : kUnknown);
  return {std::move(out), indices.shape()};
}

namespace {

TextVectorizationOptions checked(TextVectorizationOptions options) {
  check_mode("TextVectorization", options.output_mode, {"int", "multi_hot", "count", "tf_idf"});
  check_mode("TextVectorization", options.standardize,
             {"lower_and_strip_punctuation", "lower", "strip_punctuation", "none"});
  check_mode("TextVectorization", options.split, {"whitespace", "character", "none"});
  if (options.output_sequence_length < 0 || options.ngrams < 0)
    fail<ValueError>("TextVectorization", "output_sequence_length and ngrams must not be negative, got {} and {}",
                     options.output_sequence_length, options.ngrams);
  if (options.output_mode == "tf_idf" ? options.idf_weights.size() != options.vocabulary.size()
                                      : !options.idf_weights.empty())
    fail<ValueError>("TextVectorization",
                     "idf_weights are for tf_idf, one for each of {} words of the vocabulary, got {}",
                     options.vocabulary.size(), options.idf_weights.size());
  return options;
}

}  // namespace

TextVectorization::TextVectorization(TextVectorizationOptions options)
    : options_(checked(std::move(options))),
      lookup_({.max_tokens = options_.max_tokens,
               .mask = options_.output_mode == "int",
               .vocabulary = options_.vocabulary,
               .output_mode = options_.output_mode == "tf_idf" ? "count" : options_.output_mode},
              "TextVectorization") {
  if (!options_.idf_weights.empty()) set_idf_weights(options_.idf_weights);
}

void TextVectorization::set_idf_weights(const std::vector<double>& of_words) {
  double total = 0;
  for (const double weight : of_words) total += weight;
  idf_.assign(1, static_cast<float>(total / static_cast<double>(std::max<size_t>(1, of_words.size()))));
  idf_.insert(idf_.end(), of_words.begin(), of_words.end());
}

std::vector<std::string> TextVectorization::words(const std::string& text) const {
  const bool lower = options_.standardize.find("lower") != std::string::npos;
  const bool strip = options_.standardize.find("strip") != std::string::npos;
  std::string plain;
  for (const char c : text) {
    if (strip && is_punctuation(c)) continue;
    plain += lower && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  std::vector<std::string> found;
  if (options_.split == "none") {
    found.push_back(plain);
  } else if (options_.split == "character") {
    // UTF-8: bytes that continue a character stay with it.
    for (const char c : plain)
      if ((c & 0xC0) == 0x80 && !found.empty())
        found.back() += c;
      else
        found.emplace_back(1, c);
  } else {
    std::string word;
    for (const char c : plain + " ") {
      if (std::string_view(" \t\n\r\v\f").find(c) == std::string_view::npos) {
        word += c;
      } else if (!word.empty()) {
        found.push_back(std::move(word));
        word.clear();
      }
    }
  }
  const size_t count = found.size();
  for (size_t n = 2; n <= static_cast<size_t>(options_.ngrams); ++n)
    for (size_t i = 0; i + n <= count; ++i) {
      std::string run = found[i];
      for (size_t k = 1; k < n; ++k) run += " " + found[i + k];
      found.push_back(std::move(run));
    }
  return found;
}

void TextVectorization::adapt(const StringColumn& texts) {
  std::vector<std::string> all;
  for (const std::string& text : texts.values())
    for (std::string& word : words(text)) all.push_back(std::move(word));
  lookup_.adapt(all);
  if (options_.output_mode != "tf_idf") return;
  std::vector<double> found(static_cast<size_t>(lookup_.vocabulary_size()));
  for (const std::string& text : texts.values()) {
    std::set<int64_t> seen;
    for (const std::string& word : words(text)) seen.insert(lookup_.index(word));
    for (const int64_t index : seen) ++found[static_cast<size_t>(index)];
  }
  std::vector<double> weights;
  for (size_t i = 1; i < found.size(); ++i)
    weights.push_back(std::log1p(static_cast<double>(texts.values().size()) / (1 + found[i])));
  set_idf_weights(weights);
}

Tensor TextVectorization::operator()(const StringColumn& texts) const {
  if (texts.shape().rank() != 1 && !(texts.shape().rank() == 2 && texts.shape()[1] == 1))
    fail<ShapeError>("TextVectorization", "takes one text a row, got shape {}", texts.shape());
  std::vector<std::vector<int64_t>> rows;
  size_t longest = 0;
  for (const std::string& text : texts.values()) {
    rows.emplace_back();
    for (const std::string& word : words(text)) rows.back().push_back(lookup_.index(word));
    longest = std::max(longest, rows.back().size());
  }
  if (options_.output_mode != "int") {
    const Tensor counts = rows_of_counts(rows, lookup_.vocabulary_size(), options_.output_mode == "multi_hot");
    return options_.output_mode == "tf_idf" ? (counts * tensor(idf_)).eval() : counts;
  }
  const size_t width = options_.output_sequence_length ? static_cast<size_t>(options_.output_sequence_length) : longest;
  std::vector<int64_t> out(rows.size() * width);
  for (size_t r = 0; r < rows.size(); ++r)
    std::copy_n(rows[r].begin(), std::min(width, rows[r].size()), out.begin() + static_cast<ptrdiff_t>(r * width));
  return Tensor::from_buffer(std::move(out), {static_cast<int64_t>(rows.size()), static_cast<int64_t>(width)});
}

Discretization::Discretization(std::vector<double> bin_boundaries, LayerOptions options)
    : bin_boundaries_(std::move(bin_boundaries)) {
  set_name(std::move(options.name));
  if (bin_boundaries_.empty() || !std::is_sorted(bin_boundaries_.begin(), bin_boundaries_.end(), std::less_equal<>()))
    fail<ValueError>("Discretization", "needs boundaries that ascend");
}

Tensor Discretization::call(const Tensor& x, const CallContext&) {
  Tensor bin;
  for (const double boundary : bin_boundaries_) {
    const Tensor above = cast(x >= boundary, DType::int64);
    bin = bin.defined() ? bin + above : above;
  }
  return bin;
}

CategoryEncoding::CategoryEncoding(int64_t num_tokens, CategoryEncodingOptions options)
    : num_tokens_(num_tokens), options_(std::move(options)) {
  set_name(options_.name);
  check_mode("CategoryEncoding", options_.output_mode, {"one_hot", "multi_hot", "count"});
  if (num_tokens < 1) fail<ValueError>("CategoryEncoding", "num_tokens must be at least 1, got {}", num_tokens);
}

Tensor CategoryEncoding::call(const Tensor& x, const CallContext&) {
  if (!is_integral(x.dtype()) && !is_floating(x.dtype()))
    fail<DTypeError>("CategoryEncoding", "takes indices, got {}", x.dtype());
  // one_hot() gives zeros for an index outside, gather() refuses it.
  Tensor indices = gather(arange(num_tokens_), cast(x, DType::int64), 0, "CategoryEncoding");
  if (options_.output_mode == "one_hot") {
    // An axis of extent 1 is the one the vector takes.
    if (indices.rank() > 1 && indices.shape()[-1] == 1) indices = squeeze(indices, {-1});
    return one_hot(indices, num_tokens_);
  }
  if (indices.rank() == 1) indices = expand_dims(indices, 1);
  const Tensor vectors = one_hot(indices, num_tokens_);
  return options_.output_mode == "count" ? sum(vectors, {-2}) : max(vectors, {-2});
}

}  // namespace isochron
