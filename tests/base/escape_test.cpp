#include "isochron/base/escape.h"

#include <gtest/gtest.h>

#include "isochron/base/median.h"

namespace isochron {
namespace {

TEST(Escape, JsonStringsKeepEveryCharacter) {
  EXPECT_EQ(json_quoted("a \"b\" \\ c"), R"("a \"b\" \\ c")");
  EXPECT_EQ(json_quoted(std::string_view("tab\tnul\0é", 10)), "\"tab\\u0009nul\\u0000é\"");
}

// As Python's bytes.decode("utf-8", "replace") has it.
TEST(Escape, JsonStringsAreUtf8WhateverTheBytes) {
  EXPECT_EQ(json_quoted("/tmp/\xff d\xe9"), R"("/tmp/\ufffd d\ufffd")");
  EXPECT_EQ(json_quoted("\xc2\xa2 \xe2\x82\xac \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf"), "\"¢ € 😀 \xf4\x8f\xbf\xbf\"");
  EXPECT_EQ(json_quoted("\xc0\x80"), R"("\ufffd\ufffd")");
  EXPECT_EQ(json_quoted("\xe0\x80\x80"), R"("\ufffd\ufffd\ufffd")");
  EXPECT_EQ(json_quoted("\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd")");
  EXPECT_EQ(json_quoted("\xf4\x90\x80\x80"), R"("\ufffd\ufffd\ufffd\ufffd")");
  EXPECT_EQ(json_quoted("\x80\""), R"("\ufffd\"")");
}

TEST(Escape, MarkupHasNoLiveCharacters) {
  EXPECT_EQ(markup_escaped("<a href=\"x\">&\x1b\n"), "&lt;a href=&quot;x&quot;&gt;&amp; \n");
}

TEST(Median, IsTheMiddleOrTheMeanOfTwo) {
  EXPECT_EQ(median_of({}), 0);
  EXPECT_EQ(median_of({3, 1, 2}), 2);
  EXPECT_EQ(median_of({4, 1, 100, 2}), 3);
}

}  // namespace
}  // namespace isochron
