// Where random ops get their numbers from: a global seed and a counter of streams, or, while a function is traced,
// a key that every call of the function draws anew.
#pragma once

#include <cstdint>
#include <utility>

#include "isochron/tensor/tensor.h"

namespace isochron {

// Random numbers from here on follow from this seed (and the order of random calls).
void set_seed(uint64_t seed);
uint64_t get_seed();

// Takes `count` streams off the global counter; returns the first.
uint64_t take_random_streams(uint64_t count);
// State of the global counter, for resuming a run exactly.
uint64_t random_counter();
void set_random_counter(uint64_t counter);

// A (seed, stream) pair as an int64 tensor of shape (2,); the op adds `offset` to the stream.
struct RandomKey {
  Tensor key;
  int64_t offset = 0;
};
RandomKey next_random_key();
// The same numbers at every call.
RandomKey fixed_random_key(uint64_t seed);

// While it lives, this thread has a seed and a counter of its own: what is drawn follows from `seed` and the order of
// random calls inside, whatever other threads draw meanwhile. All of the above but random_counter() go by it.
class LocalRandom {
 public:
  explicit LocalRandom(uint64_t seed) : seed_(seed), outer_(std::exchange(current_, this)) {}
  ~LocalRandom() { current_ = outer_; }
  LocalRandom(const LocalRandom&) = delete;

 private:
  friend void set_seed(uint64_t seed);
  friend uint64_t get_seed();
  friend uint64_t take_random_streams(uint64_t count);
  // Data sets open a scope for every element: it has to cost next to nothing.
  [[gnu::tls_model("initial-exec")]] static constinit thread_local LocalRandom* current_;
  uint64_t seed_, counter_ = 0;
  LocalRandom* outer_;
};

// While it lives, next_random_key() on this thread hands out offsets of one key, `key`.
class TracedRandomKeys {
 public:
  explicit TracedRandomKeys(Tensor key);
  ~TracedRandomKeys();
  TracedRandomKeys(const TracedRandomKeys&) = delete;
  int64_t taken() const { return taken_; }

 private:
  friend RandomKey next_random_key();
  Tensor key_;
  int64_t taken_ = 0;
  TracedRandomKeys* outer_;
};

}  // namespace isochron
