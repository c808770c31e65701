#include "isochron/readers/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace isochron {
namespace {

using testing::ElementsAre;

// Fed whole and byte by byte: the lines must not depend on how the output was cut.
std::vector<std::string> lines_of(std::string_view bytes) {
  const auto collect = [](std::string_view all, size_t piece) {
    std::vector<std::string> lines;
    Terminal terminal([&](const Terminal::Line& line) { lines.emplace_back(line.text); });
    for (size_t i = 0; i < all.size(); i += piece) terminal.feed(all.substr(i, piece));
    terminal.finish();
    return lines;
  };
  const auto whole = collect(bytes, bytes.size() + 1);
  EXPECT_EQ(whole, collect(bytes, 1));
  return whole;
}

TEST(Terminal, LinesAndRedraws) {
  EXPECT_THAT(lines_of("a\nb\r\nc"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(lines_of("1/3\r2/3\r3/3\n"), ElementsAre("1/3", "2/3", "3/3"));
  EXPECT_THAT(lines_of("long text\rab\n"), ElementsAre("long text", "ab"));
}

TEST(Terminal, ALineWithoutEndCountsUpToABound) {
  size_t pieces = 0;
  std::string last;
  Terminal terminal([&](const Terminal::Line& line) { ++pieces, last = line.text; });
  const std::string block(1 << 20, 'x');
  for (int i = 0; i < 32; ++i) terminal.feed(block);
  EXPECT_LE(pieces, static_cast<size_t>(Terminal::kMostPieces));
  terminal.feed("\nepoch 2 done\n");
  EXPECT_EQ(last, "epoch 2 done");
}

TEST(Terminal, BackspacesTakeWholeCharacters) {
  EXPECT_THAT(lines_of("1/2 \u2501\u2501\b\b\b\b\b\b\r2/2 \u2501\n"), ElementsAre("1/2 \u2501\u2501", "2/2 \u2501"));
  EXPECT_THAT(lines_of("x\u2501\by\n"), ElementsAre("x\u2501", "xy"));
}

TEST(Terminal, ColoursAreLeftOut) {
  EXPECT_THAT(lines_of("\x1b[1m 5/9\x1b[0m \x1b[38;5;33mok\x1b[0m\x1b]0;title\x07!\n"), ElementsAre(" 5/9 ok!"));
}

TEST(Terminal, CursorUpDrawsALineAnew) {
  EXPECT_THAT(lines_of("Epoch 1\nVal 1\r\x1b[2K\x1b[1A\x1b[2KEpoch 2\nVal 2\n"),
              ElementsAre("Epoch 1", "Val 1", "Epoch 2", "Val 2"));
}

TEST(Terminal, Utf16IsDecoded) {
  EXPECT_THAT(lines_of(std::string_view("\xFF\xFE"
                                        "a\0\n\0b\0\x01\x25",
                                        10)),
              ElementsAre("a", "b\u2501"));
}

TEST(Terminal, LongLinesComeInPieces) {
  const std::string endless(3 * Terminal::kLongestLine + 5, 'x');
  const auto lines = lines_of(endless);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0].size(), Terminal::kLongestLine);
  EXPECT_EQ(lines[3].size(), 5u);
}

TEST(Terminal, TimeIsWhenTheTextWasDrawn) {
  std::vector<double> times;
  Terminal terminal([&](const Terminal::Line& line) { times.push_back(line.time.value()); });
  terminal.feed("bar 1", 1.0);
  terminal.feed("\rbar 2", 5.0);
  terminal.feed("\n", 9.0);
  EXPECT_THAT(times, ElementsAre(1.0, 5.0));
}

}  // namespace
}  // namespace isochron
