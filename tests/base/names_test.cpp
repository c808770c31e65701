#include "isochron/base/names.h"

#include <gtest/gtest.h>

#include "isochron/base/joined.h"

namespace isochron {
namespace {

TEST(DidYouMean, NamesTheClosest) {
  EXPECT_EQ(did_you_mean("adm", {"sgd", "adam", "adamax"}), "; did you mean \"adam\"?");
  EXPECT_EQ(did_you_mean("ADAM", {"sgd", "adam"}), "; did you mean \"adam\"?");
}

TEST(DidYouMean, SwappedLettersAreOneMistake) {
  EXPECT_EQ(did_you_mean("rleu", {"elu", "relu", "gelu"}), "; did you mean \"relu\"?");
  EXPECT_EQ(did_you_mean("rlu", {"elu", "relu", "celu"}), "; did you mean \"relu\"?");
  EXPECT_EQ(did_you_mean("xyz", {"xabc"}), "; known: xabc");
}

TEST(DidYouMean, ListsWhatIsKnownWhenNothingIsClose) {
  EXPECT_EQ(did_you_mean("nonsense", {"sgd", "adam"}), "; known: sgd, adam");
  EXPECT_EQ(did_you_mean("x", {}), "; known: ");
}

TEST(Joined, SeparatesNumbersAndWords) {
  EXPECT_EQ(joined(std::vector<int64_t>{784, -128, 10}), "784, -128, 10");
  EXPECT_EQ(joined(std::vector<std::string>{"loss", "accuracy"}, "; "), "loss; accuracy");
  EXPECT_EQ(joined(std::vector<std::string_view>{"one"}), "one");
  EXPECT_EQ(joined(std::vector<std::string>{}), "");
}

}  // namespace
}  // namespace isochron
