// Reading tests/references/*.json (its README describes the form), and expectations on tensors and errors.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "isochron/tensor/tensor.h"

namespace isochron::reference {

// A file of tests/references, read once.
const nlohmann::json& read_file(const std::string& name);
// The tensor; undefined for null.
Tensor tensor_of(const nlohmann::json& value);

// Whether the call throws an error of this kind whose message holds the words.
template <class Kind>
testing::AssertionResult throws(const std::function<void()>& call, const std::string& words) {
  try {
    call();
  } catch (const Kind& error) {
    const std::string message = error.what();
    if (message.find(words) != std::string::npos) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "the error says \"" << message << "\" and not \"" << words << '"';
  } catch (const std::exception& error) {
    return testing::AssertionFailure() << "an error of another kind: " << error.what();
  }
  return testing::AssertionFailure() << "no error; expected one with \"" << words << '"';
}

// What layers compute in when they are held against references.
inline constexpr DType kReal = DType::float64;

}  // namespace isochron::reference

#define EXPECT_CLOSE(actual, expected, rtol, atol)              \
  EXPECT_TRUE(isochron::allclose(actual, expected, rtol, atol)) \
      << "actual: " << isochron::to_string(actual) << "\nexpected: " << isochron::to_string(expected)
// The statement throws this kind of error with these words in it. One type of function for all statements: matchers
// would be compiled anew for each.
#define EXPECT_ERROR(statement, Kind, words) \
  EXPECT_TRUE(isochron::reference::throws<isochron::Kind>([&] { statement; }, words))
