// Reading tests/references/*.json (its README describes the form), and expectations on tensors and errors.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "isochron/tensor/tensor.h"

namespace isochron::reference {

// A file of tests/references, read once.
const nlohmann::json& read_file(const std::string& name);
// The tensor; undefined for null.
Tensor tensor_of(const nlohmann::json& value);

// What layers compute in when they are held against references.
inline constexpr DType kReal = DType::float64;

}  // namespace isochron::reference

#define EXPECT_CLOSE(actual, expected, rtol, atol)              \
  EXPECT_TRUE(isochron::allclose(actual, expected, rtol, atol)) \
      << "actual: " << isochron::to_string(actual) << "\nexpected: " << isochron::to_string(expected)
// The statement throws this kind of error with these words in it.
#define EXPECT_ERROR(statement, Kind, words) \
  EXPECT_THAT([&] { statement; }, testing::ThrowsMessage<isochron::Kind>(testing::HasSubstr(words)))
