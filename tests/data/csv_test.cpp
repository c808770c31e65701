#include "isochron/data/files/csv.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <cmath>
#include <random>
#include <set>

#include "isochron/base/deflate.h"
#include "isochron/base/files.h"
#include "tests/base/fifo.h"
#include "tests/data/collect.h"
#include "tests/message_of.h"

namespace isochron::data {
namespace {

using testing::HasSubstr;

class Csv : public testing::Test {
 protected:
  CsvTable read(const std::string& text, const CsvOptions& options = {}) {
    write_file(path_, text);
    return read_csv(path_, options);
  }
  std::string error_of(const std::string& text, const CsvOptions& options = {}) {
    try {
      read(text, options);
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  }
  const TempFolder folder_;
  const std::string path_ = folder_.file("table.csv");
};

TEST_F(Csv, InfersTypes) {
  const CsvTable table = read("id,size,ok,name\n1,2.5,true,ann\n-7,3,false,\"b, c\"\n+3,1e2,true, d \n");
  EXPECT_EQ(table.rows(), 3);
  EXPECT_EQ(table["id"].dtype(), DType::int64);
  EXPECT_EQ(table["id"].tensor().to_vector<int64_t>(), (std::vector<int64_t>{1, -7, 3}));
  EXPECT_EQ(table["size"].dtype(), DType::float32);
  EXPECT_EQ(table["size"].tensor().to_vector<float>(), (std::vector<float>{2.5f, 3, 100}));
  EXPECT_EQ(table["ok"].dtype(), DType::boolean);
  EXPECT_EQ(table["ok"].tensor().to_vector<int>(), (std::vector<int>{1, 0, 1}));
  EXPECT_EQ(table["name"].texts(), (Strings{"ann", "b, c", "d"}));
  EXPECT_EQ(table.features().shape(), (Shape{3, 3}));
}

TEST_F(Csv, QuotesNewlinesAndLineEnds) {
  const CsvTable table = read("\xEF\xBB\xBF\"a\",b\r\n\"one\ntwo\",1\r\n\r\n\"say \"\"hi\"\"\",2\r\n\"\",3");
  EXPECT_EQ(table.names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(table["a"].texts(), (Strings{"one\ntwo", "say \"hi\"", ""}));
  EXPECT_EQ(table["b"].tensor().to_vector<int>(), (std::vector<int>{1, 2, 3}));
}

TEST_F(Csv, OtherEncodingsAreTold) {
  EXPECT_NE(error_of(std::string("\xFF\xFE"
                                 "a\0,\0b\0\n\0",
                                 10))
                .find("UTF-16"),
            std::string::npos);
  EXPECT_NE(error_of(std::string("\xFE\xFF\0a\0\n", 6)).find("UTF-16"), std::string::npos);
}

TEST_F(Csv, MissingValues) {
  const CsvTable table = read("a,b,c\n1,2,x\nNA,,y\n3,null,z\n", {.defaults = {{"a", -5}}});
  EXPECT_EQ(table["a"].tensor().to_vector<int64_t>(), (std::vector<int64_t>{1, -5, 3}));
  EXPECT_EQ(table["b"].dtype(), DType::float32);
  EXPECT_TRUE(std::isnan(table["b"].tensor().item<float>({1})) && std::isnan(table["b"].tensor().item<float>({2})));
  EXPECT_THAT(error_of("a\n1\n\"\"\n", {.dtypes = {{"a", DType::int64}}}),
              HasSubstr("line 3, column 1 (a): \"\" is missing, and int64 has no default"));
}

TEST_F(Csv, ChosenColumnsDtypesDelimiterNoHeader) {
  const CsvTable table = read("1;2;3\n4;5;6\n", {.delimiter = ';',
                                                 .header = false,
                                                 .columns = {"0", "2"},
                                                 .dtypes = {{"2", DType::float64}, {"0", DType::int32}}});
  EXPECT_EQ(table.names(), (std::vector<std::string>{"0", "2"}));
  EXPECT_EQ(table["2"].dtype(), DType::float64);
  EXPECT_EQ(table["0"].dtype(), DType::int32);
  EXPECT_EQ(table["2"].tensor().to_vector<double>(), (std::vector<double>{3, 6}));
  EXPECT_THAT(error_of("alpha,beta\n1,2\n", {.columns = {"alpa"}}),
              HasSubstr("no column \"alpa\"; did you mean \"alpha\""));
}

TEST_F(Csv, AColumnBecomesWiderWhenLaterRowsNeedIt) {
  std::string text = "a,b\n";
  for (int i = 0; i < 200000; ++i) text += std::to_string(i) + ",7\n";
  CsvTable table = read(text + "0.5,8\n");
  EXPECT_EQ(table["a"].dtype(), DType::float32);
  EXPECT_EQ(table["b"].dtype(), DType::int64);
  EXPECT_EQ(table["a"].tensor().item<float>({199999}), 199999.f);
  table = read(text + "none,9\n");
  EXPECT_EQ(table["a"].texts().back(), "none");
  EXPECT_EQ(table["a"].texts()[12345], "12345");
  EXPECT_EQ(table.rows(), 200001);
}

TEST_F(Csv, ErrorsNameLineColumnAndText) {
  std::string text = "age,\"x\ny\"\n";
  for (int i = 0; i < 300000; ++i) text += "1,2\n";
  const CsvOptions options{.dtypes = {{"age", DType::float32}}};
  EXPECT_THAT(error_of(text + "abc,2\n", options),
              HasSubstr("table.csv: line 300003, column 1 (age): \"abc\" is no float32"));
  EXPECT_THAT(error_of(text + "1\n"), HasSubstr("line 300003 has only 1 columns, there should be 2"));
  EXPECT_THAT(error_of(text + "1,2,3\n"), HasSubstr("line 300003 has more than 2 columns, there should be 2"));
  EXPECT_THAT(error_of(text + "1,\"2\n"), HasSubstr("quote"));
  EXPECT_THAT(error_of(""), HasSubstr("the file is empty"));
  EXPECT_THAT([&] { csv(path_, {.in_memory = false}); },
              testing::ThrowsMessage<FileError>(HasSubstr("the file is empty")));
  EXPECT_THAT(error_of("\n\n"), HasSubstr("has no rows"));
}

TEST_F(Csv, RowsOfAPackedFileAsAStreamWithItsPlaceSaved) {
  std::string text = "f,g,y\n", packed;
  for (int i = 0; i < 300000; ++i) text += fmt::format("{},{}.5,{}\n", i, i, i % 3);
  Deflater gzip(Deflater::Format::gzip);
  gzip.add(text, packed);
  gzip.finish(packed);
  write_file(folder_.file("rows.csv.gz"), packed);
  write_file(path_, text);
  for (const auto& [file, in_memory] :
       {std::pair{folder_.file("rows.csv.gz"), false}, std::pair{path_, false}, std::pair{path_, true}}) {
    int64_t row = 0;
    for (const Element& batch : csv(file, {.label = "y", .in_memory = in_memory}).batch(1000)) {
      const auto features = batch["features"].tensor().to_vector<float>();
      const auto labels = batch["y"].tensor().to_vector<int64_t>();
      ASSERT_EQ(features.size(), 2000u);
      for (size_t i = 0; i < 1000; ++i, ++row) {
        ASSERT_EQ(features[2 * i], static_cast<float>(row));
        ASSERT_EQ(features[2 * i + 1], static_cast<float>(row) + 0.5f);
        ASSERT_EQ(labels[i], row % 3);
      }
    }
    EXPECT_EQ(row, 300000);
  }
  EXPECT_THROW(csv(path_, {.label = "z"}), ValueError);
  // Stopped in the middle of a block, at its very end, and in the last one.
  for (const int64_t stop : {1, 70000, 150000, 299999}) {
    const Dataset rows = csv(folder_.file("rows.csv.gz"), {.label = "y", .in_memory = false});
    std::string state;
    int64_t row = 0;
    for (const Element& element : rows) {
      if (++row < stop) continue;
      EXPECT_EQ(element["features"].tensor().item<float>({0}), static_cast<float>(stop - 1));
      state = rows.state();
      break;
    }
    const Dataset again = csv(folder_.file("rows.csv.gz"), {.label = "y", .in_memory = false});
    again.restore(state);
    for (const Element& element : again) {
      ASSERT_EQ(element["features"].tensor().item<float>({0}), static_cast<float>(row));
      ++row;
    }
    EXPECT_EQ(row, 300000);
  }
}

TEST_F(Csv, AStreamGoesOnBehindARowThatFailed) {
  const std::set<int64_t> bad{5000, 5003, 5004, 200000, 399998, 399999};
  std::string text = "a,b\n";
  std::vector<int64_t> good;
  for (int64_t i = 0; i < 400000; ++i) {
    const std::string row = i == 5004     ? "5,\"of\" quotes"
                            : i == 5003   ? "1,\"x\ny\",2"
                            : i == 200000 ? "5"
                                          : "bad,\"x\ny\"";
    text += bad.contains(i) ? row : fmt::format("{},\"x\ny\"", i);
    if (i < 399999) text += "\n";  // the last row has no end
    if (!bad.contains(i)) good.push_back(i);
  }
  write_file(path_, text);
  const CsvOptions options{.dtypes = {{"a", DType::int64}}, .texts = {"b"}, .in_memory = false};
  const auto limit = static_cast<int64_t>(bad.size());
  EXPECT_EQ(numbers(csv(path_, options).ignore_errors(limit)), good);
  EXPECT_THAT(message_of([&] { numbers(csv(path_, options).ignore_errors(limit - 1)); }), HasSubstr("line 799998,"));

  // A state from behind an error does not lead to it again.
  const Dataset rows = csv(path_, options).ignore_errors(limit);
  auto pass = rows.begin();
  for (int64_t i = 0; i < 5; ++i) ++pass;
  const std::string state = rows.state();
  const int64_t next = (*++pass)[0].item<int64_t>();
  rows.restore(state);
  EXPECT_EQ((*rows.begin())[0].item<int64_t>(), next);
}

TEST_F(Csv, CategoriesInOrderOfAppearance) {
  const Categories cities = encode_categories(read("city\nRome\nOslo\nRome\nBern\n")["city"]);
  EXPECT_EQ(cities.names, (Strings{"Rome", "Oslo", "Bern"}));
  EXPECT_EQ(cities.codes.to_vector<int>(), (std::vector<int>{0, 1, 0, 2}));
}

TEST_F(Csv, LoneCarriageReturnsEndRowsToo) {
  std::string text = "a,b\n";
  for (int i = 0; i < 20000; ++i) text += fmt::format("{},{}.25\r", i, i);
  const CsvTable table = read(text);
  ASSERT_EQ(table.rows(), 20000);
  EXPECT_EQ(table["a"].tensor().item<int64_t>({19999}), 19999);
  EXPECT_EQ(table["b"].tensor().item<float>({12345}), 12345.25f);
}

// Rows of all kinds side by side, against what they were written from.
TEST_F(Csv, UnusualRowsAmongPlainOnes) {
  std::mt19937 random(3);
  std::string text = "x,n,word,y\r\n";
  std::vector<float> x, y;
  Strings words;
  const auto real = [&](std::vector<float>& column) -> std::string {
    const float value = std::uniform_real_distribution<float>(-100, 100)(random);
    if (random() % 50 == 0) {
      column.push_back(std::nanf(""));
      return random() % 2 ? "NA" : "";
    }
    column.push_back(value);
    const char* const kinds[] = {"{:.9g}", "{:.17g}", "{:.9e}", " {:.9g} ", "\"{:.9g}\"", "{:+.9g}", "{:.30f}"};
    const size_t kind = random() % 20;
    return fmt::format(fmt::runtime(kinds[kind < std::size(kinds) ? kind : 0]), value);
  };
  for (int i = 0; i < 30000; ++i) {
    const std::string first = real(x);
    const int kind = static_cast<int>(random() % 40);
    words.push_back(kind == 0 ? "one\ntwo" : kind == 1 ? "a \"b\", c" : kind == 2 ? std::string(40000, 'w') : "plain");
    const std::string word = kind == 0 ? "\"one\ntwo\"" : kind == 1 ? "\"a \"\"b\"\", c\"" : words.back();
    const char* const ends[] = {"\n", "\r\n", "\r", "\n\n", "\r\n\r\n"};
    text += fmt::format("{},{},{},{}{}", first, i, word, real(y), ends[random() % 5]);
  }
  const CsvTable table = read(text);
  ASSERT_EQ(table.rows(), 30000);
  EXPECT_TRUE(table["word"].texts() == words);
  for (const auto& [name, expected] : {std::pair{"x", &x}, std::pair{"y", &y}}) {
    const auto got = table[name].tensor().to_vector<float>();
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_TRUE(got[i] == (*expected)[i] || (std::isnan(got[i]) && std::isnan((*expected)[i]))) << name << " " << i;
  }
  const auto n = table["n"].tensor().to_vector<int64_t>();
  for (size_t i = 0; i < n.size(); ++i) ASSERT_EQ(n[i], static_cast<int64_t>(i));
}

TEST_F(Csv, TheFirstErrorOfAFileIsTheOneReported) {
  std::string text = "a,b\n";
  for (int i = 0; i < 50; ++i) text += "1,2\n";
  const CsvOptions options{.dtypes = {{"a", DType::float32}, {"b", DType::float32}}};
  EXPECT_THAT(error_of(text + "1,x\nz,2\n", options), HasSubstr("line 52, column 2 (b): \"x\" is no float32"));
}

TEST_F(Csv, IntegersOfOneCharacterAndOfMore) {
  const CsvTable table = read("n,k\n0,1\n9,2\n10,3\n-1,4\n+5,5\n07,6\n");
  EXPECT_EQ(table["n"].tensor().to_vector<int64_t>(), (std::vector<int64_t>{0, 9, 10, -1, 5, 7}));
  EXPECT_EQ(table["k"].tensor().to_vector<int64_t>(), (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
  for (const char* neighbour : {"/", ":", "-", " "})  // of the digits, and what may stand in front of them
    EXPECT_THAT(error_of(std::string("n\n1\n") + neighbour + "\n", {.dtypes = {{"n", DType::int64}}}),
                HasSubstr("line 3, column 1 (n)"))
        << neighbour;
}

// Of several blocks, so that arrays are slices of larger ones.
TEST_F(Csv, ALongTableOfManyBlocks) {
  std::string text = "a,b,skipped,c,label\n";
  constexpr int64_t kRows = 150'000;
  for (int64_t i = 0; i < kRows; ++i) text += fmt::format("{},{}.5,x{},{},{}\n", i % 1000, i, i % 7, -i, i % 12);
  write_file(path_, text);
  int64_t row = 0;
  for (const Element& batch : csv(path_, {.columns = {"a", "b", "c", "label"}, .label = "label"}).batch(1000)) {
    const std::vector<float> x = batch[0].tensor().to_vector<float>();
    const std::vector<int64_t> y = batch[1].tensor().to_vector<int64_t>();
    for (size_t i = 0; i < y.size(); ++i, ++row) {
      ASSERT_EQ(x[3 * i], static_cast<float>(row % 1000));
      ASSERT_EQ(x[3 * i + 1], static_cast<float>(row) + 0.5f);
      ASSERT_EQ(x[3 * i + 2], static_cast<float>(-row));
      ASSERT_EQ(y[i], row % 12);
    }
  }
  EXPECT_EQ(row, kRows);
}

TEST_F(Csv, APipeIsReadWholeAndIsNoStream) {
  {
    const Fifo fifo(folder_.file("whole"), "a,b\n1,2\n3,4\n");
    EXPECT_EQ(csv(folder_.file("whole")).size(), 2);
  }
  const Fifo fifo(folder_.file("stream"), "a,b\n1,2\n3,4\n");
  EXPECT_THAT([&] { csv(folder_.file("stream"), {.in_memory = false}); },
              testing::ThrowsMessage<FileError>(HasSubstr("leave in_memory on")));
}

TEST_F(Csv, BatchesInOrderShareTheParsedRows) {
  std::string text = "f,g,y\n";
  for (int i = 0; i < 3000; ++i) text += fmt::format("{},{},{}\n", i, i + 0.5, i % 7);
  write_file(path_, text);
  Dataset rows = csv(path_, {.label = "y"});
  std::vector<Component> kept;
  for (const Element& batch : rows.batch(100)) kept.push_back(batch["features"]);
  ASSERT_EQ(kept.size(), 30u);
  EXPECT_TRUE(kept[0].owner().same(kept[29].owner()));
  rows = range(1);  // whoever holds a batch holds its bytes
  EXPECT_EQ(kept[29].tensor().item<float>({99, 1}), 2999.5f);
  int64_t next = 40;
  for (const Element& batch : csv(path_, {.label = "y"}).skip(40).take(500).batch(128)) {
    const auto features = batch["features"].tensor().to_vector<float>();
    for (size_t i = 0; i < features.size(); i += 2) ASSERT_EQ(features[i], static_cast<float>(next++));
  }
  EXPECT_EQ(next, 540);
}

}  // namespace
}  // namespace isochron::data
