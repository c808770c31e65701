// The bytes of a tensor: shared, 64-byte aligned, recycled.
//
//   Storage s = Storage::allocate(4096);             // contents undefined
//   Storage t = Storage::wrap(vector);               // takes over an owned buffer, no copy
//
// Freed blocks are kept by size and handed out again (a bounded amount), so a steady step never
// reaches the system allocator; allocation_counts() lets tests prove it. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace isochron {

class Storage {
 public:
  Storage() = default;
  Storage(const Storage& other) : block_(other.block_) {
    if (block_) block_->users.fetch_add(1, std::memory_order_relaxed);
  }
  Storage(Storage&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Storage& operator=(Storage other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Storage() { release(); }

  // Throws MemoryError naming the size when the system has no more.
  static Storage allocate(size_t bytes);
  // Takes over memory that `free_memory` gives back; it need not be aligned.
  static Storage wrap(void* data, size_t bytes, std::function<void()> free_memory);
  template <class T>
  static Storage wrap(std::vector<T> buffer) {
    auto owner = std::make_shared<std::vector<T>>(std::move(buffer));
    return wrap(owner->data(), owner->size() * sizeof(T), [owner] {});
  }

  explicit operator bool() const { return block_ != nullptr; }
  std::byte* data() const { return block_ ? block_->data : nullptr; }
  size_t bytes() const { return block_ ? block_->bytes : 0; }
  // True when nobody else holds these bytes.
  bool unique() const { return block_ && block_->users.load(std::memory_order_acquire) == 1; }
  bool same(const Storage& other) const { return block_ == other.block_; }

 private:
  struct Block {
    std::byte* data = nullptr;
    size_t bytes = 0;
    size_t capacity = 0;  // of a recycled block; 0 for wrapped memory
    std::atomic<int64_t> users{1};
    Block* next_free = nullptr;
    std::function<void()> free_memory;
  };
  friend class StoragePool;
  void release() {
    if (block_ && block_->users.fetch_sub(1, std::memory_order_acq_rel) == 1) give_back(block_);
    block_ = nullptr;
  }
  static void give_back(Block* block);

  Block* block_ = nullptr;
};

struct AllocationCounts {
  int64_t system_allocations = 0;  // blocks taken from the system since the start
  int64_t live_bytes = 0;          // held by tensors now
  int64_t pooled_bytes = 0;        // kept for reuse now
};
AllocationCounts allocation_counts();

// Gives all recycled blocks back to the system.
void release_pooled_memory();

}  // namespace isochron
