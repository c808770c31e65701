// Element types in and out of tiles, on every instruction set.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "isochron/kernels/isa.h"
#include "isochron/kernels/tile/tile_kernel.h"

namespace isochron::kernels {
namespace {

// A program without instructions is a cast.
template <class To, class From>
std::vector<To> cast(const std::vector<From>& x, DType compute) {
  TileProgram p;
  p.compute = compute;
  p.rank = 1;
  p.dims = {static_cast<int64_t>(x.size())};
  p.inputs = {{dtype_of<From>(), {1}}};
  p.outputs = {{dtype_of<To>(), {1}}};
  p.registers = 1;
  p.output_registers = {0};
  std::vector<To> y(x.size());
  const void* input = x.data();
  void* output = y.data();
  const TileKernel kernel(p);
  alignas(64) static char scratch[1 << 14];
  kernel.run(&input, &output, scratch, 0, 1);
  return y;
}

TEST(TileConvert, FloatToIntegersTruncatesAndClamps) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const std::vector<float> x = {1.9f, -1.9f, 3e9f, -3e9f, nan, inf, -inf, 255.5f, 300, -1, 0, 2147483520.0f};
  const int32_t high = std::numeric_limits<int32_t>::max(), low = std::numeric_limits<int32_t>::min();
  const int64_t high64 = std::numeric_limits<int64_t>::max(), low64 = std::numeric_limits<int64_t>::min();
  for_each_isa([&](std::string_view isa) {
    SCOPED_TRACE(isa);
    EXPECT_EQ((cast<int32_t>(x, DType::float32)),
              (std::vector<int32_t>{1, -1, high, low, 0, high, low, 255, 300, -1, 0, 2147483520}));
    EXPECT_EQ((cast<int64_t>(x, DType::float32)),
              (std::vector<int64_t>{1, -1, 3000000000, -3000000000, 0, high64, low64, 255, 300, -1, 0, 2147483520}));
    EXPECT_EQ((cast<uint8_t>(x, DType::float32)), (std::vector<uint8_t>{1, 0, 255, 0, 0, 255, 0, 255, 255, 0, 0, 255}));
    const std::vector<double> d(x.begin(), x.end());
    EXPECT_EQ((cast<int32_t>(d, DType::float64)), (cast<int32_t>(x, DType::float32)));
  });
}

TEST(TileConvert, BytesWrapFromIntegers) {
  EXPECT_EQ((cast<uint8_t>(std::vector<int32_t>{-1, 256, 257, 12}, DType::int32)),
            (std::vector<uint8_t>{255, 0, 1, 12}));
}

TEST(TileConvert, IntegersBoolsAndBytesBecomeNumbers) {
  for_each_isa([&](std::string_view isa) {
    SCOPED_TRACE(isa);
    std::vector<uint8_t> bytes(300);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i);
    const auto floats = cast<float>(bytes, DType::float32);
    for (size_t i = 0; i < bytes.size(); ++i) ASSERT_EQ(floats[i], static_cast<float>(bytes[i]));
    EXPECT_EQ((cast<double>(std::vector<int64_t>{1LL << 52, -3}, DType::float64)), (std::vector<double>{0x1p52, -3}));
    EXPECT_EQ((cast<int64_t>(std::vector<int32_t>{-5, 7}, DType::int64)), (std::vector<int64_t>{-5, 7}));
  });
}

TEST(TileConvert, BoolIsNonzero) {
  TileProgram p;
  p.rank = 1;
  p.dims = {4};
  p.inputs = {{DType::float32, {1}}};
  p.outputs = {{DType::boolean, {1}}};
  p.registers = 1;
  p.output_registers = {0};
  const float x[] = {0, -0.0f, 0.5f, std::nanf("")};
  uint8_t y[] = {9, 9, 9, 9};
  const void* input = x;
  void* output = y;
  TileKernel(p).run(&input, &output, nullptr, 0, 1);
  EXPECT_EQ((std::vector<int>{y, y + 4}), (std::vector<int>{0, 0, 1, 1}));

  std::swap(p.inputs, p.outputs);  // and back, from bytes other than 0 and 1 too
  const uint8_t bytes[] = {0, 1, 2, 255};
  float back[4];
  input = bytes;
  output = back;
  TileKernel(p).run(&input, &output, nullptr, 0, 1);
  EXPECT_EQ((std::vector<float>{back, back + 4}), (std::vector<float>{0, 1, 1, 1}));
}

template <class Half>
void round_trip() {
  std::vector<Half> halves(65536);
  for (uint32_t i = 0; i < 65536; ++i) halves[i].bits = static_cast<uint16_t>(i);
  const auto floats = cast<float>(halves, DType::float32);
  const auto back = cast<Half>(floats, DType::float32);
  for (uint32_t i = 0; i < 65536; ++i) {
    if (std::isnan(floats[i])) {
      ASSERT_TRUE(std::isnan(static_cast<float>(back[i]))) << i;
    } else {
      ASSERT_EQ(floats[i], static_cast<float>(halves[i])) << i;
      ASSERT_EQ(back[i].bits, i);
    }
  }
}

TEST(TileConvert, SixteenBitFloatsSurviveARoundTrip) {
  for_each_isa([](std::string_view isa) {
    SCOPED_TRACE(isa);
    round_trip<bfloat16>();
    round_trip<float16>();
  });
}

TEST(TileConvert, SixteenBitFloatsRoundToNearestEven) {
  for_each_isa([](std::string_view isa) {
    SCOPED_TRACE(isa);
    std::vector<float> x(19, 1.00048828125f);  // half way between 1 and the next float16
    for (const float16& h : cast<float16>(x, DType::float32)) EXPECT_EQ(h.bits, 0x3c00);
    std::fill(x.begin(), x.end(), 1.01171875f);  // half way between two bfloat16
    for (const bfloat16& h : cast<bfloat16>(x, DType::float32)) EXPECT_EQ(h.bits, 0x3f82);
  });
}

}  // namespace
}  // namespace isochron::kernels
