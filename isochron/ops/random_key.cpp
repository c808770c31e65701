#include "isochron/ops/random_key.h"

#include <atomic>
#include <utility>

namespace isochron {
namespace {
std::atomic<uint64_t> seed{0x5EEDull};
std::atomic<uint64_t> counter{0};
thread_local TracedRandomKeys* traced = nullptr;

Tensor key_tensor(uint64_t key, uint64_t stream) {
  const int64_t pair[2] = {static_cast<int64_t>(key), static_cast<int64_t>(stream)};
  return Tensor::from_span(std::span<const int64_t>(pair), {2});
}
}  // namespace

void set_seed(uint64_t value) {
  if (LocalRandom* local = LocalRandom::current_) {
    local->seed_ = value;
    local->counter_ = 0;
    return;
  }
  seed = value;
  counter = 0;
}
uint64_t get_seed() {
  const LocalRandom* local = LocalRandom::current_;
  return local ? local->seed_ : seed.load();
}
uint64_t take_random_streams(uint64_t count) {
  LocalRandom* local = LocalRandom::current_;
  return local ? std::exchange(local->counter_, local->counter_ + count) : counter.fetch_add(count);
}
uint64_t random_counter() { return counter; }
void set_random_counter(uint64_t value) { counter = value; }

RandomKey next_random_key() {
  if (traced) return {traced->key_, traced->taken_++};
  return {key_tensor(get_seed(), take_random_streams(1)), 0};
}
RandomKey fixed_random_key(uint64_t key) { return {key_tensor(key, 0), 0}; }

TracedRandomKeys::TracedRandomKeys(Tensor key) : key_(std::move(key)), outer_(std::exchange(traced, this)) {}
TracedRandomKeys::~TracedRandomKeys() { traced = outer_; }

constinit thread_local LocalRandom* LocalRandom::current_ = nullptr;

}  // namespace isochron
