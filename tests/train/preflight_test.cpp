#include "isochron/train/preflight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "isochron/base/log.h"
#include "isochron/base/memory_info.h"
#include "isochron/data/cached_bytes.h"
#include "isochron/data/dataset.h"
#include "isochron/nn/nn.h"
#include "isochron/nn/recompute_layer.h"
#include "isochron/ops/create.h"
#include "isochron/ops/random_key.h"
#include "isochron/optim/optimizers.h"
#include "isochron/tensor/deferred.h"
#include "isochron/train/callback.h"
#include "isochron/train/estimate.h"
#include "isochron/train/history.h"
#include "tests/message_of.h"

namespace isochron {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kGB = 1'000'000'000;

// Two dense layers, 100,000 inputs, 100,000 units, Adam: by hand.
MemoryNeed oversized() {
  MemoryNeed need;
  need.parameters = 10'000'000'000;
  need.batch = 32;
  need.optimizer_name = "Adam";
  need.weights = {40 * kGB, 40 * kGB, 0};
  need.gradients = {40 * kGB, 40 * kGB, 0};
  need.optimizer = {80 * kGB, 80 * kGB, 0};
  need.largest = {{"dense", {100'000, 100'000}, 40 * kGB}};
  return need;
}

TEST(Preflight, SaysWhatIsNeededAndWhatThereIs) {
  const MemoryRoom room{23 * kGB, "the machine"};
  EXPECT_EQ(headline(oversized(), room), "needs 160 GB (weights 40 GB, gradients 40, Adam 80); available 23 GB");
  const std::string table = memory_table(oversized(), room);
  EXPECT_THAT(table, HasSubstr("weights                40 GB   10,000,000,000 parameters\n"));
  EXPECT_THAT(table, HasSubstr("total                 160 GB\n"));
  EXPECT_THAT(table, Not(HasSubstr("caches")));
}

TEST(Preflight, RefusesWithWhatWouldFit) {
  const MemoryRoom room{23 * kGB, "the machine"};
  const std::string message = message_of([&] { check_memory("fit", oversized(), room); });
  EXPECT_THAT(message, HasSubstr("[fit] needs 160 GB"));
  // 0.9 * 23 GB over 16 bytes a parameter of 100,000 inputs each: 12,937 units.
  EXPECT_THAT(message, HasSubstr("layer \"dense\" with 12,900 units in place of 100,000"));
  EXPECT_NO_THROW(check_memory("fit", oversized(), {200 * kGB, ""}));
}

TEST(Preflight, GoesOnWithAWarningAndNamesAWordItDoesNotKnow) {
  const MemoryRoom room{23 * kGB, "the machine"};
  setenv("ISOCHRON_PREFLIGHT", "OFF", 1);
  EXPECT_THAT(message_of([&] { check_memory("fit", oversized(), room); }),
              HasSubstr("ISOCHRON_PREFLIGHT is \"OFF\"; it can be warn or off"));
  setenv("ISOCHRON_PREFLIGHT", "warn", 1);
  testing::internal::CaptureStderr();
  EXPECT_NO_THROW(check_memory("goes on", oversized(), room));
  log_flush();
  unsetenv("ISOCHRON_PREFLIGHT");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(HasSubstr("needs 160 GB"), HasSubstr("What would fit"), Not(HasSubstr("was allocated"))));
}

TEST(Preflight, AdvisesWhatIsWorthIt) {
  MemoryNeed need = oversized();
  need.weights = need.gradients = {kGB, kGB, 0};
  need.optimizer = {3 * kGB, 3 * kGB, 0};
  need.activations = {16 * kGB, 16 * kGB, 0};
  // Of 21 GB, 10.8 fit with a tenth to spare: 5.8 of 16 GB of activations are left to 32 rows.
  const std::vector<std::string> lines = advice(need, {12 * kGB, ""});
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines[0], "batch_size = 11 in place of 32");
  EXPECT_THAT(lines, Not(testing::Contains(HasSubstr("SGD"))));
  // Of 21 GB, 18 fit: giving up the state of 3 GB is enough.
  EXPECT_THAT(advice(need, {20 * kGB, ""}), testing::Contains(HasSubstr("SGD: 3.0 GB less")));
  EXPECT_TRUE(advice(need, {21 * kGB, ""}).empty());
}

// Memory that is mapped and not yet touched is taken from nobody: it must not count as room twice.
TEST(Preflight, RoomIsNoMoreThanWhatIsFreeAndWhatWeHave) {
  MemoryNeed need;
  need.weights.add(100'000 * kGB, true);
  const int64_t had = private_resident_bytes();
  EXPECT_GT(had, 0);
  const int64_t room = room_now(need).bytes;
  // Others come and go between the two looks.
  constexpr int64_t kDrift = kGB / 4;
  EXPECT_LT(room, available_memory_bytes() + had + kDrift);
  EXPECT_GT(room, available_memory_bytes() - kDrift);
}

TEST(Preflight, WarnsOfATightFitOnce) {
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) check_memory("tight", oversized(), {165 * kGB, ""});
  log_flush();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said, "isochron: warning: tight: a tight fit: " + headline(oversized(), {165 * kGB, ""}) + "\n");
}

TEST(Preflight, GradientsThatAreNeverStoredDoNotCount) {
  MemoryNeed need = oversized();
  need.gradients.at_once = 0;
  EXPECT_NO_THROW(check_memory("fit", need, {140 * kGB, ""}));
  EXPECT_THAT(memory_table(need, {140 * kGB, ""}), HasSubstr("total                 160 GB    120 GB\n"));
}

// More than any machine has: 4 TB of weights.
Sequential huge(bool shape_known) {
  Sequential model;
  if (shape_known) model.add(Input({1'000'000}));
  model.add(Dense(1'000'000, {.activation = "relu"}));
  model.add(Dense(10));
  model.compile({.optimizer = Adam(1e-3), .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  return model;
}

class OversizedModel : public testing::TestWithParam<bool> {
 protected:
  Tensor x = zeros({4, 1'000'000});
  Tensor y = zeros({4}, DType::int64);
};

TEST_P(OversizedModel, IsRefusedByFitBeforeAnythingIsAllocated) {
  x.eval();
  const int64_t before = resident_bytes();
  Sequential model = huge(GetParam());
  const std::string message = message_of([&] { model.fit(x, y, {.verbose = 0}); });
  EXPECT_THAT(message, HasSubstr("needs 16 TB (weights 4.0 TB, gradients 4.0, Adam 8.0"));
  EXPECT_THAT(message, HasSubstr("What would fit:"));
  // Tensors below 64 MB are made at once: the last layer's kernel of 40 MB, and one such state of it.
  EXPECT_LT(resident_bytes() - before, 128 << 20);
}

TEST_P(OversizedModel, IsRefusedOnABatch) {
  Sequential model = huge(GetParam());
  EXPECT_THROW(model.train_on_batch(x, y), MemoryError);
}

TEST_P(OversizedModel, IsRefusedWithADataset) {
  Sequential model = huge(GetParam());
  EXPECT_THROW(model.fit(data::from_tensor_slices(x, y).batch(2), {.verbose = 0}), MemoryError);
}

TEST_P(OversizedModel, IsShownByEstimate) {
  Sequential model = huge(GetParam());
  const Estimate estimate = model.estimate(x, y);
  EXPECT_FALSE(estimate.fits);
  EXPECT_EQ(estimate.memory.weights.bytes, int64_t{4} * (1'000'000'000'000 + 1'000'000 + 10'000'000 + 10));
  EXPECT_FALSE(estimate.step_seconds);
}

INSTANTIATE_TEST_SUITE_P(Shape, OversizedModel, testing::Bool(),
                         [](const auto& shape) { return std::string(shape.param ? "Known" : "FromTheData"); });

TEST(Preflight, ALargeModelThatFitsTrains) {
  // 80 MB of weights: made when the first step runs, the same as if they had been made at once.
  set_seed(3);
  Sequential model{Input({5000}), Dense(4000), Dense(1)};
  model.compile({.optimizer = SGD(0.01), .loss = "mse"});
  EXPECT_FALSE(is_present(model.weights()[0].value().node->results[0]));
  const Logs logs = model.train_on_batch(ones({2, 5000}), ones({2, 1}));
  EXPECT_TRUE(is_present(model.weights()[0].value().node->results[0]));
  EXPECT_TRUE(std::isfinite(logs_value(logs, "loss")));
}

// What compile() makes ready is for tensors that fit into it: a model of large ones has no use for it, and may have no
// memory to spare.
TEST(Preflight, CompilingALargeModelTakesLittleMemory) {
  Sequential model{Input({5000}), Dense(4000), Dense(1)};
  const int64_t before = resident_bytes();
  model.compile({.optimizer = Adam(0.01), .loss = "mse"});
  usleep(300'000);  // another thread makes it present
  EXPECT_LT(resident_bytes() - before, 12'000'000);
}

TEST(Preflight, CountsTheCachesOfAPipeline) {
  const Tensor x = zeros({100, 50});
  EXPECT_EQ(data::cached_bytes(*data::from_tensor_slices(x).cache().batch(4).stage()), 100 * 50 * 4);
  EXPECT_EQ(data::cached_bytes(*data::from_tensor_slices(x).cache({.max_bytes = 77}).stage()), 77);
  EXPECT_EQ(data::cached_bytes(*data::from_tensor_slices(x).stage()), 0);
}

TEST(Preflight, WarnsOfADiskThatIsTooSmall) {
  EXPECT_EQ(disk_warning({"/", 1}), "");
  EXPECT_THAT(disk_warning({"/no/such/folder/model.safetensors", INT64_MAX}), HasSubstr("the disk has"));
}

}  // namespace
}  // namespace isochron
