#include "isochron/base/escape.h"

#include <gtest/gtest.h>

#include "isochron/base/median.h"

namespace isochron {
namespace {

TEST(Escape, JsonStringsKeepEveryCharacter) {
  EXPECT_EQ(json_quoted("a \"b\" \\ c"), R"("a \"b\" \\ c")");
  EXPECT_EQ(json_quoted(std::string_view("tab\tnul\0é", 10)), "\"tab\\u0009nul\\u0000é\"");
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
