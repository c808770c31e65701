// Sources and the stages every pipeline has.
#include "isochron/data/dataset.h"

#include <gmock/gmock.h>
#include <numeric>

#include "isochron/ops/ops.h"
#include "tests/data/collect.h"
#include "tests/message_of.h"

namespace isochron::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Elements, BecomeWhatIsMadeInTheirPlace) {
  Element e = make_element(1.f, 2.f, 3.f);
  e.become([] { return make_element(tensor({4.f, 5.f})); });
  ASSERT_EQ(e.size(), 1u);
  EXPECT_EQ(e[0].tensor().item<float>({1}), 5);
  EXPECT_THROW(e.become([]() -> Element { fail<ValueError>("make", "no element"); }), ValueError);
  EXPECT_TRUE(e.empty());
  e.add(Component::scalar(6.f));  // usable as before
  EXPECT_EQ(e[0].item<float>(), 6);
}

TEST(Sources, SlicesShareTheRowsOfTheirTensors) {
  const Tensor x = tensor({{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}}), y = tensor({7, 8, 9}, DType::int64);
  std::vector<float> seen;
  int64_t labels = 0;
  for (const Element& e : from_tensor_slices(x, y)) {
    const auto [row, label] = e.tensors<2>();
    EXPECT_EQ(row.shape(), Shape({2}));
    seen.push_back(row.item<float>({1}));
    labels += label.item<int64_t>();
  }
  EXPECT_THAT(seen, ElementsAre(2, 4, 6));
  EXPECT_EQ(labels, 24);
}

TEST(Sources, NamedComponents) {
  const Dataset dataset = from_tensor_slices({{"image", tensor({1.f, 2.f})}, {"label", tensor({3, 4}, DType::int64)}});
  const Element first = *dataset.batch(2).begin();
  EXPECT_THAT(first["label"].tensor().to_vector<int64_t>(), ElementsAre(3, 4));
  EXPECT_THROW(first["lable"], ValueError);
}

TEST(Sources, RangesAsInPython) {
  EXPECT_THAT(numbers(range(4)), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(numbers(range(5, -2, -3)), ElementsAre(5, 2, -1));
  EXPECT_THAT(numbers(range(3, 3)), ElementsAre());
  EXPECT_THROW(range(0, 1, 0), ValueError);
}

TEST(Sources, RangesMaySpanAllNumbers) {
  EXPECT_THAT(numbers(range(INT64_MIN, INT64_MAX, INT64_MAX)), ElementsAre(INT64_MIN, -1, INT64_MAX - 1));
  EXPECT_THAT(numbers(range(INT64_MAX, INT64_MIN, INT64_MIN)), ElementsAre(INT64_MAX, -1));
  EXPECT_EQ(range(INT64_MIN, INT64_MAX, 1).size(), INT64_MAX);
}

TEST(Sources, GeneratorsStartAnewInEveryPass) {
  const Dataset dataset = from_generator([] {
    return [i = 0]() mutable -> std::optional<int64_t> { return i < 3 ? std::optional<int64_t>(i++) : std::nullopt; };
  });
  EXPECT_EQ(dataset.size(), kUnknownSize);
  EXPECT_THAT(numbers(dataset), ElementsAre(0, 1, 2));
  EXPECT_THAT(numbers(dataset), ElementsAre(0, 1, 2));
}

TEST(Sources, MapStyleClass) {
  struct Squares : MapStyleDataset {
    int64_t size() const override { return 5; }
    Element get(int64_t i) const override { return make_element(i * i); }
  };
  const Dataset dataset = from_map_style(std::make_shared<Squares>());
  EXPECT_EQ(dataset.size(), 5);
  EXPECT_THAT(numbers(dataset), ElementsAre(0, 1, 4, 9, 16));
}

TEST(Batch, CastsToIntegersAsTheOpDoes) {
  const auto made = [](const Tensor& column, DType dtype) {
    std::vector<int64_t> out;
    for (const Element& batch : from_tensor_slices(column).cast({.dtype = dtype}).batch(column.dim(0)))
      out = cast(batch[0].tensor(), DType::int64).to_vector<int64_t>();
    return out;
  };
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();
  const Tensor reals = tensor({1.9f, -1.9f, nan, 1e20f, -infinite, 300.f});
  EXPECT_THAT(made(reals, DType::int32), ElementsAre(1, -1, 0, INT32_MAX, INT32_MIN, 300));
  EXPECT_THAT(made(reals, DType::int64), ElementsAre(1, -1, 0, INT64_MAX, INT64_MIN, 300));
  EXPECT_THAT(made(reals, DType::uint8), ElementsAre(1, 0, 0, 255, 0, 255));
  const Tensor wide = tensor(std::vector<int64_t>{(int64_t{1} << 53) + 1, int64_t{1} << 60, -1});
  EXPECT_THAT(made(wide, DType::int32), ElementsAre(1, 0, -1));
  for (const DType dtype : {DType::int32, DType::int64, DType::uint8, DType::boolean})
    for (const Tensor& column : {reals, wide})
      EXPECT_EQ(made(column, dtype), cast(cast(column, dtype), DType::int64).to_vector<int64_t>()) << name_of(dtype);
}

// Says four numbers an element, and has a million in one.
class Lying : public IndexedSource {
 public:
  int64_t size() const override { return 8; }
  void get(int64_t i, Element& out) const override { out = make_element(zeros({i == 5 ? 1'000'000 : 4})); }
  std::vector<ComponentSpec> specs() const override { return {{DType::float32, {4}}}; }
  std::string describe() const override { return "lying"; }
};

TEST(Sources, ElementsThatAreNotAsPromisedAreRefused) {
  const Dataset batches = from_source(std::make_shared<Lying>()).batch(4);
  for (const Dataset& dataset : {batches, batches.prefetch()}) {
    int64_t seen = 0;
    EXPECT_THAT(message_of([&] {
                  for ([[maybe_unused]] const Element& batch : dataset) ++seen;
                }),
                HasSubstr("element 5 of lying is (float32(1000000)), its specs() say (float32(4))"));
    EXPECT_EQ(seen, 1);
  }
}

TEST(Sources, RowsMustAgree) {
  EXPECT_THROW(from_tensor_slices(tensor({1.f, 2.f}), tensor({1.f})), ShapeError);
  EXPECT_THROW(from_tensor_slices(scalar(1)), ShapeError);
}

TEST(Map, TakesComponentsElementsAndContext) {
  const Dataset pairs = from_tensor_slices(tensor({1.f, 2.f}), tensor({10, 20}, DType::int64));
  EXPECT_THAT(numbers(pairs.map([](Tensor x, Tensor y) { return y + cast(x, DType::int64); })), ElementsAre(11, 22));
  EXPECT_THAT(numbers(pairs.map([](float x, int64_t y) { return static_cast<int64_t>(x) * y; })), ElementsAre(10, 40));
  EXPECT_THAT(numbers(pairs.map([](const Element& e) { return e[1]; })), ElementsAre(10, 20));
  EXPECT_THAT(numbers(range(3).map([](int64_t x, const ElementContext& at) { return x + at.index; })),
              ElementsAre(0, 2, 4));
  const Element both = *pairs.map([](Tensor x, Tensor y) { return std::pair(y, x); }).begin();
  EXPECT_EQ(both[0].item<int64_t>(), 10);
  EXPECT_EQ(both.size(), 2u);
}

TEST(Map, WrongNumberOfComponentsIsNamed) {
  const Dataset dataset = range(2).map([](Tensor, Tensor b) { return b; });
  try {
    dataset.begin();
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_THAT(error.what(), HasSubstr("takes 2 components, the elements have 1"));
  }
}

TEST(Batch, RaggedTailOrDropped) {
  const Dataset dataset = range(5).batch(2);
  EXPECT_EQ(dataset.size(), 3);
  std::vector<int64_t> sizes;
  for (const Element& e : dataset) sizes.push_back(e[0].shape()[0]);
  EXPECT_THAT(sizes, ElementsAre(2, 2, 1));
  EXPECT_THAT(numbers(dataset), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(numbers(range(5).batch(2, {.drop_remainder = true})), ElementsAre(0, 1, 2, 3));
  EXPECT_THROW(range(5).batch(0), ValueError);
}

TEST(Batch, StringsAreStackedToo) {
  const Element e = *range(3).map([](int64_t i) { return std::string(static_cast<size_t>(i), 'x'); }).batch(3).begin();
  EXPECT_THAT(e[0].texts(), ElementsAre("", "x", "xx"));
  EXPECT_THROW(e[0].tensor(), DTypeError);
}

TEST(Batch, ShapesThatVaryAreRefusedByName) {
  const Dataset dataset = range(3).map([](int64_t i) { return zeros({i + 1}); }).batch(3);
  try {
    dataset.begin();
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_THAT(error.what(), HasSubstr("padded_batch"));
  }
}

std::vector<int64_t> sorted(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  return values;
}

TEST(Shuffle, IsAPermutationThatChangesWithThePass) {
  std::vector<int64_t> all(1000);
  std::iota(all.begin(), all.end(), 0);
  const auto stream = [] {
    return from_generator(
        [] { return [i = int64_t{0}]() mutable { return i < 1000 ? std::optional(i++) : std::nullopt; }; });
  };
  for (const Dataset& dataset : {range(1000).shuffle(10, {.seed = 3}), stream().shuffle(100, {.seed = 3})}) {
    const auto first = numbers(dataset), second = numbers(dataset);
    EXPECT_NE(first, all);
    EXPECT_NE(first, second);
    EXPECT_EQ(sorted(first), all);
    EXPECT_EQ(sorted(second), all);
  }
  EXPECT_EQ(numbers(range(1000).shuffle(10, {.seed = 3})), numbers(range(1000).shuffle(10, {.seed = 3})));
  const Dataset fixed = range(1000).shuffle(10, {.seed = 3, .reshuffle_each_iteration = false});
  EXPECT_EQ(numbers(fixed), numbers(fixed));
}

}  // namespace
}  // namespace isochron::data
