#include "isochron/data/files/tfrecord.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "isochron/base/crc32c.h"
#include "isochron/data/files/record_sources.h"
#include "isochron/tensor/npy.h"
#include "tests/data/collect.h"
#include "tests/message_of.h"
#include "tests/source_dir.h"

namespace isochron::data {
namespace {

using testing::HasSubstr;

std::string reference(const std::string& name) {
  return std::string(ISOCHRON_SOURCE_DIR) + "/tests/references/tfrecord/" + name;
}
nlohmann::json expected_rows() { return nlohmann::json::parse(read_file(reference("expected.json"))); }

std::vector<std::string> records_of(const std::string& path) {
  std::vector<std::string> out;
  TfRecordReader reader(path);
  for (std::string_view record; reader.next(record);) out.emplace_back(record);
  return out;
}

std::vector<std::pair<std::string, Feature>> all_features() {
  return {{"pixels", FixedLen(DType::float32, {2, 3})},
          {"label", FixedLen(DType::int64)},
          {"weight", FixedLen(DType::float32, {}, {-1})},
          {"tags", VarLen(DType::int32)},
          {"name", Text()},
          {"raw", RawBytes(DType::uint8, {2, 2})}};
}

void expect_row(const Element& e, const nlohmann::json& row) {
  EXPECT_EQ(e["pixels"].shape(), (Shape{2, 3}));
  EXPECT_EQ(e["pixels"].tensor().to_vector<double>(), row.at("pixels").get<std::vector<double>>());
  EXPECT_EQ(e["label"].item<int64_t>(), row.at("label").at(0).get<int64_t>());
  EXPECT_EQ(e["weight"].item<double>(), row.contains("weight") ? row.at("weight").at(0).get<double>() : -1.0);
  const auto tags = row.contains("tags") ? row.at("tags").get<std::vector<int>>() : std::vector<int>();
  EXPECT_EQ(e["tags"].tensor().to_vector<int>(), tags);
  EXPECT_EQ(e["name"].text(), row.at("name").at(0).get<std::string>());
  const auto raw = e["raw"].tensor().to_vector<int>();
  EXPECT_EQ(std::string(raw.begin(), raw.end()), row.at("raw").at(0).get<std::string>());
}

TEST(TfRecord, ReadsExamplesThatTensorflowWrote) {
  const auto rows = expected_rows();
  for (const char* file : {"plain.tfrecord", "packed.tfrecord.gz"}) {
    for (const bool indexed : {true, false}) {
      size_t i = 0;
      for (const Element& e : tfrecord(reference(file), all_features(), {.indexed = indexed}))
        expect_row(e, rows.at(i++));
      EXPECT_EQ(i, rows.size());
    }
  }
}

TEST(TfRecord, BatchesAreParsedInPlace) {
  const auto rows = expected_rows();
  const std::vector<std::pair<std::string, Feature>> features = {{"label", FixedLen(DType::int64)},
                                                                 {"pixels", FixedLen(DType::float32, {6})}};
  size_t row = 0;
  for (const Element& batch : tfrecord(reference("plain.tfrecord"), features).batch(8)) {
    const auto pixels = batch["pixels"].tensor().to_vector<float>();
    for (size_t i = 0; i < pixels.size(); ++i)
      EXPECT_EQ(pixels[i], rows.at(row + i / 6).at("pixels").at(i % 6).get<float>());
    row += pixels.size() / 6;
  }
  EXPECT_EQ(row, rows.size());
}

TEST(TfRecord, WritesTheVeryBytesTensorflowWrites) {
  const TempFolder folder;
  TfRecordWriter plain(folder.file("a")), packed(folder.file("b.gz"), TfRecordWriter::Packing::gzip);
  for (const auto& row : expected_rows()) {
    Example example;
    for (const auto& [name, values] : row.items()) {
      if (values.at(0).is_string())
        example.set(name, values.get<std::vector<std::string>>());
      else if (values.at(0).is_number_integer())
        example.set(name, values.get<std::vector<int64_t>>());
      else
        example.set(name, values.get<std::vector<float>>());
    }
    plain.write(example.serialize());
    packed.write(example.serialize());
  }
  plain.commit();
  packed.commit();
  EXPECT_EQ(read_file(folder.file("a")), read_file(reference("plain.tfrecord")));
  EXPECT_EQ(records_of(folder.file("b.gz")), records_of(reference("plain.tfrecord")));
}

TEST(TfRecord, GoesOnFromAnySavedPlace) {
  for (const char* file : {"plain.tfrecord", "packed.tfrecord.gz"}) {
    const std::vector<std::string> all = records_of(reference(file));
    TfRecordReader reader(reference(file));
    std::vector<int64_t> places;
    std::string_view record;
    for (places.push_back(reader.offset()); reader.next(record);) places.push_back(reader.offset());
    for (const size_t i : {40u, 3u, 0u, 49u}) {
      TfRecordReader again(reference(file));
      again.seek(places[i]);
      ASSERT_TRUE(again.next(record));
      EXPECT_EQ(record, all[i]);
    }
  }
}

TEST(TfRecord, DamageIsNamedByItsOffset) {
  const TempFolder folder;
  const std::string whole = read_file(reference("plain.tfrecord")), path = folder.file("bad");
  TfRecordReader good(reference("plain.tfrecord"));
  std::string_view record;
  good.next(record);
  const auto second = static_cast<size_t>(good.offset());
  const auto damage = [&](size_t at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    write_file(path, bytes);
  };

  damage(second + 3);
  EXPECT_THAT(message_of([&] { records_of(path); }), HasSubstr(fmt::format("length at offset {}", second)));
  EXPECT_THAT(message_of([&] { tfrecord(path); }), HasSubstr(fmt::format("length at offset {}", second)));
  damage(second + 20);
  EXPECT_THAT(message_of([&] { records_of(path); }), HasSubstr(fmt::format("record at offset {}", second)));
  // The record behind it can still be read.
  TfRecordReader reader(path);
  EXPECT_TRUE(reader.next(record));
  EXPECT_THROW(reader.next(record), FileError);
  EXPECT_TRUE(reader.next(record));
  EXPECT_EQ(record, records_of(reference("plain.tfrecord"))[2]);

  for (const size_t length : {second + 5, second + 12, second + 30, whole.size() - 1}) {
    write_file(path, whole.substr(0, length));
    EXPECT_THAT(message_of([&] { records_of(path); }), HasSubstr("cut short"));
    EXPECT_THAT(message_of([&] { tfrecord(path); }), HasSubstr("cut short"));
  }
  const std::string packed = read_file(reference("packed.tfrecord.gz"));
  write_file(path, packed.substr(0, packed.size() / 2));
  EXPECT_THAT(message_of([&] { records_of(path); }), HasSubstr("ends too early"));
}

TEST(TfRecord, LengthsDoNotWrap) {
  const TempFolder folder;
  for (const uint64_t length : {~uint64_t{0}, ~uint64_t{0} - 15, uint64_t{1} << 62}) {
    std::string header(reinterpret_cast<const char*>(&length), sizeof length);
    const uint32_t crc = masked_crc32c(header);
    header.append(reinterpret_cast<const char*>(&crc), sizeof crc);
    write_file(folder.file("long"), header + "0123456789abcdef");
    TfRecordReader reader(folder.file("long"), {.check_data = false, .max_record_bytes = INT64_MAX});
    std::string_view record;
    EXPECT_THROW(reader.next(record), FileError) << length;
    EXPECT_THROW(tfrecord(folder.file("long")), FileError) << length;
  }
  EXPECT_THAT(message_of([&] { TfRecordReader(folder.file("long"), {.max_record_bytes = -1}); }),
              HasSubstr("max_record_bytes must not be negative, got -1"));
}

TEST(Example, WhatDoesNotFitIsNamed) {
  Example example;
  example.set("a", std::vector<float>{1, 2, 3});
  example.set("big", int64_t{1} << 40);
  const std::string bytes = example.serialize();
  const auto parse = [&](const std::string& name, const Feature& feature) {
    return message_of([&] { ExampleParser({{name, feature}}).parse(bytes); });
  };
  EXPECT_THAT(parse("a", FixedLen(DType::float32, {2})), HasSubstr("feature \"a\" has 3 values, shape (2,) needs 2"));
  EXPECT_THAT(parse("a", FixedLen(DType::int64, {3})), HasSubstr("is a list of floats, int64 was asked for"));
  EXPECT_THAT(parse("b", FixedLen(DType::int64)), HasSubstr("feature \"b\" is missing and has no default"));
  EXPECT_THAT(parse("big", FixedLen(DType::int32)), HasSubstr("holds 1099511627776, which is no int32"));
  EXPECT_THAT(parse("a", Text()), HasSubstr("bytes were asked for"));
  EXPECT_THAT(parse("a", RawBytes(DType::uint8, {3})), HasSubstr("bytes were asked for"));
  EXPECT_THAT(message_of([] { ExampleParser({{"x", FixedLen(DType::uint8)}}); }), HasSubstr("float32, int64 or int32"));
  EXPECT_THAT(message_of([] {
                ExampleParser({{"x", FixedLen(DType::int64, {3}, {1, 2})}});
              }),
              HasSubstr("2 default values for shape (3,)"));
}

TEST(Example, EveryDamageIsAnErrorAndNoMore) {
  const std::string whole = records_of(reference("plain.tfrecord"))[7];
  const ExampleParser parser(all_features());
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_THROW(parser.parse(whole.substr(0, length)), FileError) << length;
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string bytes = whole;
    for (const int bit : {1, 16, 128}) {
      bytes[i] = static_cast<char>(whole[i] ^ bit);
      try {
        parser.parse(bytes);
      } catch (const FileError&) {
      }
    }
  }
}

TEST(Example, ManyFeaturesInAnyOrder) {
  Example example;
  std::vector<std::pair<std::string, Feature>> features;
  for (int i = 99; i >= 0; --i) {
    example.set("f" + std::to_string(i), static_cast<int64_t>(i));
    features.emplace_back("f" + std::to_string(i), FixedLen(DType::int32));
  }
  const Element e = ExampleParser(features).parse(example.serialize());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(e["f" + std::to_string(i)].item<int>(), i);
}

TEST(TextLines, OfAllFilesOfAPattern) {
  const TempFolder folder;
  write_file(folder.file("a.txt"), "head\none\r\n\ntwo");
  write_file(folder.file("b.txt"), "head\nthree\n");
  std::vector<std::string> lines;
  for (const Element& e : text_lines(folder.file("*.txt"), {.skip = 1})) lines.push_back(e[0].text());
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "", "two", "three"}));
  EXPECT_THAT(message_of([&] { text_lines(folder.file("*.csv")); }), HasSubstr("no file matches"));
  int files = 0;
  for (const Element& e : list_files(folder.file("*.txt"))) files += e[0].text().ends_with(".txt");
  EXPECT_EQ(files, 2);
}

TEST(FixedLengthRecords, AreWhole) {
  const TempFolder folder;
  write_file(folder.file("a.bin"), "HHabcdefT");
  std::vector<int> bytes;
  for (const Element& e :
       fixed_length_records(folder.file("a.bin"), 3, {.header_bytes = 2, .footer_bytes = 1}).batch(2))
    bytes = e[0].tensor().to_vector<int>();
  EXPECT_EQ(bytes, (std::vector<int>{'a', 'b', 'c', 'd', 'e', 'f'}));
  EXPECT_THAT(message_of([&] { fixed_length_records(folder.file("a.bin"), 4); }), HasSubstr("no whole records of 4"));
}

TEST(Npz, RowsOfItsArrays) {
  const TempFolder folder;
  write_npz(folder.file("a.npz"), {{"x", Tensor::from_buffer(std::vector<float>{1, 2, 3, 4, 5, 6}, {3, 2})},
                                   {"y", Tensor::from_buffer(std::vector<int64_t>{1, 2, 3}, {3})}});
  int64_t sum = 0;
  for (const Element& e : npz(folder.file("a.npz"), {"y", "x"}).batch(2)) {
    EXPECT_EQ(e["x"].shape()[1], 2);
    for (int64_t value : e["y"].tensor().to_vector<int64_t>()) sum += value;
  }
  EXPECT_EQ(sum, 6);
}

}  // namespace
}  // namespace isochron::data
