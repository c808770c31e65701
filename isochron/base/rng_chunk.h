// Random numbers by the chunk: 64 elements at once, the unit that vector code works in.
#pragma once

#include "isochron/base/rng.h"

namespace isochron::rng {

inline constexpr int kChunk = 64;

// Each writes elements [kChunk * first, kChunk * (first + chunks)) of the stream to `out`.
void bits(uint32_t* out, RandomStream stream, uint64_t first, int64_t chunks);
void uniform(float* out, RandomStream stream, uint64_t first, int64_t chunks, float low, float high);
void normal(float* out, RandomStream stream, uint64_t first, int64_t chunks, float mean, float stddev);
void truncated_normal(float* out, RandomStream stream, uint64_t first, int64_t chunks, float mean, float stddev);

}  // namespace isochron::rng
