#include "isochron/tensor/storage.h"

#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "isochron/base/error.h"
#include "isochron/base/prefault.h"
#include "isochron/tensor/zeroed_storage.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace isochron {
namespace {

#if defined(__SANITIZE_ADDRESS__)
// What malloc gave, the sanitizer watches over; of a recycled block it must be told which bytes a tensor may touch.
bool in_pages(size_t) { return false; }
void allow(const std::byte* data, size_t bytes, size_t capacity) {
  ASAN_UNPOISON_MEMORY_REGION(data, bytes);
  ASAN_POISON_MEMORY_REGION(data + bytes, capacity - bytes);
}
#else
// Large blocks come zeroed from the system, or from a reserve that is present already.
bool in_pages(size_t capacity) { return capacity >= (size_t{128} << 10); }
void allow(const std::byte*, size_t, size_t) {}
#endif

// Capacities are multiples of large powers of two. Weights and their optimizer state, walked over side by side, would
// meet in the same sets of every cache (a tenth of the time of an update), so blocks begin in turn at four places of
// their first page.
constexpr size_t kPage = 4096, kTurns = 4;
std::byte* begun_in_turn(void* pages) {
  static std::atomic<size_t> turn{0};
  return static_cast<std::byte*>(pages) + turn.fetch_add(1, std::memory_order_relaxed) % kTurns * (kPage / kTurns);
}
void* page_of(std::byte* data) { return data - reinterpret_cast<uintptr_t>(data) % kPage; }

}  // namespace

// Free blocks by capacity. Capacities are rounded to a quarter of their power of two, so a block fits
// its users with at most 25 % waste and a steady step always finds the sizes it gave back.
class StoragePool {
 public:
  // Never destroyed: tensors in static storage may outlive any order of destruction we could choose.
  static StoragePool& global() {
    static StoragePool* pool = new StoragePool;
    return *pool;
  }

  Storage allocate(size_t bytes) {
    Storage storage;
    bool fresh = false;
    storage.block_ = take(bytes, fresh);
    return storage;
  }
  Storage allocate_zeroed(size_t bytes) {
    Storage storage;
    bool fresh = false;
    storage.block_ = take(bytes, fresh);
    if (!fresh) std::memset(storage.data(), 0, bytes);
    return storage;
  }

  // `fresh` becomes true when the bytes are known to be zero.
  Storage::Block* take(size_t bytes, bool& fresh) {
    const size_t capacity = rounded(bytes);
    {
      std::lock_guard lock(mutex_);
      counts_.live_bytes += static_cast<int64_t>(capacity);
      Storage::Block*& head = free_[capacity];
      if (head) {
        Storage::Block* block = std::exchange(head, head->next_free);
        counts_.pooled_bytes -= static_cast<int64_t>(capacity);
        block->bytes = bytes;
        block->users.store(1, std::memory_order_relaxed);
        allow(block->data, bytes, capacity);
        return block;
      }
      ++counts_.system_allocations;
    }
    fresh = in_pages(capacity);
    void* memory = fresh ? map_pages(capacity + kPage) : std::aligned_alloc(kAlignment, capacity);
    if (!memory) {
      forget(capacity);
      fail<MemoryError>("allocate", "no memory for a tensor of {} bytes", bytes);
    }
    auto* block = new Storage::Block;
    block->data = fresh ? begun_in_turn(memory) : static_cast<std::byte*>(memory);
    block->bytes = bytes;
    block->capacity = capacity;
    allow(block->data, bytes, capacity);
    return block;
  }

  void give_back(Storage::Block* block) {
    if (block->capacity == 0) {
      if (block->free_memory) block->free_memory();
      delete block;
      return;
    }
    std::lock_guard lock(mutex_);
    const auto capacity = static_cast<int64_t>(block->capacity);
    counts_.live_bytes -= capacity;
    if (counts_.pooled_bytes + capacity > kKeptBytes) {
      free(block);
      return;
    }
    allow(block->data, 0, block->capacity);
    counts_.pooled_bytes += capacity;
    block->next_free = std::exchange(free_[block->capacity], block);
  }

  void clear() {
    std::lock_guard lock(mutex_);
    for (auto& [capacity, head] : free_)
      while (head) {
        Storage::Block* next = head->next_free;
        free(head);
        head = next;
      }
    counts_.pooled_bytes = 0;
  }

  AllocationCounts counts() {
    std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  static constexpr size_t kAlignment = 64;
  static constexpr int64_t kKeptBytes = int64_t{64} << 20;

  static void free(Storage::Block* block) {
    allow(block->data, block->capacity, block->capacity);
    if (in_pages(block->capacity))
      unmap_pages(page_of(block->data), block->capacity + kPage);
    else
      std::free(block->data);
    delete block;
  }

  static size_t rounded(size_t bytes) {
    const size_t least = std::max(bytes, kAlignment);
    const size_t quarter = std::max(std::bit_floor(least) / 4, kAlignment);
    return (least + quarter - 1) / quarter * quarter;
  }
  void forget(size_t capacity) {
    std::lock_guard lock(mutex_);
    counts_.live_bytes -= static_cast<int64_t>(capacity);
  }

  std::mutex mutex_;
  std::unordered_map<size_t, Storage::Block*> free_;
  AllocationCounts counts_;
};

Storage Storage::allocate(size_t bytes) { return StoragePool::global().allocate(bytes); }
Storage zeroed_storage(size_t bytes) { return StoragePool::global().allocate_zeroed(bytes); }

Storage Storage::wrap(void* data, size_t bytes, std::function<void()> free_memory) {
  Storage storage;
  storage.block_ = new Block;
  storage.block_->data = static_cast<std::byte*>(data);
  storage.block_->bytes = bytes;
  storage.block_->free_memory = std::move(free_memory);
  return storage;
}

void Storage::give_back(Block* block) { StoragePool::global().give_back(block); }

AllocationCounts allocation_counts() { return StoragePool::global().counts(); }
void release_pooled_memory() { StoragePool::global().clear(); }

}  // namespace isochron
