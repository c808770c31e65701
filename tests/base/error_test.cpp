#include "isochron/base/error.h"

#include <gtest/gtest.h>

namespace isochron {

TEST(Error, NamesOperationRuleAndValues) {
  try {
    fail<ShapeError>("matmul", "inner dimensions must agree, got {} and {}", 784, 100);
    FAIL() << "fail() returned";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "[matmul] inner dimensions must agree, got 784 and 100");
    EXPECT_EQ(e.operation(), "matmul");
    EXPECT_EQ(e.kind(), "ShapeError");
  }
}

TEST(Error, CarriesNotesOfThoseItPassed) {
  try {
    try {
      fail<ShapeError>("matmul", "inner dimensions must agree, got {} and {}", 784, 100);
    } catch (Error& e) {
      e.add_note("in the first");
      e.add_note("in the second");
      throw;
    }
  } catch (const ShapeError& e) {
    EXPECT_STREQ(e.what(), "[matmul] inner dimensions must agree, got 784 and 100\n  in the first\n  in the second");
    EXPECT_STREQ(e.message(), "[matmul] inner dimensions must agree, got 784 and 100");
    EXPECT_STREQ(ShapeError(e).what(), e.what());
  }
}

TEST(Error, InternalErrorIsNotAUserError) {
  try {
    ISO_CHECK(1 + 1 == 3);
    FAIL() << "ISO_CHECK passed";
  } catch (const Error&) {
    FAIL() << "an internal error must not be caught as a user error";
  } catch (const InternalError& e) {
    EXPECT_NE(std::string(e.what()).find("1 + 1 == 3"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("this is a bug"), std::string::npos);
  }
}

}  // namespace isochron
