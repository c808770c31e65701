// Threads that run ahead: order, errors, ends.
#include <gmock/gmock.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <set>
#include <thread>

#include "isochron/base/files.h"
#include "isochron/base/threads.h"
#include "isochron/data/autotune.h"
#include "isochron/data/dataset.h"
#include "isochron/data/run.h"
#include "tests/data/collect.h"

namespace isochron::data {
namespace {

using testing::HasSubstr;

// Nothing is learnt from or left for other tests.
const bool no_cache_folder = setenv("ISOCHRON_CACHE_DIR", "", 1) == 0;

Dataset stream(const Dataset& dataset) {
  return dataset.filter([](const Element&) { return true; });
}

int64_t cpu_now() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

TEST(RunAhead, OrderIsKept) {
  const MapOptions parallel{.num_parallel_calls = AUTOTUNE};
  for (const Dataset& dataset :
       {range(200).map(uneven, parallel), range(200).map(uneven, parallel).batch(7), range(200).map(uneven).prefetch(),
        range(200).batch(8).unbatch().map(uneven, parallel), stream(range(200)).map(uneven).prefetch(3),
        stream(range(200)).map(uneven, {.num_parallel_calls = 5}).batch(9).prefetch()})
    for (int pass = 0; pass < 3; ++pass) EXPECT_EQ(numbers(dataset), doubled(200));
}

// The consumer makes elements itself while that is quick. When it stops, in the middle of a batch, threads that had
// nothing to do meanwhile must go on with the rest: nobody else will.
TEST(RunAhead, GoesOnWhenTheConsumerHelpsNoMore) {
  const auto consumer = std::make_shared<std::atomic<std::thread::id>>();
  const auto helped = std::make_shared<std::atomic<int>>(0);
  const Dataset dataset = range(4096)
                              .map([consumer, helped](int64_t x) {
                                if (std::this_thread::get_id() == *consumer && ++*helped % 20 == 19) nap(8'000);
                                return x * 2;
                              })
                              .batch(64)
                              .prefetch();
  std::packaged_task<bool()> run([dataset, consumer, helped] {
    *consumer = std::this_thread::get_id();
    const auto begin = std::chrono::steady_clock::now();
    // Until it has happened often enough, on a machine where the consumer ever gets to help.
    while (*helped < 2000 && std::chrono::steady_clock::now() - begin < std::chrono::seconds(2))
      if (numbers(dataset) != doubled(4096)) return false;
    return true;
  });
  std::future<bool> right = run.get_future();
  std::thread(std::move(run)).detach();  // which, if it hangs, nobody can end
  ASSERT_EQ(right.wait_for(std::chrono::seconds(60)), std::future_status::ready) << "nobody makes the next element";
  EXPECT_TRUE(right.get());
}

// Who waits for an element may be quick to make others, but far ahead one could hold him up that nobody needs yet.
TEST(RunAhead, TheConsumerDoesNotHelpFarAhead) {
  for (const bool indexed : {true, false}) {
    std::atomic<int64_t> stuck{INT64_MAX}, furthest{0};
    std::atomic<bool> open{false};
    const auto consumer = std::this_thread::get_id();
    const auto f = [&](int64_t x) {
      if (x < 200 || open) return x * 2;
      if (std::this_thread::get_id() == consumer) {
        furthest = std::max(furthest.load(), x);
        return x * 2;
      }
      int64_t least = stuck;
      while (x < least && !stuck.compare_exchange_weak(least, x)) continue;
      while (!open) nap(1000);
      return x * 2;
    };
    std::thread opens([&] {
      while (stuck == INT64_MAX && !open) nap(1000);
      nap(100'000);
      open = true;
    });
    const Dataset numbered = range(2000);
    const Dataset dataset = (indexed ? numbered : stream(numbered)).map(f, {.num_parallel_calls = 2}).prefetch(64);
    EXPECT_EQ(numbers(dataset), doubled(2000));
    open = true;
    opens.join();
    EXPECT_LE(furthest, stuck == INT64_MAX ? INT64_MAX : stuck + 1) << (indexed ? "indexed" : "stream");
  }
}

TEST(RunAhead, UnorderedGivesEveryElementOnce) {
  const MapOptions options{.num_parallel_calls = 4, .deterministic = false};
  for (const Dataset& dataset : {range(300).map(uneven, options), stream(range(300)).map(uneven, options)})
    for (int pass = 0; pass < 3; ++pass) {
      std::vector<int64_t> all = numbers(dataset);
      std::sort(all.begin(), all.end());
      EXPECT_EQ(all, doubled(300));
    }
}

TEST(RunAhead, PassesDifferAsWithoutThreads) {
  const Dataset plain = range(500).shuffle(1, {.seed = 4}).batch(32);
  const Dataset ahead = range(500).shuffle(1, {.seed = 4}).batch(32).prefetch();
  for (int pass = 0; pass < 4; ++pass) EXPECT_EQ(numbers(plain), numbers(ahead));
}

TEST(RunAhead, AnAbandonedPassDoesNotLeakIntoTheNext) {
  for (const Dataset& dataset : {range(1000).map(uneven, {.num_parallel_calls = 3}).batch(10),
                                 stream(range(1000)).map(uneven).prefetch(), range(1000).batch(10).prefetch(2)}) {
    const std::vector<int64_t> whole = numbers(dataset);
    for (int pass = 0; pass < 3; ++pass) {
      int64_t taken = 0;
      for (const Element& e : dataset) {
        taken += e[0].shape().elements();
        if (taken > 40) break;
      }
      EXPECT_EQ(numbers(dataset), whole);
    }
  }
}

TEST(RunAhead, EmptyAndInfinite) {
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_TRUE(numbers(range(0).map(uneven, {.num_parallel_calls = 2})).empty());
    EXPECT_TRUE(numbers(stream(range(0)).prefetch()).empty());
  }
  const Dataset empty = range(0).batch(2).prefetch();
  for (int pass = 0; pass < 3; ++pass) EXPECT_TRUE(numbers(empty).empty());
  EXPECT_EQ(numbers(range(3).repeat().map(uneven, {.num_parallel_calls = 2}).take(500)).size(), 500u);
  // A source that is empty in one pass and not in the next.
  int passes = 0;
  const Dataset sometimes = from_generator([&passes] {
                              return [n = passes++ % 2 * 3]() mutable -> std::optional<int64_t> {
                                return n > 0 ? std::optional<int64_t>(n--) : std::nullopt;
                              };
                            }).prefetch();
  for (int pass = 0; pass < 6; ++pass) EXPECT_LE(numbers(sometimes).size(), 3u);
}

TEST(RunAhead, ErrorsComeInOrderAndThePassCanGoOn) {
  const auto fails = [](int64_t x) {
    nap(x % 5 * 50);
    if (x % 10 == 9) throw std::invalid_argument(std::to_string(x));
    return x;
  };
  for (const Dataset& dataset :
       {range(40).map(fails, {.num_parallel_calls = 4}), stream(range(40)).map(fails, {.num_parallel_calls = 4})}) {
    auto it = dataset.begin();
    int errors = 0;
    int64_t expected = 0;
    while (it != std::default_sentinel) {
      EXPECT_EQ((*it)[0].item<int64_t>(), expected);
      if (++expected % 10 == 9) {
        EXPECT_THROW(++it, std::invalid_argument);
        EXPECT_EQ(last_fault().element, expected);
        ++expected;
        ++errors;
      }
      ++it;
    }
    EXPECT_EQ(errors, 4);
  }
}

int threads_now() {
  const std::string status = read_file("/proc/self/status");
  return std::stoi(status.substr(status.find("Threads:") + 8));
}

// Room for a batch is made where rows are claimed, in a thread of its own.
TEST(RunAhead, ABatchThatFitsNowhereIsAnError) {
  for (const Dataset& endless : {range(5).repeat(), stream(range(5).repeat())}) {
    const Dataset batches = endless.batch(INT64_MAX).prefetch(2);
    for (int pass = 0; pass < 2; ++pass)
      EXPECT_THAT(
          [&] {
            for (const Element& element : batches) FAIL() << element.size();
          },
          testing::ThrowsMessage<ShapeError>(HasSubstr("(9223372036854775807) has more elements")));
  }
}

TEST(RunAhead, NoThreadIsLeft) {
  const int before = threads_now();
  {
    const Dataset dataset = range(1000).map(uneven, {.num_parallel_calls = 6});
    auto it = dataset.begin();
    for (int i = 0; i < 5; ++i) ++it;
    EXPECT_GT(threads_now(), before);
  }
  EXPECT_EQ(threads_now(), before);
  {
    const Dataset dataset = stream(range(1000))
                                .map([](int64_t x) -> int64_t {
                                  if (x == 20) throw std::runtime_error("stop");
                                  return x;
                                })
                                .prefetch();
    EXPECT_THROW(numbers(dataset), std::runtime_error);
  }
  EXPECT_EQ(threads_now(), before);
}

TEST(RunAhead, ThreadsLiveAcrossPasses) {
  std::mutex mutex;
  std::set<std::thread::id> ids;
  const Dataset dataset = range(50).map(
      [&](int64_t x) {
        nap(200);
        std::lock_guard lock(mutex);
        ids.insert(std::this_thread::get_id());
        return x;
      },
      {.num_parallel_calls = 2});
  for (int pass = 0; pass < 10; ++pass) numbers(dataset);
  EXPECT_LE(ids.size(), 3u);  // two threads and, where an element is cheap, the consumer
}

TEST(RunAhead, TheNextPassIsReadyWhenThisOneEnds) {
  std::atomic<int64_t> made{0};
  const Dataset dataset = range(8)
                              .map([&](int64_t x) {
                                ++made;
                                return x;
                              })
                              .prefetch(4);
  numbers(dataset);
  for (int wait = 0; wait < 2000 && made < 10; ++wait) nap(1000);
  EXPECT_GE(made, 10);  // the end of a pass and what is being made take places in the window too
  EXPECT_LE(made, 16);
}

TEST(RunAhead, SleepingFunctionsGetMoreThreadsThanCores) {
  std::atomic<int> inside{0}, most{0};
  const Dataset dataset = range(64).map(
      [&](int64_t x) {
        const int now = ++inside;
        int seen = most;
        while (now > seen && !most.compare_exchange_weak(seen, now)) {
        }
        nap(50'000);
        --inside;
        return x;
      },
      {.num_parallel_calls = AUTOTUNE});
  numbers(dataset);
  EXPECT_GE(most, 8);
}

TEST(RunAhead, FunctionsThatBurnOrWaitForCpuGetNoMoreThreadsThanCores) {
  // Other threads want the CPUs too, so that those of the pipeline stand still for long without sleeping.
  std::atomic<bool> done{false};
  std::vector<std::thread> rivals;
  for (int i = 0; i < 3 * available_cpus(); ++i)
    rivals.emplace_back([&done] {
      while (!done) {
      }
    });
  const Dataset dataset = range(60).map(
      [](int64_t x) {
        const int64_t begin = cpu_now();
        while (cpu_now() - begin < 2'000'000) {
        }
        return x;
      },
      {.num_parallel_calls = AUTOTUNE});
  numbers(dataset);
  done = true;
  for (std::thread& rival : rivals) rival.join();
  ASSERT_EQ(dataset.report().threads.size(), 1u);
  EXPECT_LE(dataset.report().threads[0].threads, 2 * available_cpus());
  EXPECT_LE(dataset.report().threads[0].window, 64);
}

TEST(RunAhead, BuffersOfFunctionsThatBurnCpuStaySmall) {
  const auto burn = [](int64_t x) {
    const int64_t begin = cpu_now();
    while (cpu_now() - begin < 300'000) {
    }
    return Tensor::from_buffer(std::vector<float>(1 << 18, static_cast<float>(x)), {1 << 18});  // 1 MB
  };
  const Dataset dataset = range(256).map(burn, {.num_parallel_calls = AUTOTUNE}).batch(16).prefetch();
  for (const Element& batch : dataset) EXPECT_EQ(batch[0].shape()[0], 16);
  const ThreadsReport threads = dataset.report().threads.at(0);
  EXPECT_EQ(threads.slot_bytes, 16 << 20);
  EXPECT_LE(threads.window, std::max(4, 2 * available_cpus() + 2));
}

TEST(RunAhead, BatchesMayDifferInShapeButNotWithin) {
  const auto make = [](int64_t each, int64_t rows) {
    return range(rows).map(
        [each](int64_t x) {
          const int64_t length = x / each % 3 + 1;
          return Tensor::from_buffer(std::vector<float>(static_cast<size_t>(length), static_cast<float>(x)), {length});
        },
        {.num_parallel_calls = 4});
  };
  std::vector<double> first;
  for (const Element& batch : make(8, 80).batch(4)) {
    EXPECT_EQ(batch[0].shape()[1], static_cast<int64_t>(first.size()) / 2 % 3 + 1);
    const auto values = batch[0].tensor().to_vector<float>();
    EXPECT_EQ(values.back(), values.front() + 3);
    first.push_back(values.front());
  }
  EXPECT_EQ(first.size(), 20u);
  // Element 6 starts another shape in the middle of the second batch.
  const Dataset uneven_rows = make(6, 12).batch(4);
  auto it = uneven_rows.begin();
  EXPECT_EQ((*it)[0].shape(), Shape({4, 1}));
  EXPECT_THROW(++it, ShapeError);
}

TEST(RunAhead, OneAtATimeMeansIt) {
  std::atomic<int> inside{0};
  std::atomic<bool> overlapped{false};
  const auto alone = [&](int64_t x) {
    if (++inside > 1) overlapped = true;
    nap(100);
    --inside;
    return x;
  };
  numbers(range(100).map(alone).prefetch());
  numbers(range(100).map(alone).map(uneven, {.num_parallel_calls = 4}));
  EXPECT_FALSE(overlapped);
}

TEST(RunAhead, WhatWasLearntIsKeptForTheNextRun) {
  TempFolder folder;
  setenv("ISOCHRON_CACHE_DIR", folder.path().c_str(), 1);
  const auto make = [] {
    return range(40).map(
        [](int64_t x) {
          nap(20'000);
          return x;
        },
        {.num_parallel_calls = AUTOTUNE, .name = "nap"});
  };
  { numbers(make()); }
  const Tunings learnt = load_tunings(fingerprint_of(*make().stage()));
  setenv("ISOCHRON_CACHE_DIR", "", 1);
  ASSERT_EQ(learnt.size(), 1u);
  EXPECT_THAT(learnt.begin()->first, HasSubstr("nap"));
  EXPECT_GE(learnt.begin()->second.threads, 4);
  EXPECT_GT(learnt.begin()->second.part_ns, 10'000'000);
}

TEST(RunAhead, WhatWasLearntElsewhereStaysWithinMemory) {
  const TempFolder folder;
  setenv("ISOCHRON_CACHE_DIR", folder.path().c_str(), 1);
  static std::byte nobody_reads;
  for (const auto& [elements, most] : {std::pair{int64_t{1}, 300}, std::pair{int64_t{1} << 40, 10}}) {
    std::atomic<int> made{0};
    const TensorSpec spec{DType::float32, {elements}};
    const Dataset dataset = range(10'000).map(
        [&made, spec](int64_t) {
          ++made;
          return Element({Component(spec, &nobody_reads, Storage::wrap(&nobody_reads, 1, [] {}))});
        },
        {.num_parallel_calls = 2, .name = "large"});
    store_tunings(fingerprint_of(*dataset.stage()), {{"map(large, 2 in parallel)", {2, int64_t{1} << 40, 1000}}});
    const DatasetIterator pass = dataset.begin();
    for (int before = -1; before != made;) {
      before = made;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    EXPECT_LT(made, most) << elements;
  }
  setenv("ISOCHRON_CACHE_DIR", "", 1);
}

TEST(RunAhead, AFunctionThatDoesNotReturnIsNamed) {
  setenv("ISOCHRON_STUCK_SECONDS", "0.05", 1);
  std::string report;
  // The consumer has to be the one who waits, not one who helps: that is so unless a thread starts very late.
  for (int attempt = 0; attempt < 5 && report.find("stuck:") == std::string::npos; ++attempt) {
    std::atomic<bool> first{true};
    const Dataset dataset = range(5).map(
        [&first](int64_t x) {
          if (x == 0 && first.exchange(false)) nap(400'000);
          return x;
        },
        {.num_parallel_calls = 2, .name = "nap"});
    numbers(dataset);
    report = dataset.report().to_string();
  }
  unsetenv("ISOCHRON_STUCK_SECONDS");
  EXPECT_THAT(report, HasSubstr("map(nap, 2 in parallel) has been at element 0 for 0."));
}

}  // namespace
}  // namespace isochron::data
