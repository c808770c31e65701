// How much memory this process has, had at most, and may still take.
#pragma once

#include <cstdint>

namespace isochron {

// As the kernel counts it for quick questions: right within some hundred kilobytes, since every CPU keeps a part of the
// count to itself.
int64_t resident_bytes();
// To the page; takes a walk through the page tables (tens of microseconds).
int64_t exact_resident_bytes();
// Of it what is nobody else's and no file's: heap, stacks, tensors.
int64_t private_resident_bytes();
// Since the program was started (exec), unlike getrusage, which counts its parent too.
int64_t peak_resident_bytes();
// What may still be allocated without swapping or being killed: what the machine has left (MemAvailable) or what the
// tightest control group leaves, whichever is less.
struct AvailableMemory {
  int64_t bytes = 0;
  bool limited_by_group = false;
};
AvailableMemory available_memory();
inline int64_t available_memory_bytes() { return available_memory().bytes; }

}  // namespace isochron
