// Attention of every head, block by block: queries kQueries at a time against keys kKeys at a time.
//
//   AttentionShape shape{.batch = 16, .heads = 4, .queries = 64, .keys = 64, .features = 32, .values = 32};
//   attention(shape, {.q = q, .k = k, .v = v, .y = y, .log_sum = l}, scratch, thread, threads);   // by every thread
//
// q (batch, queries, heads, features), k (batch, keys, heads, features), v (batch, keys, heads, values), y like q with
// `values` features, log_sum (batch, heads, queries); all dense. Scratch is attention_scratch_bytes() per thread,
// 64-byte aligned. Nothing is allocated or synchronised. T: float, double.
#pragma once

#include <cstddef>
#include <cstdint>

namespace isochron::kernels {

struct AttentionShape {
  int64_t batch = 1, heads = 1, queries = 0, keys = 0, features = 0, values = 0;
  bool causal = false;
  double scale = 1;
  // Steps of the mask, in elements, along batch, heads and queries; keys lie together.
  int64_t mask_batch = 0, mask_head = 0, mask_query = 0;
  // Width of the rows of `probabilities`, at least `keys`, which are at most 128; 0: they are not kept.
  int64_t kept = 0;
};

template <class T>
struct AttentionArgs {
  const T *q, *k, *v;
  T *y, *log_sum;              // outputs of the forward pass, inputs of the backward one
  const bool* mask = nullptr;  // may be null
  const T* dy = nullptr;       // backward only, like y
  T *dq = nullptr, *dk = nullptr, *dv = nullptr;
  // (batch, heads, queries, kept): written by the forward pass, read by the backward one instead of log_sum and mask.
  T* probabilities = nullptr;
};

template <class T>
size_t attention_scratch_bytes(const AttentionShape& shape, bool backward);
template <class T>
void attention(const AttentionShape& shape, const AttentionArgs<T>& args, void* scratch, int thread, int threads);
template <class T>
void attention_backward(const AttentionShape& shape, const AttentionArgs<T>& args, void* scratch, int thread,
                        int threads);

}  // namespace isochron::kernels
