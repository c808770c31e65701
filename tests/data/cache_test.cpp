// Caches, saved data sets, reports, loaders.
#include <gmock/gmock.h>
#include <atomic>
#include <filesystem>
#include <map>
#include <set>

#include "isochron/base/clock.h"
#include "isochron/base/files.h"
#include "isochron/base/log.h"
#include "isochron/base/page_cache.h"
#include "isochron/data/dataset.h"
#include "isochron/data/files/csv.h"
#include "isochron/data/files/record_sources.h"
#include "isochron/data/loader.h"
#include "isochron/data/stage.h"
#include "isochron/ops/ops.h"
#include "tests/base/file_size_limit.h"
#include "tests/data/collect.h"

namespace isochron::data {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Dataset stream(const Dataset& dataset) {
  return dataset.filter([](const Element&) { return true; });
}

// Counts how often elements are made.
struct Counted {
  std::atomic<int> calls{0};
  Dataset over(const Dataset& input) {
    return input.map([this](int64_t x) {
      ++calls;
      return x * x;
    });
  }
};

std::vector<int64_t> squares(int64_t n) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < n; ++i) all.push_back(i * i);
  return all;
}

TEST(Cache, InMemoryEveryElementIsMadeOnce) {
  for (const Dataset& input : {range(20), stream(range(20))}) {
    Counted counted;
    const Dataset dataset = counted.over(input).cache();
    for (int pass = 0; pass < 3; ++pass) EXPECT_EQ(numbers(dataset), squares(20));
    EXPECT_EQ(counted.calls, 20);
    EXPECT_THAT(dataset.report().to_string(), HasSubstr("cache: 20 elements in memory"));
    EXPECT_TRUE(dataset.report().cache_full);
  }
}

TEST(Cache, InMemoryKeepsWhatFits) {
  Counted counted;
  const Dataset dataset = counted.over(range(100)).cache({.max_bytes = 10'000});
  EXPECT_EQ(numbers(dataset), squares(100));
  EXPECT_EQ(numbers(dataset), squares(100));
  EXPECT_GT(counted.calls, 100);
  EXPECT_LT(counted.calls, 200);
  EXPECT_THAT(dataset.report().to_string(), HasSubstr("no more fit"));
}

TEST(Cache, AStreamThatDoesNotFitIsNotKeptInPart) {
  Counted counted;
  const Dataset dataset = counted.over(stream(range(100))).cache({.max_bytes = 10'000});
  for (int pass = 0; pass < 2; ++pass) EXPECT_EQ(numbers(dataset), squares(100));
  EXPECT_EQ(counted.calls, 200);
  const std::string report = dataset.report().to_string();
  EXPECT_THAT(report, HasSubstr("cache: nothing in memory; 0.0 MB hold "));
  EXPECT_THAT(report, HasSubstr(" % of all, and a stream is kept whole or not"));
  EXPECT_FALSE(dataset.report().cache_full);
}

TEST(Cache, AFullDiskCostsTheCacheAndNotThePass) {
  for (const Dataset& input : {range(100), stream(range(100))}) {
    const TempFolder folder;
    const std::string path = folder.file("cache");
    Counted counted;
    const Dataset dataset = counted.over(input).cache(path);
    {
      const FileSizeLimit limit(4000);
      testing::internal::CaptureStderr();
      for (int pass = 0; pass < 2; ++pass) EXPECT_EQ(numbers(dataset), squares(100));
      log_flush();
    }
    EXPECT_EQ(counted.calls, 200);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_THAT(said, HasSubstr("cache: [cache] can't write " + path + ".partial: File too large; "));
    EXPECT_EQ(said.find("given up"), said.rfind("given up")) << said;  // once
    EXPECT_THAT(dataset.report().to_string(), HasSubstr("could not be written, nothing is kept"));
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
    Counted later;
    EXPECT_EQ(numbers(later.over(input).cache(path)), squares(100));
    EXPECT_TRUE(std::filesystem::exists(path));
  }
}

TEST(Cache, AFileThatWasGivenUpIsLeftToOthers) {
  const TempFolder folder;
  const std::string path = folder.file("cache");
  const auto make = [&] { return stream(range(100)).cache(path); };
  const Dataset full = make(), other = make();
  int64_t seen = 0;
  auto limit = std::make_unique<FileSizeLimit>(4000);
  for ([[maybe_unused]] const Element& e : full) {
    if (++seen < 90) continue;
    limit.reset();
    for ([[maybe_unused]] const Element& each : other) break;
    ASSERT_TRUE(std::filesystem::exists(path + ".partial")) << seen;
  }
  EXPECT_EQ(seen, 100);
  EXPECT_EQ(numbers(other).size(), 100u);
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(Cache, ShufflesAboveAndBelow) {
  Counted counted;
  const Dataset above = counted.over(range(50)).cache().shuffle(50, {.seed = 1});
  EXPECT_NE(numbers(above), numbers(above));
  EXPECT_EQ(counted.calls, 50);
  const Dataset below = range(50).shuffle(50, {.seed = 1}).cache();
  EXPECT_EQ(numbers(below), numbers(below));
}

TEST(Cache, InAFileForTheNextRun) {
  const TempFolder folder;
  const std::string path = folder.file("cache");
  Counted first, second;
  for (const bool as_stream : {false, true}) {
    std::filesystem::remove(path);
    const auto make = [&](Counted& counted, const std::string& tag) {
      return counted.over(as_stream ? stream(range(30)) : range(30)).cache(path, {.tag = tag});
    };
    first.calls = second.calls = 0;
    EXPECT_EQ(numbers(make(first, "a")), squares(30));
    EXPECT_EQ(first.calls, 30);
    EXPECT_TRUE(std::filesystem::exists(path));
    EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
    EXPECT_EQ(numbers(make(second, "a")), squares(30));
    EXPECT_EQ(second.calls, 0);
    const Dataset stale = make(second, "b");
    EXPECT_EQ(numbers(stale), squares(30));
    EXPECT_EQ(second.calls, 30);
    EXPECT_THAT(stale.report().to_string(), HasSubstr("stale"));
  }
}

TEST(Cache, AnInterruptedFileIsGoneOnWith) {
  const TempFolder folder;
  const std::string path = folder.file("cache");
  Counted first, second;
  {
    const Dataset dataset = first.over(range(30)).cache(path);
    int64_t seen = 0;
    for ([[maybe_unused]] const Element& e : dataset)
      if (++seen == 12) break;
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  // The last record was cut while it was written.
  const std::string partial = path + ".partial";
  std::filesystem::resize_file(partial, std::filesystem::file_size(partial) - 3);
  const Dataset dataset = second.over(range(30)).cache(path);
  EXPECT_EQ(numbers(dataset), squares(30));
  EXPECT_EQ(second.calls, 30 - 11);
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_THAT(dataset.report().to_string(), HasSubstr("went on behind 11 elements"));
}

TEST(Cache, OtherTensorsAreOtherData) {
  const TempFolder folder;
  const std::string path = folder.file("cache");
  EXPECT_THAT(numbers(from_tensor_slices(tensor({1, 2, 3})).cache(path)), ElementsAre(1, 2, 3));
  EXPECT_THAT(numbers(from_tensor_slices(tensor({1, 2, 4})).cache(path)), ElementsAre(1, 2, 4));
  EXPECT_THAT(numbers(from_tensors({Tensor(tensor({5, 6}))}).cache(path)), ElementsAre(5, 6));
  EXPECT_THAT(numbers(from_tensors({Tensor(tensor({5, 7}))}).cache(path)), ElementsAre(5, 7));
  for (const Element& element : from_tensor_slices({{"a", tensor({5, 7})}}).cache(path)) EXPECT_NO_THROW(element["a"]);
  for (const Element& element : from_tensor_slices({{"b", tensor({5, 7})}}).cache(path)) EXPECT_NO_THROW(element["b"]);
}

TEST(Cache, OneWritesTheFile) {
  const TempFolder folder;
  const std::string path = folder.file("cache");
  for (const auto& input : {range(30), stream(range(30))}) {
    std::filesystem::remove(path);
    Counted first, second, third;
    const Dataset writer = first.over(input).cache(path), other = second.over(input).cache(path);
    {
      DatasetIterator half = writer.begin();
      for (int i = 0; i < 10; ++i) ++half;
      EXPECT_EQ(numbers(other), squares(30)) << "goes through";
      EXPECT_THAT(other.report().to_string(), HasSubstr("being written by others"));
      EXPECT_THROW(range(3).save(path), FileError);
      EXPECT_FALSE(std::filesystem::exists(path));
    }
    EXPECT_EQ(numbers(writer), squares(30));
    EXPECT_EQ(numbers(third.over(input).cache(path)), squares(30));
    EXPECT_EQ(third.calls, 0);
  }
}

TEST(Cache, SavingIsRefusedAtOnceWhereAnotherWrites) {
  const TempFolder folder;
  const std::string path = folder.file("saved");
  Counted counted;
  {
    const Dataset writer = range(30).cache(path);
    const DatasetIterator half = writer.begin();
    EXPECT_THROW(counted.over(range(30)).save(path), FileError);
    EXPECT_EQ(counted.calls, 0);
    EXPECT_TRUE(std::filesystem::exists(path + ".partial")) << "the other's";
  }
  counted.over(range(30)).save(path);
  EXPECT_EQ(numbers(load(path)), squares(30));
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
  EXPECT_THROW(range(3).save(folder.path()), FileError) << "a folder";
}

TEST(Cache, WhatCouldNotBeSavedLeavesNothingBehind) {
  const TempFolder folder;
  const std::string path = folder.file("saved");
  const Dataset broken = range(9).map([](int64_t x) { return x < 5 ? x : throw std::runtime_error("bad"); });
  EXPECT_THROW(broken.save(path), std::runtime_error);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  range(3).save(path);
  EXPECT_THROW(broken.save(path), std::runtime_error);
  EXPECT_THAT(numbers(load(path)), ElementsAre(0, 1, 2));
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
}

TEST(Cache, KnowsWhatItsFilesAndOptionsAre) {
  const TempFolder folder;
  const std::string saved = folder.file("saved"), table = folder.file("t.csv"), cache = folder.file("cache");
  const auto loaded = [&] { return numbers(load(saved).cache(cache)); };
  range(3).save(saved);
  EXPECT_THAT(loaded(), ElementsAre(0, 1, 2));
  range(3, 6).save(saved);
  EXPECT_THAT(loaded(), ElementsAre(3, 4, 5));
  write_file(table, "a,b\n1,2\n3,4\n");
  for (const bool in_memory : {true, false}) {
    const auto label = [&](const char* name) {
      return numbers(csv(table, {.label = name, .in_memory = in_memory}).cache(cache), 1);
    };
    EXPECT_THAT(label("b"), ElementsAre(2, 4));
    EXPECT_THAT(label("a"), ElementsAre(1, 3));
  }
}

TEST(Cache, LoadingOnlyReads) {
  const TempFolder folder;
  write_file(folder.file("other"), "no data set");
  EXPECT_THROW(load(folder.file("other")), FileError);
  EXPECT_FALSE(std::filesystem::exists(folder.file("other.partial")));
}

TEST(Cache, DamageIsFound) {
  const TempFolder folder;
  const std::string path = folder.file("cache");
  numbers(range(30).cache(path));
  std::string bytes = read_file(path);
  bytes[60] = static_cast<char>(bytes[60] ^ 0x10);
  write_file(path, bytes);
  try {
    numbers(range(30).cache(path));
    FAIL();
  } catch (const FileError& error) {
    EXPECT_THAT(error.what(), HasSubstr("at offset 24 is damaged"));
  }
}

TEST(Cache, SavedDataSetsAreLoadedWithNumbers) {
  const TempFolder folder;
  const std::string path = folder.file("saved");
  const Dataset made = stream(range(10)).map(
      [](int64_t x) { return std::tuple(std::string(static_cast<size_t>(x), 'a'), zeros({x}), x); });
  made.save(path);
  made.save(path);
  const Dataset loaded = load(path);
  EXPECT_EQ(loaded.size(), 10);
  EXPECT_THAT(numbers(loaded.skip(7), 2), ElementsAre(7, 8, 9));
  const Element last = *loaded.skip(9).begin();
  EXPECT_EQ(last[0].text(), "aaaaaaaaa");
  EXPECT_EQ(last[1].shape(), Shape({9}));
  EXPECT_THROW(load(folder.file("nothing")), FileError);
  write_file(folder.file("other"), "no data set");
  EXPECT_THROW(load(folder.file("other")), FileError);
}

TEST(Report, StagesThreadsAndPlan) {
  const Dataset dataset = from_tensor_slices(tensor({1.f, 2.f, 3.f}))
                              .map([](Tensor x) { return x * 2; }, {.num_parallel_calls = 2, .name = "double"})
                              .batch(2)
                              .cast({.dtype = DType::float64})
                              .prefetch();
  for ([[maybe_unused]] const Element& e : dataset) {
  }
  const std::string report = dataset.report().to_string();
  EXPECT_THAT(report, HasSubstr("map(double, 2 in parallel)"));
  EXPECT_THAT(report, HasSubstr("threads of map(double, 2 in parallel): "));
  EXPECT_EQ(dataset.explain(),
            "asked for:\nprefetch\ncast 0: float64\nbatch(2)\nmap(double, 2 in parallel)\nfrom_tensor_slices(3 rows)\n"
            "runs:\nprefetch\nbatch(2, cast 0: float64)\nmap(double, 2 in parallel)\nfrom_tensor_slices(3 rows)\n");
  EXPECT_THAT(range(3).filter([](int64_t) { return true; }).explain(), HasSubstr("filter()  [stream]\nrange(3)\n"));
}

TEST(Report, InspectShowsEveryStage) {
  const std::string text = range(5).map([](int64_t x) { return x + 10; }, {.name = "add"}).batch(2).inspect(2);
  EXPECT_THAT(text, HasSubstr("range(5)\n     0"));
  EXPECT_THAT(text, HasSubstr("(int64()) 11\n"));
  EXPECT_THAT(text, HasSubstr("batch(2)\n     0"));
  EXPECT_THAT(text, HasSubstr("(int64(2))"));
}

TEST(Report, VerdictsNameWhoMadeTrainingWait) {
  PipelineReport before, after;
  after.stages = {{"source", 10, 0, 0, 0.1, -1}, {"map(decode)", 10, 0, 0, 2.0, 1.0}};
  EXPECT_EQ(input_verdict(before, after, 1, 1.0, 0.01), "");
  EXPECT_EQ(input_verdict(before, after, 2, 0.005, 0.0047), "") << "another process had the core";
  EXPECT_THAT(
      input_verdict(before, after, 1, 1.0, 0.41),
      HasSubstr("training waited 41 % of epoch 1 for `map(decode)`: it runs in the training thread at 100 % CPU"));
  after.threads = {{"map(decode)", "", 2}};
  EXPECT_EQ(input_verdict(before, after, 1, 1.0, 0.41),
            "training waited 41 % of epoch 1 for `map(decode)`: 2 threads at 100 % CPU");
  // 1.4 s of its 2 it did not run: for want of a core, or by its own will.
  after.stages[1].cpu_share = 0.3;
  after.threads[0].delay_seconds = 1.0;
  EXPECT_THAT(input_verdict(before, after, 1, 1.0, 0.41), HasSubstr("2 threads at 30 % CPU, kept from it by other"));
  after.threads[0].delay_seconds = 0.1;
  EXPECT_THAT(input_verdict(before, after, 1, 1.0, 0.41), HasSubstr("2 threads, asleep or waiting 70 % of the time"));
  PipelineReport later = after;
  EXPECT_EQ(why_not_waited(before, after, later, 2), "epoch 2 did not because it has 2 threads now");
  later.cache_full = true;
  EXPECT_EQ(why_not_waited(before, after, later, 2), "epoch 2 did not because `cache` was full");
}

TEST(Report, TellsBytesAndWhatCameFromDisk) {
  TempFolder folder;
  const std::string path = folder.path() + "/records.bin";
  constexpr int64_t kRecords = 4096, kBytes = 4096;
  write_file(path, std::string(kRecords * kBytes, 'x'));
  const bool cold = drop_from_page_cache(path) && cache_residency(path).resident_bytes == 0;
  const auto make = [&] { return fixed_length_records(path, kBytes).batch(64); };
  const auto run = [](const Dataset& dataset) {
    for ([[maybe_unused]] const Element& e : dataset) {
    }
    return dataset.report();
  };
  const PipelineReport first = run(make()), second = run(make());
  EXPECT_EQ(first.stages.at(1).bytes, kRecords * kBytes);
  const auto five = [] { return [i = int64_t{0}]() mutable { return i < 5 ? std::optional(i++) : std::nullopt; }; };
  EXPECT_EQ(run(from_generator(five)).stages.at(0).elements, 5);
  const PipelineReport mapped = run(range(1000).map([](int64_t x) { return x; }));
  EXPECT_NEAR(static_cast<double>(mapped.stages.at(1).bytes), 1000 * 8, 32 * 8);  // not every short call is looked at
  const PipelineReport uneven = run(range(1000).map([](int64_t x) {
    for (const int64_t end = monotonic_ns() + 2000 * (x % 32 < 16); monotonic_ns() < end;) {
    }
    return x;
  }));
  EXPECT_NEAR(static_cast<double>(uneven.stages.at(1).bytes), 1000 * 8, 32 * 8);
  if (cold) {
    EXPECT_GE(first.stages.at(0).disk_bytes,
              kRecords * kBytes / 2);  // what lies in memory for other reasons is not read
    EXPECT_THAT(first.to_string(), HasSubstr("MB from disk"));
    EXPECT_EQ(why_not_waited({}, first, first, 2),
              fmt::format("epoch 2 did not because its files were in memory: 0 MB from disk instead of {:.0f}",
                          static_cast<double>(first.stages[0].disk_bytes) * 1e-6));
  }
  EXPECT_LT(second.stages.at(0).disk_bytes, kRecords * kBytes / 2);
}

struct Rows : MapStyleDataset {
  int64_t size() const override { return 10; }
  Element get(int64_t i) const override { return make_element(zeros({2}) + static_cast<double>(i), i); }
};

TEST(Loader, BatchesInOrderAndShuffled) {
  for (const int64_t workers : {0, 2}) {
    const DataLoader plain(std::make_shared<Rows>(), {.batch_size = 4, .workers = workers});
    EXPECT_EQ(plain.size(), 3);
    EXPECT_THAT(numbers(plain.dataset(), 1), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
    const DataLoader shuffled(std::make_shared<Rows>(),
                              {.batch_size = 4, .shuffle = true, .workers = workers, .drop_last = true, .seed = 3});
    EXPECT_EQ(shuffled.size(), 2);
    const std::vector<int64_t> first = numbers(shuffled.dataset(), 1);
    EXPECT_EQ(first.size(), 8u);
    EXPECT_NE(first, numbers(shuffled.dataset(), 1));
  }
  for (const Element& batch : DataLoader(range(3), {.batch_size = 3})) EXPECT_EQ(batch[0].shape(), Shape({3}));
  const DataLoader own(range(4), {.batch_size = 2, .collate = [](const std::vector<Element>& rows) {
                                    return make_element(static_cast<int64_t>(rows.size()));
                                  }});
  EXPECT_THAT(numbers(own.dataset()), Each(2));
}

TEST(Loader, Samplers) {
  const auto seen = [](const std::shared_ptr<const Sampler>& sampler) {
    return numbers(DataLoader(range(10), {.batch_size = 3, .sampler = sampler}).dataset());
  };
  const auto as_set = [](const std::vector<int64_t>& values) {
    return std::set<int64_t>(values.begin(), values.end());
  };
  EXPECT_EQ(as_set(seen(random_sampler(10, {.seed = 1}))).size(), 10u);
  EXPECT_EQ(seen(random_sampler(10, {.replacement = true, .num_samples = 25, .seed = 1})).size(), 25u);
  EXPECT_EQ(as_set(seen(subset_random_sampler({2, 4, 6}, 1))), (std::set<int64_t>{2, 4, 6}));
  // Shares of all replicas together: every element, once; some twice where they do not divide evenly.
  std::multiset<int64_t> all;
  for (int64_t rank = 0; rank < 3; ++rank)
    for (int64_t i : seen(distributed_sampler(10, 3, rank))) all.insert(i);
  EXPECT_EQ(all.size(), 12u);
  EXPECT_EQ(std::set<int64_t>(all.begin(), all.end()).size(), 10u);
  EXPECT_THAT(seen(distributed_sampler(10, 3, 1, {.shuffle = false, .drop_last = true})), ElementsAre(1, 4, 7));

  std::map<int64_t, int> counts;
  for (int64_t i : seen(weighted_random_sampler({0, 1, 3}, 4000, {.seed = 2}))) ++counts[i];
  EXPECT_EQ(counts[0], 0);
  EXPECT_NEAR(counts[2], 3000, 150);  // 5.5 standard deviations
  EXPECT_EQ(as_set(seen(weighted_random_sampler({1, 2, 0, 3}, 3, {.replacement = false, .seed = 1}))),
            (std::set<int64_t>{0, 1, 3}));
  EXPECT_THROW(random_sampler(10, {.num_samples = -3}), ValueError);
  EXPECT_THROW(DataLoader(range(10).repeat(), {.sampler = random_sampler(10)}), ValueError) << "which has no end";
  EXPECT_THROW(weighted_random_sampler({1, 0}, 2, {.replacement = false}), ValueError);
  EXPECT_THROW(DataLoader(range(3), {.shuffle = true, .sampler = random_sampler(3)}), ValueError);
  EXPECT_THROW(DataLoader(stream(range(3)), {.sampler = random_sampler(3)}), ValueError);
  EXPECT_EQ(distributed_sampler(0, 2, 1)->size(), 0);
  EXPECT_THAT(seen(distributed_sampler(10, INT64_MAX, 12, {.shuffle = false})), ElementsAre(2));
  EXPECT_THROW(distributed_sampler(4, 2, 2), ValueError);
}

TEST(Loader, RowsOfStrings) {
  const Component words(Strings{"a", "b", "c", "d"}, Shape{2, 2});
  EXPECT_THAT(row_of(words, 1).texts(), ElementsAre("c", "d"));
  EXPECT_THROW(row_of(words, 2), IndexError);
}

TEST(Loader, DoesNotShuffleAStreamInSilence) {
  const Dataset filtered = range(100).filter([](int64_t) { return true; });
  EXPECT_THROW(DataLoader(filtered, {.batch_size = 4, .shuffle = true}), ValueError);
  EXPECT_NO_THROW(DataLoader(filtered.shuffle(10), {.batch_size = 4}));
}

// A file of cached batches, or a place in the data, is another sampler's otherwise.
TEST(Loader, SamplersThatDrawOtherElementsAreOtherStages) {
  const auto print_of = [](std::vector<int64_t> subset, uint64_t seed) {
    const DataLoader loader(range(9), {.batch_size = 3, .sampler = subset_random_sampler(std::move(subset), seed)});
    return fingerprint_of(*loader.dataset().stage());
  };
  EXPECT_EQ(print_of({1, 2, 3}, 1), print_of({1, 2, 3}, 1));
  EXPECT_NE(print_of({1, 2, 3}, 1), print_of({4, 5, 6}, 1));
  EXPECT_NE(print_of({1, 2, 3, 4, 5, 6}, 1), print_of({1, 2, 3, 4, 5, 6}, 2));
}

TEST(Random, SeedsOfElementsFollowFromPassAndNumberAlone) {
  const auto draws = [](int64_t calls) {
    return range(50).map([](int64_t, const ElementContext& at) { return static_cast<int64_t>(at.random_seed >> 1); },
                         {.num_parallel_calls = calls});
  };
  const Dataset one = draws(1), many = draws(4);
  const std::vector<int64_t> first = numbers(one);
  EXPECT_EQ(first, numbers(many));
  EXPECT_EQ(std::set<int64_t>(first.begin(), first.end()).size(), 50u);
  EXPECT_THAT(numbers(one), Not(testing::ContainerEq(first)));
}

}  // namespace
}  // namespace isochron::data
