// A matcher for calls that must throw: EXPECT_THAT([&] { t.item(); }, error<ShapeError>("needs exactly one element")).
#pragma once

#include <gmock/gmock.h>

#include <exception>

namespace isochron {

template <class E>
auto error(const char* text) {
  return ::testing::Throws<E>(::testing::Property(&std::exception::what, ::testing::HasSubstr(text)));
}

}  // namespace isochron
