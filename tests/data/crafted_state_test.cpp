// States of pipelines whose checksum is right and whose contents are not: an error or a pass, never a read beyond what
// is there. `make asan` runs it under AddressSanitizer.
#include <cstring>

#include "isochron/base/crc32c.h"
#include "isochron/base/files.h"
#include "isochron/data/files/csv.h"
#include "isochron/data/files/record_sources.h"
#include "isochron/data/files/tfrecord.h"
#include "isochron/ops/ops.h"
#include "tests/data/collect.h"

namespace isochron::data {
namespace {

constexpr size_t kChecksum = sizeof(uint32_t);

// `value` written over the bytes `behind` the end of what the checksum covers.
std::string with_number(std::string state, size_t at, int64_t value) {
  state.resize(state.size() - kChecksum);
  std::memcpy(state.data() + at, &value, std::min(sizeof value, state.size() - at));
  const uint32_t crc = crc32c(state);
  return state.append(reinterpret_cast<const char*>(&crc), sizeof crc);
}

std::string state_within(const Dataset& dataset, int64_t elements) {
  auto pass = dataset.begin();
  for (int64_t i = 1; i < elements; ++i) ++pass;
  return dataset.state();
}

TEST(CraftedState, PlacesOutOfRangeAreRefused) {
  const Dataset walked = range(10).batch(2), ahead = walked.prefetch(2), endless = range(10).repeat().batch(3);
  const std::string in_walked = state_within(walked, 2), in_ahead = state_within(ahead, 2),
                    in_endless = state_within(endless, 2);
  // The last number: in threads that run ahead one flag stands behind it.
  const auto last = [](const std::string& state, size_t behind) {
    return state.size() - kChecksum - behind - sizeof(int64_t);
  };
  for (const int64_t place : {int64_t{-1}, int64_t{6}, INT64_MAX, INT64_MIN}) {
    EXPECT_THROW(walked.restore(with_number(in_walked, last(in_walked, 0), place)), StateError) << place;
    EXPECT_THROW(ahead.restore(with_number(in_ahead, last(in_ahead, 1), place)), StateError) << place;
  }
  EXPECT_THROW(endless.restore(with_number(in_endless, last(in_endless, 0), INT64_MAX / 2)), StateError);
  walked.restore(with_number(in_walked, last(in_walked, 0), 4));
  EXPECT_EQ(numbers(walked), (std::vector<int64_t>{8, 9}));
}

std::vector<std::pair<std::string, Dataset>> pipelines(const TempFolder& folder) {
  const auto numbers_of = [](int64_t count) {
    return from_generator([count] {
      return [count, i = int64_t{0}]() mutable { return i < count ? std::optional(i++) : std::nullopt; };
    });
  };
  const Dataset generated = numbers_of(40);
  std::string lines = "a,b\n";
  for (int i = 0; i < 40; ++i) lines += std::to_string(i) + "," + std::to_string(2 * i) + "\n";
  write_file(folder.file("t.csv"), lines);
  TfRecordWriter records(folder.file("t.tfrecord"));
  for (int i = 0; i < 40; ++i) records.write("record " + std::to_string(i));
  records.commit();
  return {
      {"shuffle, batch", range(40).shuffle(40, {.seed = 1}).batch(4)},
      {"endless, shard, batch", range(40).repeat().shard(3, 1).batch(4).take(20)},
      {"parallel map in no order",
       range(40).map([](int64_t x) { return 2 * x; }, {.num_parallel_calls = 2, .deterministic = false})},
      {"shuffle of a stream", generated.shuffle(10, {.seed = 2})},
      {"stream ahead", generated.map([](int64_t x) { return x + 1; }, {.num_parallel_calls = 2}).prefetch()},
      {"unbatch, take, repeat", generated.batch(4).unbatch().take(30).repeat(2)},
      {"flat_map", range(1, 8).flat_map([](int64_t n) { return range(std::clamp<int64_t>(n, 0, 9)); })},
      {"interleave", range(1, 8).interleave([](int64_t n) { return range(std::clamp<int64_t>(n, 0, 9)); },
                                            {.cycle_length = 3, .block_length = 2})},
      {"window", generated.window(5, {.shift = 2})},
      {"group_by_window", generated.group_by_window([](int64_t x) { return x % 3; },
                                                    [](int64_t, const Dataset& g) { return g.batch(4); }, 5)},
      {"buckets", generated.bucket_by_sequence_length([](const Element& e) { return e[0].item<int64_t>() % 10; },
                                                      {3, 6}, {2, 3, 4}, {.pad_to_bucket_boundary = false})},
      {"buckets padded", generated.map([](int64_t x) { return zeros({x % 5}); })
                             .bucket_by_sequence_length([](const Element& e) { return e[0].shape()[0]; }, {3, 6},
                                                        {4, 4, 4}, {.pad_to_bucket_boundary = true})},
      {"samples, filter", sample_from_datasets({range(40), generated}, {0.3, 0.7}, {.seed = 8}).filter([](int64_t x) {
         return x % 3 != 0;
       })},
      {"cache of a stream", generated.cache()},
      {"csv", csv(folder.file("t.csv"), {.in_memory = false})},
      {"lines", text_lines(folder.file("t.csv"))},
      {"tfrecord", tfrecord(folder.file("t.tfrecord"), {.indexed = false})},
  };
}

TEST(CraftedState, AnythingInItIsAnErrorOrAPass) {
  const TempFolder folder;
  for (const auto& [name, dataset] : pipelines(folder)) {
    SCOPED_TRACE(name);
    const std::string state = state_within(dataset, 5);
    int64_t refused = 0;
    for (size_t at = 0; at + kChecksum < state.size(); ++at) {
      for (const int64_t value : {int64_t{-1}, int64_t{1} << 40, int64_t{41}}) {
        try {
          dataset.restore(with_number(state, at, value));
          int64_t seen = 0;
          for (auto pass = dataset.begin(); pass != dataset.end() && seen < 200; ++pass) ++seen;
        } catch (const InternalError& error) {
          ADD_FAILURE() << at << ", " << value << ": " << error.what();
        } catch (const Error&) {
          ++refused;
        }
      }
    }
    EXPECT_GT(refused, 0);
    dataset.restore(state);
    EXPECT_NE(dataset.begin(), dataset.end());
  }
}

}  // namespace
}  // namespace isochron::data
