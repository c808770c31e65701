// tf.train.Example: the named features of one example, as TensorFlow's programs store them in TFRecord files.
//
//   ExampleParser parser({{"pixels", FixedLen(DType::float32, {784})},
//                         {"label", FixedLen(DType::int64)},
//                         {"weight", FixedLen(DType::float32, {}, {1.0})},      // with a default
//                         {"tags", VarLen(DType::int64)},                       // as many as there are
//                         {"image", RawBytes(DType::uint8, {28, 28})},          // the bytes of an array
//                         {"name", Text()}});                                   // one string
//   Element e = parser.parse(record);   e["pixels"]; …
//
//   Example example;
//   example.set("pixels", pixels);  example.set("label", int64_t{7});
//   writer.write(example.serialize());
//
// Lists of floats become float32, lists of integers int64 or int32. Features that are not asked for are passed over.
// What does not fit (a missing feature, another kind or number of values, damage) throws FileError naming the feature.
// A parser may be used by several threads at once. Why not protobuf: it builds an object for every value first, which
// takes several times as long as the whole parse here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "isochron/data/element.h"

namespace isochron::data {

struct Feature {
  enum class Kind { fixed, variable, raw, text };
  Kind kind;
  DType dtype = DType::uint8;
  Shape shape = {};
  std::vector<double> fallback = {};              // one value for all elements, or one for each
  std::optional<std::string> fallback_text = {};  // of Text
};

// Exactly as many values as `shape` has elements. Without a default the feature must be there.
Feature FixedLen(DType dtype, const Shape& shape = {}, std::vector<double> fallback = {});
// Any number of values, none included, as an array of rank 1.
Feature VarLen(DType dtype);
// One string that holds the elements of an array, little-endian, as tf.io.decode_raw reads it.
Feature RawBytes(DType dtype, const Shape& shape);
// One string of any length.
Feature Text(std::optional<std::string> fallback = std::nullopt);

class ExampleParser {
 public:
  // ValueError for features that make no sense: a dtype that lists do not hold, defaults that do not fit.
  explicit ExampleParser(std::vector<std::pair<std::string, Feature>> features);

  Element parse(std::string_view record) const;
  void parse(std::string_view record, Element& out) const;
  // For parsers of fixed-size features alone (specs() is not empty): component i is written to rows[i].
  void parse_into(std::string_view record, std::span<std::byte* const> rows) const;

  std::vector<ComponentSpec> specs() const;  // empty when sizes vary
  const Names& names() const { return names_; }
  // Changes when the features do.
  std::string fingerprint() const;

 private:
  struct Slot {
    std::string name;
    Feature feature;
    size_t elements = 1;
    std::vector<std::byte> fallback;  // as it is written
  };
  size_t find(std::string_view name, size_t guess) const;
  // The encoded Feature of each slot; a null pointer where it is missing.
  using Located = SmallVector<std::string_view, 16>;
  Located locate(std::string_view record) const;
  void write_fixed(const Slot& slot, std::string_view value, std::byte* to) const;

  std::vector<Slot> slots_;
  std::unordered_map<std::string_view, size_t> by_name_;  // of many features
  Names names_;
  bool fixed_ = true;
};

class Example {
 public:
  void set(const std::string& name, std::vector<float> values);
  void set(const std::string& name, std::vector<int64_t> values);
  void set(const std::string& name, std::vector<std::string> values);
  void set(const std::string& name, float value) { set(name, std::vector<float>{value}); }
  void set(const std::string& name, int64_t value) { set(name, std::vector<int64_t>{value}); }
  void set(const std::string& name, std::string value) { set(name, std::vector<std::string>{std::move(value)}); }
  std::string serialize() const;

 private:
  std::map<std::string, std::variant<std::vector<float>, std::vector<int64_t>, std::vector<std::string>>> features_;
};

}  // namespace isochron::data
