#include "isochron/train/progress.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace isochron {
namespace {

TEST(ProgressLine, LinesThatComeTooFastAreWrittenTogetherAndNoneIsLost) {
  testing::internal::CaptureStdout();
  constexpr int kEpochs = 500;
  {
    ProgressLine line(2);
    for (int i = 1; i <= kEpochs; ++i) {
      line.begin(fmt::format("Epoch {}/{}", i, kEpochs), 10);
      line.end(10, {{"loss", i}});
    }
  }
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2 * kEpochs);
  size_t at = 0;
  for (int i = 1; i <= kEpochs; ++i) {
    for (const std::string& part : {fmt::format("Epoch {}/", i), fmt::format("loss: {}.0000", i)}) {
      at = text.find(part, at);
      ASSERT_NE(at, std::string::npos) << part;
    }
  }
}

}  // namespace
}  // namespace isochron
