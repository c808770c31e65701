// What this machine could do at most, so that a profile can say how much of it an op reached.
#pragma once

namespace isochron::profiler {

// Independent float32 multiply-adds in registers, all threads of the team at once, in FLOP/s. Measured when first asked
// for (about a millisecond, the best of some rounds) and again after set_num_threads().
double peak_flops();

// The same of the calling thread alone, measured anew: time the thread computed counts, not time it was kept waiting.
double measure_thread_peak_flops();

}  // namespace isochron::profiler
