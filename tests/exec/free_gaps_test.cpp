#include "isochron/exec/free_gaps.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace isochron {
namespace {

// What is taken, looked through for the lowest place: the definition, at any cost.
class Taken {
 public:
  int64_t take(int64_t bytes) {
    int64_t at = 0;
    for (const auto& [begin, end] : ranges_) {
      if (begin - at >= (bytes > 0 ? bytes : 1)) break;
      at = end;
    }
    if (bytes > 0) ranges_.emplace(at, at + bytes);
    return at;
  }
  void give_back(int64_t begin) { ranges_.erase(begin); }

 private:
  std::map<int64_t, int64_t> ranges_;
};

TEST(FreeGaps, TheLowestGapThatIsLongEnoughIsTaken) {
  FreeGaps gaps;
  EXPECT_EQ(gaps.take(64), 0);
  EXPECT_EQ(gaps.take(128), 64);
  EXPECT_EQ(gaps.take(64), 192);
  gaps.give_back(0, 64);
  EXPECT_EQ(gaps.take(0), 0);
  EXPECT_EQ(gaps.take(128), 256) << "64 free bytes are too few";
  gaps.give_back(64, 128);
  EXPECT_EQ(gaps.take(192), 0) << "what is given back joins its neighbours";
  EXPECT_EQ(gaps.take(64), 384);
}

TEST(FreeGaps, AgreesWithLookingThroughAllThatIsTaken) {
  std::mt19937_64 random(7);
  // Many lengths of one power of two, and lengths of many powers.
  for (const auto& [least, most] : {std::pair<int64_t, int64_t>{64, 127}, {0, 5}, {1, int64_t{1} << 40}}) {
    FreeGaps gaps;
    Taken taken;
    std::vector<std::pair<int64_t, int64_t>> held;
    for (int i = 0; i < 4000; ++i) {
      if (held.empty() || random() % 16 < 9) {
        const int64_t bytes = std::uniform_int_distribution<int64_t>(least, most)(random) >> random() % 3;
        const int64_t at = gaps.take(bytes);
        ASSERT_EQ(at, taken.take(bytes)) << bytes << " bytes, step " << i;
        if (bytes > 0) held.emplace_back(at, bytes);
      } else {
        std::swap(held[random() % held.size()], held.back());
        gaps.give_back(held.back().first, held.back().second);
        taken.give_back(held.back().first);
        held.pop_back();
      }
    }
    for (const auto& [at, bytes] : held) gaps.give_back(at, bytes);
    EXPECT_EQ(gaps.take(int64_t{1} << 60), 0) << "all of it is one gap again";
  }
}

}  // namespace
}  // namespace isochron
