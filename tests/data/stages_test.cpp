// Stages one by one. Expected values are those of tf.data 2.21 (tests/references/data/stages.py prints them).
#include <gmock/gmock.h>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <set>
#include <thread>

#include "isochron/base/interrupt.h"
#include "isochron/data/dataset.h"
#include "isochron/ops/ops.h"
#include "isochron/ops/random_key.h"
#include "tests/data/collect.h"

namespace isochron::data {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// The same elements without numbers, so that every stage is tested in both its forms.
Dataset stream(const Dataset& dataset) {
  return dataset.filter([](const Element&) { return true; });
}
std::vector<Dataset> both(const Dataset& dataset) { return {dataset, stream(dataset)}; }

TEST(Stages, TakeSkipShard) {
  for (const Dataset& ten : both(range(10))) {
    EXPECT_THAT(numbers(ten.take(3)), ElementsAre(0, 1, 2));
    EXPECT_EQ(numbers(ten.take(-1)).size(), 10u);
    EXPECT_THAT(numbers(ten.skip(7)), ElementsAre(7, 8, 9));
    EXPECT_THAT(numbers(ten.skip(20)), ElementsAre());
    EXPECT_THAT(numbers(ten.shard(3, 1)), ElementsAre(1, 4, 7));
    EXPECT_THAT(numbers(ten.skip(2).take(3).shard(2, 0)), ElementsAre(2, 4));
  }
  EXPECT_EQ(range(10).shard(3, 0).size(), 4);
  EXPECT_EQ(range(10).skip(20).size(), 0);
  EXPECT_THROW(range(3).shard(2, 2), ValueError);
}

TEST(Stages, RepeatReshufflesEveryRound) {
  for (const Dataset& five : both(range(5))) {
    EXPECT_THAT(numbers(five.repeat(2)), ElementsAre(0, 1, 2, 3, 4, 0, 1, 2, 3, 4));
    EXPECT_THAT(numbers(five.repeat(0)), ElementsAre());
    EXPECT_THAT(numbers(five.repeat().take(7)), ElementsAre(0, 1, 2, 3, 4, 0, 1));
  }
  EXPECT_EQ(range(5).repeat(3).size(), 15);
  EXPECT_EQ(range(5).repeat().size(), kInfinite);
  EXPECT_THAT(numbers(range(0).repeat()), ElementsAre());
  const std::vector<int64_t> rounds = numbers(range(100).shuffle(100, {.seed = 1}).repeat(2));
  EXPECT_NE(std::vector(rounds.begin(), rounds.begin() + 100), std::vector(rounds.begin() + 100, rounds.end()));
}

// Functions that draw random numbers: they follow from seed, stage, pass and element, not from who draws when.
TEST(Stages, RandomNumbersInFunctionsFollowFromTheElement) {
  const auto draw = [](int64_t) { return random_integers({}, 0, 1'000'000'000); };
  const auto two_passes = [&](int64_t threads) {
    set_seed(3);
    const Dataset drawn = range(40).map(draw, {.num_parallel_calls = threads});
    std::vector<int64_t> all = numbers(drawn);
    const std::vector<int64_t> next = numbers(drawn);
    EXPECT_NE(all, next);
    all.insert(all.end(), next.begin(), next.end());
    return all;
  };
  const std::vector<int64_t> one = two_passes(1);
  EXPECT_EQ(std::set(one.begin(), one.end()).size(), 80u);
  EXPECT_EQ(two_passes(3), one);
  set_seed(3);
  random_normal({5}).eval();  // somebody else's
  EXPECT_EQ(numbers(range(40).map(draw)), std::vector(one.begin(), one.begin() + 40));
  EXPECT_EQ(random_counter(), 1u);
  // Two stages, and two data sets inside a stage, draw different numbers.
  const Dataset pair = zip({range(40).map(draw), range(40).map(draw)});
  EXPECT_NE(numbers(pair, 0), numbers(pair, 1));
  const auto shuffled = [](int64_t) { return range(30).shuffle(30); };
  const std::vector<int64_t> inside = numbers(range(2).flat_map(shuffled));
  EXPECT_NE(std::vector(inside.begin(), inside.begin() + 30), std::vector(inside.begin() + 30, inside.end()));
  EXPECT_EQ(numbers(range(2).flat_map(shuffled)), inside);
  EXPECT_EQ(random_counter(), 1u);
}

TEST(Stages, ConcatenateZipEnumerate) {
  for (const Dataset& two : both(range(2))) {
    EXPECT_THAT(numbers(two.concatenate(range(10, 12))), ElementsAre(0, 1, 10, 11));
    EXPECT_THAT(numbers(zip({range(5, 9), two}), 0), ElementsAre(5, 6));
    EXPECT_THAT(numbers(zip({range(5, 9), two}), 1), ElementsAre(0, 1));
    EXPECT_THAT(numbers(two.enumerate(3), 0), ElementsAre(3, 4));
  }
}

TEST(Stages, OneStreamHasElementsOfOneKind) {
  const Dataset three = range(3), rows = from_tensor_slices(zeros({2, 4})), longer = from_tensor_slices(zeros({2, 5}));
  const Dataset named = from_tensor_slices({{"x", ones({2})}}), others = from_tensor_slices({{"z", ones({2})}});
  const auto refused = [](const Dataset& a, const Dataset& b) {
    EXPECT_THROW(sample_from_datasets({a, b}), Error);
    try {
      a.concatenate(b);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(refused(three, rows), AllOf(HasSubstr("int64()"), HasSubstr("float32(4)"), HasSubstr("cast()")));
  EXPECT_THAT(refused(three, zip({three, three})), HasSubstr("(int64(), int64())"));
  EXPECT_THAT(refused(named, others), AllOf(HasSubstr("(x)"), HasSubstr("(z)")));
  EXPECT_THAT(refused(from_tensors({Tensor(zeros({4}))}), three), HasSubstr("float32(4)"));
  // Shapes may differ, and what is not known before it runs is not refused.
  const auto counted = [](const std::vector<Element>& all) { return make_element(static_cast<int64_t>(all.size())); };
  EXPECT_THAT(numbers(named.collate(2, counted).concatenate(others.collate(2, counted))), ElementsAre(2, 2));
  EXPECT_EQ(rows.concatenate(longer).stage()->specs().size(), 0u);
  EXPECT_EQ(sample_from_datasets({rows, longer}).stage()->specs().size(), 0u);
  EXPECT_EQ(rows.concatenate(rows).stage()->specs(), rows.stage()->specs());
  EXPECT_EQ(numbers(three.concatenate(rows.map([](Tensor x) { return cast(x, DType::int64); }))).size(), 3u + 8u);
}

TEST(Stages, SamplesOfDataSetsWithoutWeightDoNotCount) {
  EXPECT_EQ(sample_from_datasets({range(3), range(100)}, {1, 0}).size(), 3);
  EXPECT_EQ(sample_from_datasets({range(3), range(INT64_MAX)}).size(), INT64_MAX);
  EXPECT_EQ(sample_from_datasets({range(3), range(100).repeat()}, {1, 0}).size(), 3);
  EXPECT_EQ(sample_from_datasets({range(100).filter([](int64_t) { return true; }), range(3).repeat()}).size(),
            kInfinite);
}

TEST(Stages, Windows) {
  for (const Dataset& seven : both(range(7))) {
    const auto windows = [&](WindowOptions options) {
      std::vector<std::vector<int64_t>> all;
      for (const Element& e : seven.window(3, options)) all.push_back(e[0].tensor().to_vector<int64_t>());
      return all;
    };
    using Lists = std::vector<std::vector<int64_t>>;
    EXPECT_EQ(windows({}), (Lists{{0, 1, 2}, {3, 4, 5}, {6}}));
    EXPECT_EQ(windows({.shift = 2}), (Lists{{0, 1, 2}, {2, 3, 4}, {4, 5, 6}, {6}}));
    EXPECT_EQ(windows({.shift = 1, .stride = 2, .drop_remainder = true}), (Lists{{0, 2, 4}, {1, 3, 5}, {2, 4, 6}}));
    EXPECT_EQ(windows({.shift = 5}), (Lists{{0, 1, 2}, {5, 6}}));
  }
}

// Who wants everything, or no end, often says it by the largest number.
TEST(Stages, CountsMayBeAsLargeAsTheyLike) {
  constexpr int64_t most = INT64_MAX;
  for (const Dataset& five : both(range(5))) {
    EXPECT_THAT(numbers(five.repeat(most).take(7)), ElementsAre(0, 1, 2, 3, 4, 0, 1));
    EXPECT_THAT(numbers(five.window(2, {.shift = 1, .stride = most}).take(1)), ElementsAre(0));
    EXPECT_THAT(numbers(five.window(2, {.shift = most})), ElementsAre(0, 1));
    EXPECT_THAT(numbers(five.padded_batch(most)), ElementsAre(0, 1, 2, 3, 4));
  }
  EXPECT_EQ(range(5).repeat(most).size(), most);
  EXPECT_EQ(range(5).repeat(most).batch(2).size(), most / 2 + 1);
  EXPECT_EQ(range(most).concatenate(range(5)).size(), most);
  EXPECT_THAT(numbers(range(most).concatenate(range(5)).skip(most - 1).take(1)), ElementsAre(most - 1));
  EXPECT_THAT(numbers(range(5).batch(most)), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(range(5).window(most, {.stride = most, .drop_remainder = true}).size(), 0);
  EXPECT_EQ(range(most).cache().size(), most);
}

TEST(Stages, FilterScanUnbatchRebatch) {
  EXPECT_THAT(numbers(range(10).filter([](int64_t x) { return x % 3 == 0; })), ElementsAre(0, 3, 6, 9));
  EXPECT_THAT(numbers(range(10).filter([](Tensor x) { return greater(x, 7); })), ElementsAre(8, 9));
  const Dataset sums = range(5).scan(int64_t{0}, [](const Element& sum, const Element& x) {
    const int64_t next = sum[0].item<int64_t>() + x[0].item<int64_t>();
    return std::pair(next, next);
  });
  EXPECT_THAT(numbers(sums), ElementsAre(0, 1, 3, 6, 10));
  EXPECT_THAT(numbers(sums), ElementsAre(0, 1, 3, 6, 10));
  EXPECT_THAT(numbers(range(5).batch(2).unbatch()), ElementsAre(0, 1, 2, 3, 4));
  std::vector<int64_t> sizes;
  for (const Element& e : range(7).batch(2).rebatch(3)) sizes.push_back(e[0].shape()[0]);
  EXPECT_THAT(sizes, ElementsAre(3, 3, 1));
}

TEST(Stages, FlatMapAndInterleave) {
  EXPECT_THAT(numbers(range(4).flat_map([](int64_t n) { return range(n); })), ElementsAre(0, 0, 1, 0, 1, 2));
  const auto repeated = [](int64_t n) { return from_tensors({Component::scalar(n)}).repeat(n); };
  EXPECT_THAT(numbers(range(1, 6).interleave(repeated, {.cycle_length = 2, .block_length = 2})),
              ElementsAre(1, 2, 2, 3, 3, 3, 4, 4, 5, 5, 4, 4, 5, 5, 5));
  EXPECT_EQ(numbers(range(1, 6).interleave(repeated, {.cycle_length = 3, .num_parallel_calls = AUTOTUNE})),
            numbers(range(1, 6).interleave(repeated, {.cycle_length = 3})));
}

TEST(Stages, PaddingIsAdvisedForLengthsThatVaryOnly) {
  const auto error_of = [](const Dataset& dataset) -> std::string {
    try {
      dataset.batch(3).begin();
    } catch (const ShapeError& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  const std::string lengths = error_of(range(1, 4).map([](int64_t n) { return ones({n}); }));
  EXPECT_THAT(lengths, testing::HasSubstr("is float32(2), of the first in the batch float32(1); use padded_batch"));
  for (const DType other : {DType::float64, DType::float32}) {
    const std::string unlike = error_of(range(3).map([=](int64_t n) {
      return n == 0 ? ones({1}) : other == DType::float64 ? ones({1}, other) : ones({1, 1});
    }));
    EXPECT_THAT(unlike, testing::HasSubstr("of the first in the batch float32(1)"));
    EXPECT_THAT(unlike, testing::Not(testing::HasSubstr("padded_batch")));
  }
}

TEST(Stages, PaddedBatches) {
  for (const Dataset& lengths : both(range(1, 4).map([](int64_t n) { return ones({n}, DType::int64) * n; }))) {
    const Element e = *lengths.padded_batch(3).begin();
    EXPECT_EQ(e[0].shape(), Shape({3, 3}));
    EXPECT_THAT(e[0].tensor().to_vector<int64_t>(), ElementsAre(1, 0, 0, 2, 2, 0, 3, 3, 3));
    const Element wide = *lengths.padded_batch(2, {.padded_shapes = {{4}}, .padding_values = {-1}}).begin();
    EXPECT_THAT(wide[0].tensor().to_vector<int64_t>(), ElementsAre(1, -1, -1, -1, 2, 2, -1, -1));
    EXPECT_THROW(lengths.padded_batch(3, {.padded_shapes = {{2}}}).begin(), ShapeError);
    EXPECT_THROW(lengths.padded_batch(3, {.padding_values = {1e30}}).begin(), ValueError) << "no int64";
  }
  const Element corner = *range(1, 3)
                              .map([](int64_t n) {
                                return ones({n, 3 - n}, DType::int64) * n;
                              })
                              .padded_batch(2)
                              .begin();
  EXPECT_THAT(corner[0].tensor().to_vector<int64_t>(), ElementsAre(1, 1, 0, 0, 2, 0, 2, 0));
}

TEST(Stages, BucketsBySequenceLength) {
  const Dataset sequences = range(1, 8).map([](int64_t n) { return ones({n % 4 + 1}, DType::int64) * n; });
  const Dataset buckets =
      sequences.bucket_by_sequence_length([](const Element& e) { return e[0].shape()[0]; }, {2, 4}, {2, 2, 2});
  std::vector<std::vector<int64_t>> shapes;
  std::set<int64_t> seen;
  for (const Element& e : buckets) {
    shapes.push_back(e[0].shape().to_vector());
    for (int64_t v : e[0].tensor().to_vector<int64_t>()) seen.insert(v);
  }
  EXPECT_THAT(shapes, ElementsAre(ElementsAre(2, 3), ElementsAre(2, 3), ElementsAre(2, 4), ElementsAre(1, 1)));
  EXPECT_EQ(seen, (std::set<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(Stages, GroupByWindow) {
  const Dataset groups = range(7).group_by_window([](int64_t x) { return x % 2; },
                                                  [](int64_t, const Dataset& group) { return group.batch(10); }, 2);
  EXPECT_THAT(numbers(groups), ElementsAre(0, 2, 1, 3, 4, 6, 5));
  // What is left at the end comes by key.
  const Dataset left = from_tensor_slices(tensor({5, 3, 5, 3, 9, 1, 5, 3, 9}))
                           .group_by_window([](int64_t x) { return x; },
                                            [](int64_t, const Dataset& group) { return group.batch(3); }, 3);
  EXPECT_THAT(numbers(left), ElementsAre(5, 5, 5, 3, 3, 3, 1, 9, 9));
}

// (1 … n, n) for each length n.
Dataset sequences_of(const std::vector<int64_t>& lengths) {
  std::vector<Element> all;
  for (const int64_t n : lengths) all.push_back(make_element(arange(1, n + 1), n));
  return from_elements(std::move(all));
}

TEST(Stages, BucketsArePaddedToTheirBoundaries) {
  const auto length = [](const Element& e) { return e[0].shape()[0]; };
  const auto buckets = [&](const std::vector<int64_t>& lengths, BucketOptions options) {
    options.pad_to_bucket_boundary = true;
    return sequences_of(lengths).bucket_by_sequence_length(length, {3, 7}, {2, 2, 2}, options);
  };
  for (const BucketOptions& options : {BucketOptions{}, BucketOptions{.padded_shapes = {{-1}, {}}}}) {
    const Dataset dataset = buckets({1, 5, 2, 6, 3}, options);
    EXPECT_THAT(numbers(dataset), ElementsAre(1, 0, 1, 2, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 6, 1, 2, 3, 0, 0, 0));
    EXPECT_THAT(numbers(dataset, 1), ElementsAre(1, 2, 5, 6, 3));
  }
  EXPECT_THROW(numbers(buckets({7}, {})), ValueError);
  // Other axes are as long as the longest.
  const Dataset matrices = from_elements({make_element(ones({1, 1})), make_element(ones({2, 3}))});
  const Dataset padded = matrices.bucket_by_sequence_length(length, {5}, {2, 2}, {.pad_to_bucket_boundary = true});
  EXPECT_EQ((*padded.begin())[0].shape(), Shape({2, 4, 3}));
}

TEST(Stages, StringsArePaddedWithEmptyOnes) {
  const Dataset words = from_elements({make_element(Component(Strings{"a"}, Shape{1, 1})),
                                       make_element(Component(Strings{"b", "c", "d", "e"}, Shape{2, 2}))});
  const Element batch = *words.padded_batch(2).begin();
  EXPECT_EQ(batch[0].shape(), Shape({2, 2, 2}));
  EXPECT_THAT(batch[0].texts(), ElementsAre("a", "", "", "", "b", "c", "d", "e"));
  EXPECT_THROW(words.padded_batch(2, {.padded_shapes = {{3}}}).begin(), ShapeError) << "two axes";
}

TEST(Stages, CastsAreOfComponentsThatAreThere) {
  EXPECT_THROW(range(3).cast({.component = 1}), IndexError);
  const Dataset unknown = range(3).map([](int64_t x) { return x; });
  EXPECT_THROW(numbers(unknown.cast({.component = 1}).batch(2)), IndexError);
  EXPECT_THROW(numbers(unknown.cast({.component = 1})), IndexError);

  const Dataset words = range(3).map([](int64_t) { return std::string("word"); });
  for (const Dataset& dataset : {words.cast(), words.cast().batch(2), words.batch(2).cast()})
    EXPECT_THROW(dataset.begin(), DTypeError);
}

TEST(Stages, OtherOptionsAreOtherStages) {
  const auto length = [](const Element& e) { return e[0].shape()[0]; };
  const Dataset input = sequences_of({1, 2});
  const auto one = [](const Element&) { return range(3); };
  const std::vector<std::pair<Dataset, Dataset>> differ = {
      {input.padded_batch(2), input.padded_batch(2, {.padding_values = {1}})},
      {input.padded_batch(2), input.padded_batch(2, {.drop_remainder = true})},
      {input.window(2), input.window(2, {.drop_remainder = true})},
      {input.interleave(one), input.interleave(one, {.block_length = 2})},
      {input.bucket_by_sequence_length(length, {1}, {2, 2}), input.bucket_by_sequence_length(length, {2}, {2, 2})},
      {input.bucket_by_sequence_length(length, {1}, {2, 2}), input.bucket_by_sequence_length(length, {1}, {2, 3})},
  };
  for (const auto& [a, b] : differ) EXPECT_NE(fingerprint_of(*a.stage()), fingerprint_of(*b.stage()));
}

TEST(Stages, SampleFromDatasetsKeepsWeights) {
  const Dataset a = range(10000).map([](int64_t) { return int64_t{0}; });
  const Dataset b = range(10000).map([](int64_t) { return int64_t{1}; });
  const std::vector<int64_t> drawn = numbers(sample_from_datasets({a, b}, {0.25, 0.75}, {.seed = 5}).take(4000));
  const auto ones_drawn = std::count(drawn.begin(), drawn.end(), 1);
  EXPECT_NEAR(static_cast<double>(ones_drawn), 3000, 150);  // 5.5 standard deviations
  EXPECT_EQ(numbers(sample_from_datasets({range(3), range(5)}, {}, {.seed = 1})).size(), 8u);
  EXPECT_LT(
      numbers(sample_from_datasets({range(3), range(500)}, {}, {.seed = 1, .stop_on_empty_dataset = true})).size(),
      100u);
  EXPECT_NE(sample_from_datasets({a, b}, {1, 2}, {.seed = 5}).stage()->fingerprint(),
            sample_from_datasets({a, b}, {1, 3}, {.seed = 5}).stage()->fingerprint())
      << "a cache behind it would be taken for this one's";
  const auto error_of = [&](std::vector<double> weights) {
    try {
      sample_from_datasets({a, b}, std::move(weights));
    } catch (const ValueError& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_THAT(error_of({1}), testing::HasSubstr("a weight for each of the 2 data sets, got 1"));
  EXPECT_THAT(error_of({1, -0.5}), testing::HasSubstr("at least 0 and finite, got -0.5"));
  EXPECT_THAT(error_of({1, INFINITY}), testing::HasSubstr("got inf"));
  EXPECT_THAT(error_of({0, 0}), testing::HasSubstr("more than 0"));
}

TEST(Stages, ApplyAndCollate) {
  EXPECT_THAT(numbers(range(4).apply([](const Dataset& d) { return d.skip(2); })), ElementsAre(2, 3));
  const Dataset sums = range(4).collate(2, [](const std::vector<Element>& rows) {
    int64_t sum = 0;
    for (const Element& row : rows) sum += row[0].item<int64_t>();
    return make_element(sum);
  });
  EXPECT_THAT(numbers(sums), ElementsAre(1, 5));
}

TEST(Stages, CastsGoIntoTheBatch) {
  const Tensor pixels = tensor({{0, 51}, {102, 255}}, DType::uint8);
  const CastOptions to_unit{.dtype = DType::float32, .scale = 1 / 255.0};
  for (const Dataset& rows : both(from_tensor_slices(pixels)))
    for (const Dataset& dataset :
         {rows.cast(to_unit).batch(2), rows.batch(2).cast(to_unit), rows.batch(2).prefetch().cast(to_unit)}) {
      const Element e = *dataset.begin();
      EXPECT_EQ(e[0].dtype(), DType::float32);
      EXPECT_TRUE(allclose(e[0], tensor({{0.f, 0.2f}, {0.4f, 1.f}}), 1e-6));
    }
  const Element row = *from_tensor_slices(pixels).cast({.dtype = DType::int64, .shift = 1}).skip(1).begin();
  EXPECT_THAT(row[0].tensor().to_vector<int64_t>(), ElementsAre(103, 256));
}

TEST(Shuffle, EveryPlaceIsEquallyLikely) {
  // Over numbers: element 0 of 16 in 4,000 passes; chi-squared with 15 degrees of freedom stays below 50 but once in
  // 100,000 seeds.
  constexpr int kPasses = 4000, kElements = 16;
  const Dataset dataset = range(kElements).shuffle(1, {.seed = 11});
  std::array<int, kElements> places{};
  for (int pass = 0; pass < kPasses; ++pass) {
    const std::vector<int64_t> order = numbers(dataset);
    ++places[static_cast<size_t>(std::find(order.begin(), order.end(), 0) - order.begin())];
  }
  const double expected = static_cast<double>(kPasses) / kElements;
  double chi = 0;
  for (int count : places) chi += (count - expected) * (count - expected) / expected;
  EXPECT_LT(chi, 50);
}

TEST(Shuffle, AStreamFlowsBeforeItsBufferIsFull) {
  int64_t pulled = 0;
  const Dataset dataset = from_generator([&pulled] {
                            return [&pulled]() -> std::optional<int64_t> { return pulled++; };
                          }).shuffle(100000, {.seed = 1});
  auto it = dataset.begin();
  EXPECT_LE(pulled, 64);
  for (int i = 0; i < 100; ++i) ++it;
  EXPECT_LE(pulled, 64 + 8 * 101);
  EXPECT_GE(pulled, 500);
}

TEST(Errors, ArriveAsThrownWithTheirPlace) {
  struct MyError : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  const auto fails_at_7 = [](int64_t x) {
    if (x == 7) throw MyError("seven");
    return x;
  };
  for (const MapOptions& options : {MapOptions{.name = "seven"}, MapOptions{.num_parallel_calls = 4, .name = "seven"}})
    for (const Dataset& input : both(range(10))) {
      std::vector<int64_t> seen;
      try {
        for (const Element& e : input.map(fails_at_7, options)) seen.push_back(e[0].item<int64_t>());
        FAIL();
      } catch (const MyError& error) {
        EXPECT_STREQ(error.what(), "seven");
        EXPECT_THAT(last_fault().stage, HasSubstr("map(seven"));
        EXPECT_EQ(last_fault().element, 7);
      }
      EXPECT_THAT(seen, ElementsAre(0, 1, 2, 3, 4, 5, 6));
    }
}

TEST(Errors, SkippedWithinABound) {
  const auto fails_for_3_and_5 = [](int64_t x) {
    if (x == 3 || x == 5) fail<ValueError>("test", "no {}", x);
    return x;
  };
  for (const int64_t calls : {int64_t{1}, AUTOTUNE})
    for (const Dataset& input : both(range(8))) {
      const Dataset dataset = input.map(fails_for_3_and_5, {.num_parallel_calls = calls});
      EXPECT_THAT(numbers(dataset.ignore_errors(2)), ElementsAre(0, 1, 2, 4, 6, 7));
      EXPECT_THROW(numbers(dataset.ignore_errors(1)), ValueError);
    }
  EXPECT_THROW(range(3).ignore_errors(-1), ValueError);
  // The watchdog's abort is no fault of an element.
  const Dataset stalled = range(3).map([](int64_t x) {
    if (x == 1) fail<StallError>("test", "ended by the watchdog");
    return x;
  });
  EXPECT_THROW(numbers(stalled.ignore_errors(9)), StallError);
}

TEST(Errors, NobodyWaitsToTryAgainWhatIsNotWanted) {
  std::atomic<int> calls{0};
  {
    const auto answer = [&](int64_t x) {
      if (x > 0 && ++calls) fail<FileError>("read", "no answer");
      return x;
    };
    const Dataset dataset =
        range(10).map(answer, {.num_parallel_calls = 2}).retry({.attempts = 100, .backoff_seconds = 1000});
    EXPECT_EQ((*dataset.begin())[0].item<int64_t>(), 0);
    while (calls == 0) std::this_thread::yield();
  }
  EXPECT_LT(calls, 10);
}

TEST(Errors, FilesAreTriedAgain) {
  std::atomic<int> calls{0};
  const Dataset flaky = range(3).map([&](int64_t x) {
    if (x == 1 && ++calls < 3) fail<FileError>("test", "not yet");
    return x;
  });
  EXPECT_THAT(numbers(flaky.retry({.attempts = 3, .backoff_seconds = 0.001})), ElementsAre(0, 1, 2));
  calls = 0;
  EXPECT_THROW(numbers(flaky.retry({.attempts = 2, .backoff_seconds = 0.001})), FileError);
  const Dataset broken = range(3).map([&](int64_t) -> int64_t { throw std::logic_error("a bug"); });
  EXPECT_THROW(numbers(broken.retry({.attempts = 100, .backoff_seconds = 10})), std::logic_error);
}

// Pearson's correlation of two orders of the same numbers.
double correlation(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  const auto n = static_cast<double>(a.size()), mean = (n - 1) / 2;
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (static_cast<double>(a[i]) - mean) * (static_cast<double>(b[i]) - mean);
  return sum / (n * (n * n - 1) / 12);
}

TEST(Shuffle, ByNumbersHasNoMemoryOfTheOrderBelowOrOfTheLastPass) {
  constexpr int64_t kCount = 40'000;
  const double unlikely = 4.5 / std::sqrt(static_cast<double>(kCount));
  const Dataset dataset = range(kCount).shuffle(10, {.seed = 5});
  const std::vector<int64_t> sorted = numbers(range(kCount)), first = numbers(dataset), second = numbers(dataset);
  EXPECT_LT(std::abs(correlation(sorted, first)), unlikely);
  EXPECT_LT(std::abs(correlation(first, second)), unlikely);
  // Neighbours, before and after: on average one pair stays together by chance.
  std::vector<int64_t> next(first.begin() + 1, first.end());
  next.push_back(first[0]);
  EXPECT_LT(std::abs(correlation(first, next)), unlikely);
  int64_t together = 0;
  for (size_t i = 0; i < next.size(); ++i) together += next[i] == first[i] + 1;
  EXPECT_LE(together, 8);
  EXPECT_EQ(std::set<int64_t>(first.begin(), first.end()).size(), static_cast<size_t>(kCount));
}

TEST(Shuffle, OfAStreamDrawsFromAFullBufferOnceItIsFull) {
  constexpr int64_t kCount = 40'000, kBuffer = 1000;
  const std::vector<int64_t> out =
      numbers(range(kCount).filter([](int64_t) { return true; }).shuffle(kBuffer, {.seed = 6}));
  // Before: element n out is one of the first 64 + 7 n in (and n out already).
  for (int64_t n = 0; n < 100; ++n) EXPECT_LT(out[static_cast<size_t>(n)], 64 + 8 * n);
  // After: how long an element stays in the buffer is exponential with the buffer's size as its mean, so its place
  // moves by |1 - Exp(1)| buffers, 2 / e on average.
  double moved = 0;
  for (int64_t i = 2000; i < kCount - 2000; ++i)
    moved += static_cast<double>(std::abs(out[static_cast<size_t>(i)] - i));
  EXPECT_NEAR(moved / (kCount - 4000) / kBuffer, 2 / std::exp(1.0), 0.03);
}

}  // namespace
}  // namespace isochron::data
