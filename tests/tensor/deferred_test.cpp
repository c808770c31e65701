#include "isochron/tensor/deferred.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "isochron/base/error.h"
#include "isochron/tensor/tensor.h"

namespace isochron {
namespace {

TEST(Deferred, BytesAreFilledOnceWhenTheyAreRead) {
  int fills = 0;
  const Storage bytes = deferred_storage(100, [&](std::byte* to) {
    ++fills;
    std::memset(to, 7, 100);
  });
  EXPECT_EQ(bytes.bytes(), 100u);
  EXPECT_FALSE(is_present(bytes));
  const Tensor tensor = Tensor::from_storage(bytes, {DType::uint8, {100}});
  EXPECT_EQ(fills, 0);
  EXPECT_EQ(tensor.data<uint8_t>()[99], 7);
  EXPECT_EQ(tensor.data<uint8_t>()[0], 7);
  EXPECT_TRUE(is_present(bytes));
  EXPECT_EQ(fills, 1);
}

TEST(Deferred, AFillThatFailedIsTriedAgain) {
  bool fails = true;
  const Storage bytes = deferred_storage(8, [&](std::byte*) {
    if (std::exchange(fails, false)) fail<MemoryError>("test", "not now");
  });
  EXPECT_THROW(fill_deferred(bytes), MemoryError);
  EXPECT_FALSE(is_present(bytes));
  fill_deferred(bytes);
  EXPECT_TRUE(is_present(bytes));
}

TEST(Deferred, BytesMayGoUnfilled) {
  {
    const Storage bytes = deferred_storage(size_t{1} << 40, [](std::byte*) { FAIL(); });
  }
  const Storage zeros = deferred_storage(4096, {});
  fill_deferred(zeros);
  EXPECT_EQ(zeros.data()[4095], std::byte{0});
}

TEST(Deferred, ManyThreadsFillOnce) {
  std::atomic<int> fills{0};
  const Storage bytes = deferred_storage(64, [&](std::byte*) { ++fills; });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { fill_deferred(bytes); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fills, 1);
}

}  // namespace
}  // namespace isochron
