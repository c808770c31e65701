#include "isochron/data/files/csv_fields.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <random>
#include <string>
#include <vector>

#include "isochron/data/files/csv_number.h"
#include "isochron/kernels/isa.h"

namespace isochron::data::csv_file {
namespace {

// Text with what its readers ask for around it.
class Text {
 public:
  explicit Text(const std::string& text) : bytes_(std::string(16, '9') + text + std::string(64, '9')) {}
  const char* data() const { return bytes_.data() + 16; }

 private:
  std::string bytes_;
};

TEST(CsvFields, EndsInFrontOfTheFirstQuote) {
  kernels::for_each_isa([](std::string_view isa) {
    std::mt19937 random(1);
    for (int round = 0; round < 400; ++round) {
      std::string text;
      const size_t size = random() % 300;
      const std::string_view letters = round % 2 ? "1234567;,\n\r" : ";,;,;\n\"";
      for (size_t i = 0; i < size; ++i) text += letters[random() % letters.size()];
      std::vector<uint32_t> expected, expected_rows;
      size_t row_ends = 0;
      for (size_t i = 0; i < size; ++i) row_ends += text[i] == '\n' || (text[i] == '\r' && text[i + 1] != '\n');
      for (size_t i = 0; i < size && text[i] != '"'; ++i)
        if (text[i] == ';' || text[i] == '\n' || text[i] == '\r') {
          if (text[i] != ';') expected_rows.push_back(static_cast<uint32_t>(expected.size()));
          expected.push_back(static_cast<uint32_t>(i));
        }
      const Text padded(text);
      std::vector<uint32_t> ends(size + kEndsRoom), rows(size + kEndsRoom);
      const Ends found = find_ends(padded.data(), size, ';', ends.data(), rows.data());
      ends.resize(found.fields);
      rows.resize(found.rows);
      ASSERT_EQ(ends, expected) << isa;
      ASSERT_EQ(rows, expected_rows) << isa;
      const Survey seen = survey(padded.data(), size);
      ASSERT_EQ(seen.quotes, text.find('"') != text.npos) << isa;
      ASSERT_EQ(seen.row_ends, row_ends) << isa;
    }
  });
}

struct Fields {
  std::string text;
  std::vector<uint32_t> starts, ends;
  void add(const std::string& field) {
    starts.push_back(static_cast<uint32_t>(text.size()));
    text += field;
    ends.push_back(static_cast<uint32_t>(text.size()));
    text += ',';
  }
};

template <class T>
bool from_text(const std::string& text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

TEST(CsvFields, FloatsEqualFromCharsToTheLastBit) {
  std::mt19937_64 random(5);
  Fields fields;
  for (int i = 0; i < 100000; ++i) {
    const double x = std::uniform_real_distribution<>(-1000, 1000)(random);
    fields.add(fmt::format("{:.{}f}", x, i % 14));
    fields.add(fmt::format("{:.{}f}", x / 1e6, i % 16));
    fields.add(fmt::format("{}", static_cast<int64_t>(random()) >> (i % 63)));
    fields.add(fmt::format("{:.17g}", x));
    // Half way between two floats, a little above and a little below.
    const auto half = static_cast<double>((random() >> 39) | 1) + (uint64_t{1} << 25);
    fields.add(fmt::format("{:.0f}", half));
    fields.add(fmt::format("{:.0f}.{}1", half, std::string(static_cast<size_t>(i % 5), '0')));
    fields.add(fmt::format("{:.0f}.99999", half - 1));
  }
  for (const char* text :
       {"0", "-0", "00012", "123456789012345678", ".5", "5.", "-.5", "1e5", "1E-5", "-2.50e+3", "16777217"})
    fields.add(text);
  const Text padded(fields.text);
  kernels::for_each_isa([&](std::string_view isa) {
    const size_t count = fields.ends.size();
    std::vector<float> got(count);
    size_t answered = 0;
    for (size_t i = 0; i < count; ++i) {
      const size_t good =
          take_floats(padded.data(), fields.starts.data() + i, fields.ends.data() + i, count - i, &got[i]);
      for (const size_t end = i + good; i < end; ++i, ++answered) {
        const std::string text = fields.text.substr(fields.starts[i], fields.ends[i] - fields.starts[i]);
        float expected = 0;
        ASSERT_TRUE(from_text(text, expected)) << isa << " " << text;
        ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(expected)) << isa << " " << text;
      }
    }
    EXPECT_GT(answered, 500000u) << isa;
  });
}

TEST(CsvFields, WhatIsNoNumberIsRefused) {
  kernels::for_each_isa([](std::string_view isa) {
    for (const char* bad : {"",   "-",           ".",  "-.",  "1.2.3", "1-2",  "--1",  "1-",
                            "+1", " 1",          "1 ", "nan", "x",     "1.5x", "0x10", "1234567890.1234.5",
                            "..", "12345678.9-", "/",  ":",   "1:2",   "\xB1"})
      for (size_t place = 0; place < 4; ++place) {
        Fields fields;
        for (size_t i = 0; i < 4; ++i) fields.add(i == place ? bad : "3.25");
        const Text padded(fields.text);
        std::vector<float> got(4);
        ASSERT_EQ(take_floats(padded.data(), fields.starts.data(), fields.ends.data(), 4, got.data()), place)
            << isa << " \"" << bad << "\"";
        for (size_t i = 0; i < place; ++i) ASSERT_EQ(got[i], 3.25f);
      }
  });
}

template <class T>
void compare_numbers(int least_answered) {
  std::mt19937_64 random(7);
  int answered = 0;
  const auto check = [&](const std::string& text) {
    const std::string padded = text + ",0000000000";
    const char* p = padded.c_str();
    T value{}, expected{};
    if (!take_number(p, value) || *p != ',') return;
    ++answered;
    ASSERT_TRUE(from_text(text, expected)) << text;
    ASSERT_EQ(value, expected) << text;
  };
  for (int i = 0; i < 100000; ++i) {
    const double x = std::uniform_real_distribution<>(-1000, 1000)(random);
    check(fmt::format("{:.{}f}", x, i % 12));
    check(fmt::format("{:.{}e}", x, i % 12));
    check(fmt::format("{}", static_cast<int64_t>(random()) >> (i % 63)));
    check(fmt::format("{:.17g}", x));
  }
  for (const char* text :
       {"0", "-0", "00012", "123456789012345678", ".5", "5.", "1e5", "1E-5", "-2.50e+3", "0.0000001234567890123"})
    check(text);
  EXPECT_GT(answered, least_answered);
}
TEST(CsvNumber, EqualsFromCharsWhereverItAnswers) {
  compare_numbers<double>(250000);
  compare_numbers<float>(350000);
  compare_numbers<int64_t>(90000);
}

}  // namespace
}  // namespace isochron::data::csv_file
