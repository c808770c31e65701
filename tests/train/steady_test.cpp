// Steady steps take no memory: neither from the C++ heap nor from the system for tensors.
#include <gtest/gtest.h>

#include "isochron/isochron.h"
#include "tests/train/counting_new.h"

namespace isochron {
namespace {

// Reads the counters at the end of two batches of the second epoch.
class Counter : public Callback {
 public:
  int64_t heap = 0, system = 0, live = 0;
  void on_epoch_begin(int epoch, const Logs&) override { epoch_ = epoch; }
  void on_train_batch_end(int64_t batch, const Logs&) override {
    if (epoch_ != 1 || (batch != 4 && batch != 24)) return;
    const AllocationCounts counts = allocation_counts();
    const int64_t sign = batch == 24 ? 1 : -1;
    heap += sign * heap_allocations();
    system += sign * counts.system_allocations;
    live += sign * counts.live_bytes;
  }

 private:
  int epoch_ = 0;
};

TEST(Steady, StepsAllocateNothing) {
  const Tensor x = random_normal({960, 20}, 0, 1, {.seed = 1}), y = random_integers({960}, 0, 5, 2);
  for (const bool shuffle : {true, false}) {
    Sequential model{Dense(32, {.activation = "relu"}), Dense(5)};
    model.compile(
        {.optimizer = "adam", .loss = SparseCategoricalCrossentropy({.from_logits = true}), .metrics = {"accuracy"}});
    const auto counter = std::make_shared<Counter>();
    const int64_t before = heap_allocations();
    model.fit(x, y, {.epochs = 2, .shuffle = shuffle, .verbose = 0, .callbacks = {counter}});
    EXPECT_GT(heap_allocations(), before) << "the counter counts";
    EXPECT_EQ(counter->heap, 0) << "shuffle " << shuffle;
    EXPECT_EQ(counter->system, 0) << "shuffle " << shuffle;
    EXPECT_EQ(counter->live, 0) << "shuffle " << shuffle;
  }
}

}  // namespace
}  // namespace isochron
