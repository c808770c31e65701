// Places to go on from: in mid-pass, between passes, and what is refused.
#include <algorithm>
#include <string>

#include "isochron/data/dataset.h"
#include "tests/data/collect.h"

namespace isochron::data {
namespace {

// Every stage, in mid-pass: what comes after restoring is what would have come anyway.
std::vector<std::pair<std::string, Dataset>> restorable() {
  const MapOptions parallel{.num_parallel_calls = 4};
  const Dataset numbers_ = range(60),
                generated = from_generator(
                    [] { return [i = int64_t{0}]() mutable { return i < 60 ? std::optional(i++) : std::nullopt; }; });
  return {
      {"slices, shuffle, batch", numbers_.shuffle(60, {.seed = 1}).batch(4)},
      {"shuffle, parallel map, batch, prefetch",
       numbers_.shuffle(60, {.seed = 1}).map(uneven, parallel).batch(4).prefetch()},
      {"generator, shuffle, prefetch", generated.shuffle(20, {.seed = 2}).prefetch()},
      {"generator, parallel map, batch", generated.map(uneven, parallel).batch(3)},
      {"generator, parallel map, shuffle, batch, prefetch",
       generated.map(uneven, parallel).shuffle(10, {.seed = 3}).batch(2).prefetch()},
      {"filter, scan, batch", numbers_.filter([](int64_t x) { return x % 3 != 0; })
                                  .scan(int64_t{5},
                                        [](const Element& s, const Element& x) {
                                          const int64_t next = s[0].item<int64_t>() + x[0].item<int64_t>();
                                          return std::pair(next, next);
                                        })
                                  .batch(3)},
      {"repeat of a shuffle", numbers_.shuffle(60, {.seed = 4}).repeat(3).batch(7).prefetch()},
      {"repeat of a stream", generated.shuffle(10, {.seed = 4}).repeat(2).batch(7)},
      {"unbatch, take, skip, shard", numbers_.batch(4).unbatch().take(50).skip(3).shard(2, 1)},
      {"flat_map of shuffles",
       range(1, 8).flat_map([](int64_t n) { return range(n * 3).shuffle(10, {.seed = 9}); }).batch(3)},
      {"interleave ahead", range(1, 8).interleave([](int64_t n) { return range(n * 2); },
                                                  {.cycle_length = 3, .num_parallel_calls = AUTOTUNE})},
      {"zip, concatenate, enumerate", zip({numbers_, generated}).concatenate(zip({range(9), range(9)})).enumerate()},
      {"window over a stream", generated.window(5, {.shift = 2})},
      {"group_by_window", generated.group_by_window([](int64_t x) { return x % 3; },
                                                    [](int64_t, const Dataset& g) { return g.batch(4); }, 5)},
      {"buckets", generated.bucket_by_sequence_length([](const Element& e) { return e[0].item<int64_t>() % 10; },
                                                      {3, 6}, {2, 3, 4})},
      {"samples", sample_from_datasets({numbers_, generated}, {0.3, 0.7}, {.seed = 8})},
  };
}

std::vector<std::vector<int64_t>> rest_of(const Dataset& dataset, int64_t skip, std::string* state) {
  std::vector<std::vector<int64_t>> rest;
  int64_t seen = 0;
  for (const Element& e : dataset) {
    if (++seen > skip || (skip == 0 && !state)) rest.push_back(e[0].tensor().to_vector<int64_t>());
    if (seen == skip && state) *state = dataset.state();
  }
  return rest;
}

TEST(Cursor, GoesOnExactlyInMidPassAndInTheNextPasses) {
  const auto originals = restorable(), copies = restorable();
  for (size_t i = 0; i < originals.size(); ++i) {
    SCOPED_TRACE(originals[i].first);
    const Dataset &original = originals[i].second, &copy = copies[i].second;
    rest_of(original, 0, nullptr);  // the second pass is the one interrupted
    std::string state;
    const auto rest = rest_of(original, 5, &state);
    ASSERT_FALSE(rest.empty());
    copy.restore(state);
    EXPECT_EQ(rest_of(copy, 0, nullptr), rest);
    EXPECT_EQ(rest_of(copy, 0, nullptr), rest_of(original, 0, nullptr));
  }
}

TEST(Cursor, AStateFromBeforeTheFirstPassIsItsStart) {
  const auto originals = restorable(), copies = restorable();
  for (size_t i = 0; i < originals.size(); ++i) {
    SCOPED_TRACE(originals[i].first);
    copies[i].second.restore(originals[i].second.state());
    const auto all = rest_of(originals[i].second, 0, nullptr);
    ASSERT_FALSE(all.empty());
    EXPECT_EQ(rest_of(copies[i].second, 0, nullptr), all);
  }
}

TEST(Cursor, UnorderedMapsLoseAndRepeatNothing) {
  const auto make = [] { return range(100).map(uneven, {.num_parallel_calls = 4, .deterministic = false}); };
  const Dataset original = make(), copy = make();
  std::vector<int64_t> seen;
  std::string state;
  for (const Element& e : original) {
    seen.push_back(e[0].item<int64_t>());
    if (seen.size() == 33) {
      state = original.state();
      break;
    }
  }
  copy.restore(state);
  for (int64_t x : numbers(copy)) seen.push_back(x);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, doubled(100));
}

TEST(Cursor, DamagedStatesAreRefused) {
  const Dataset dataset = range(100).shuffle(10, {.seed = 1}).batch(3).prefetch(2);
  auto pass = dataset.begin();
  ++pass;
  const std::string state = dataset.state();
  for (size_t i = 0; i < state.size(); ++i) {
    std::string damaged = state;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x80);
    EXPECT_THROW(dataset.restore(damaged), StateError) << i;
    EXPECT_THROW(dataset.restore(state.substr(0, i)), StateError) << i;
  }
  dataset.restore(state);
}

TEST(Cursor, StatesOfOtherPipelinesAreRefused) {
  const std::string state = range(10).batch(2).state();
  EXPECT_THROW(range(10).batch(3).restore(state), StateError);
  EXPECT_THROW(range(10).batch(2).restore(state.substr(0, state.size() - 3)), StateError);
  EXPECT_THROW(range(10).batch(2).restore(""), StateError);
}

}  // namespace
}  // namespace isochron::data
