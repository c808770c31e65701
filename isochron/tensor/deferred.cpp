#include "isochron/tensor/deferred.h"

#include <sys/mman.h>

#include <map>
#include <mutex>

#include "isochron/base/error.h"

namespace isochron {
namespace {

// Those not filled yet, by address. Never destroyed: tensors in static storage may outlive it otherwise.
struct Deferred {
  std::recursive_mutex mutex;  // filling one may read another
  std::map<const std::byte*, std::function<void(std::byte*)>> fills;
  std::atomic<size_t> count{0};
};
Deferred& deferred() {
  static Deferred* all = new Deferred;
  return *all;
}

void forget(const std::byte* data) {
  Deferred& all = deferred();
  std::lock_guard lock(all.mutex);
  all.fills.erase(data);
  all.count.store(all.fills.size(), std::memory_order_release);
}

}  // namespace

Storage deferred_storage(size_t bytes, std::function<void(std::byte*)> fill) {
  const size_t size = (bytes + 4095) / 4096 * 4096;
  void* const pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED)
    fail<MemoryError>("allocate", "the address space has no room for a tensor of {:.0f} GB",
                      static_cast<double>(bytes) / 1e9);
  auto* const data = static_cast<std::byte*>(pages);
  Deferred& all = deferred();
  std::lock_guard lock(all.mutex);
  all.fills[data] = std::move(fill);
  all.count.store(all.fills.size(), std::memory_order_release);
  return Storage::wrap(data, bytes, [data, size] {
    forget(data);
    munmap(data, size);
  });
}

void fill_deferred(const Storage& storage) {
  Deferred& all = deferred();
  if (all.count.load(std::memory_order_acquire) == 0) return;
  std::lock_guard lock(all.mutex);
  const auto found = all.fills.find(storage.data());
  if (found == all.fills.end()) return;
  // Present from here on for the fill itself, which may look at what it wrote; others wait at the lock, because the
  // count goes down only when it is done.
  const auto fill = std::move(found->second);
  all.fills.erase(found);
  try {
    if (fill) fill(storage.data());
  } catch (...) {
    all.fills[storage.data()] = fill;
    throw;
  }
  forget(storage.data());
}

bool is_present(const Storage& storage) {
  Deferred& all = deferred();
  if (all.count.load(std::memory_order_acquire) == 0) return true;
  std::lock_guard lock(all.mutex);
  return !all.fills.contains(storage.data());
}

bool worth_deferring(size_t bytes) {
  constexpr size_t kMuch = size_t{64} << 20;
  return bytes >= kMuch || (bytes >= kMuch / 64 && allocation_counts().live_bytes >= static_cast<int64_t>(kMuch));
}

}  // namespace isochron
