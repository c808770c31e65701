// Printing against NumPy's own output (tests/references/printing.json).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/tensor/stream.h"
#include "tests/source_dir.h"

namespace isochron {
namespace {

using Json = nlohmann::json;

Tensor tensor_of(const Json& json) {
  const Shape shape(json.at("shape").get<std::vector<int64_t>>());
  const DType dtype = dtype_from_name(json.at("dtype").get<std::string>());
  if (dtype == DType::int64) return tensor(json.at("data").get<std::vector<int64_t>>(), shape);
  std::vector<double> values;
  for (const Json& value : json.at("data")) {
    if (value.is_string())
      values.push_back(value == "nan" ? NAN : value == "inf" ? INFINITY : -INFINITY);
    else
      values.push_back(value.is_boolean() ? value.get<bool>() : value.get<double>());
  }
  return detail::tensor_from_doubles(values, shape, dtype);
}

TEST(Print, AsNumPyDoes) {
  std::ifstream file(ISOCHRON_SOURCE_DIR "/tests/references/printing.json");
  const Json document = Json::parse(file);
  EXPECT_GT(document.at("cases").size(), 50u);
  for (const Json& one : document.at("cases")) {
    const Tensor t = tensor_of(one);
    EXPECT_EQ(to_string(t), one.at("text").get<std::string>()) << to_string(t.spec());
  }
}

TEST(Print, ComputesWhatIsPendingAndNamesTheUndefined) {
  EXPECT_EQ(to_string(tensor({1.f, 2.f}) + 1), "[2. 3.]");
  EXPECT_EQ(fmt::format("{}", tensor({1, 2})), "[1 2]");
  EXPECT_EQ(to_string(Tensor()), "<undefined tensor>");
}

// As numpy.array([65504, 6e-8], numpy.float16) is printed.
TEST(Print, DigitsThatOthersNeedAreThoseOfTheValue) {
  EXPECT_EQ(to_string(tensor({65504., 6e-8}, DType::float16)), "[6.55e+04 5.96e-08]");
}

TEST(Print, Bfloat16ShowsItsShortestDigits) {
  EXPECT_EQ(to_string(tensor({0.1, 3.14159}, DType::bfloat16)), "[0.1  3.14]");
}

TEST(Printing, IntoStreams) {
  std::ostringstream out;
  out << tensor({1, 2}) << ' ' << Shape({2, 3}) << ' ' << DType::float32 << ' ' << Tensor();
  EXPECT_EQ(out.str(), "[1 2] (2, 3) float32 <undefined tensor>");
}

}  // namespace
}  // namespace isochron
