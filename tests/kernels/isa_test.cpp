#include "isochron/kernels/isa.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "isochron/base/error.h"

namespace isochron::kernels {
namespace {

TEST(Isa, VisitsEverySetOnceAndRestoresTheChoice) {
  const std::string before(current_isa());
  std::vector<std::string> seen;
  for_each_isa([&](std::string_view isa) {
    EXPECT_EQ(isa, current_isa());
    seen.emplace_back(isa);
  });
  EXPECT_EQ(before, current_isa());
  EXPECT_EQ(before, seen.front());
  EXPECT_EQ("sse2", seen.back());
  EXPECT_EQ(seen.end(), std::adjacent_find(seen.begin(), seen.end()));
}

TEST(Isa, EnvironmentCapsTheChoice) {
  setenv("ISOCHRON_ISA", "mmx", 1);
  EXPECT_THROW(limit_isa_from_environment(), ValueError);
  setenv("ISOCHRON_ISA", "sse2", 1);
  // The cap lasts as long as the process, so it is set in one of its own.
  EXPECT_EXIT(
      {
        limit_isa_from_environment();
        std::exit(current_isa() == "sse2" ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
  unsetenv("ISOCHRON_ISA");
  const std::string before(current_isa());
  limit_isa_from_environment();
  EXPECT_EQ(before, current_isa());
}

}  // namespace
}  // namespace isochron::kernels
