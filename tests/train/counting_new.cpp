// In a file of its own: inlined beside their callers, GCC takes these for a mismatch of new and free.
#include "tests/train/counting_new.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace isochron {
namespace {
std::atomic<int64_t> calls{0};
}
int64_t heap_allocations() { return calls.load(); }
}  // namespace isochron

void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  isochron::calls.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(bytes ? bytes : 1);
}
void* operator new(size_t bytes) {
  if (void* memory = operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
