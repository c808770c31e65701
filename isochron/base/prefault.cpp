#include "isochron/base/prefault.h"

#include <pthread.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "isochron/base/signals_blocked.h"
#include "isochron/base/thread_clock.h"
#include "isochron/base/threads.h"

namespace isochron {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kSmall = 16 * kPage;
// Beyond this a first epoch is long anyway, and memory that may never be used should not be taken.
constexpr size_t kLarge = kMostPresentBytes;
// The kernel holds a lock meanwhile that the caller's own mmap() needs.
constexpr size_t kPiece = 8 * kPage;

constexpr size_t kHuge = size_t{2} << 20;

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

class Helper {
 public:
  // Advises the kernel about the range, a piece at a time.
  void add(uintptr_t begin, uintptr_t end, size_t piece, int advice) {
    std::lock_guard lock(mutex_);
    if (last_ - first_ == ranges_.size()) return;
    ranges_[last_++ % ranges_.size()] = {begin, end, piece, advice};
    if (runs_) {
      more_.notify_one();
      return;
    }
    const SignalsBlocked signals;
    try {
      std::thread([this] { loop(); }).detach();
      runs_ = true;
    } catch (const std::system_error&) {
      first_ = last_;  // no thread to be had: the pages come when they are touched
    }
  }

 private:
  struct Range {
    uintptr_t begin, end;
    size_t piece;
    int advice;
  };

  void loop() {
    pthread_setname_np(pthread_self(), "isochron-pages");
    std::unique_lock lock(mutex_);
    for (;;) {
      more_.wait(lock, [this] { return first_ != last_; });
      const Range range = ranges_[first_++ % ranges_.size()];
      lock.unlock();
      for (uintptr_t at = range.begin; at < range.end; at += range.piece)
        if (madvise(reinterpret_cast<void*>(at), std::min(range.piece, range.end - at), range.advice) != 0) break;
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable more_;
  std::array<Range, 64> ranges_;
  size_t first_ = 0, last_ = 0;
  bool runs_ = false;
};

// Never destroyed: its thread may still be at work when the process ends.
std::atomic<Helper*> g_helper{nullptr};

Helper& helper() {
  Helper* existing = g_helper.load(std::memory_order_acquire);
  if (existing) return *existing;
  // The thread does not exist in a forked child, and its lock may be held.
  static const int registered = pthread_atfork(nullptr, nullptr, [] { g_helper.store(nullptr); });
  (void)registered;
  auto* fresh = new Helper;
  if (g_helper.compare_exchange_strong(existing, fresh)) return *fresh;
  delete fresh;
  return *existing;
}

std::pair<uintptr_t, uintptr_t> pages_around(void* begin, size_t bytes) {
  const auto at = reinterpret_cast<uintptr_t>(begin);
  return {at / kPage * kPage, (at + bytes + kPage - 1) / kPage * kPage};
}

}  // namespace

void prefault(void* begin, size_t bytes) {
  static const bool worth_it = available_cpus() > 1;
  if (!worth_it || bytes < kSmall || bytes > kLarge) return;
  const auto [first, end] = pages_around(begin, bytes);
  helper().add(first, end, kPiece, MADV_POPULATE_WRITE);
}

bool populate_pages(void* begin, size_t bytes) {
  const auto [first, end] = pages_around(begin, bytes);
  return madvise(reinterpret_cast<void*>(first), end - first, MADV_POPULATE_WRITE) == 0;
}

void merge_pages(void* begin, size_t bytes) {
  const auto at = reinterpret_cast<uintptr_t>(begin);
  const uintptr_t first = (at + kHuge - 1) / kHuge * kHuge, last = (at + bytes) / kHuge * kHuge;
  if (first < last) helper().add(first, last, kHuge, MADV_COLLAPSE);
}

namespace {

struct Reserve {
  std::mutex mutex;
  std::byte* begin = nullptr;
  size_t bytes = 0;
};
Reserve& reserve() {
  static Reserve* reserve = new Reserve;  // never destroyed: tensors in static storage may still be made at the end
  return *reserve;
}

// The first touch of a page of 2 MB costs a fifteenth of that of its 512 small ones, unless the kernel has to look for
// one, or the host of a virtual machine has yet to find the memory: then each takes milliseconds. So they are taken one
// by one, and the first slow one is the last of the process.
// Returns how many bytes are present then.
size_t populate_huge(std::byte* begin, size_t bytes) {
  constexpr int64_t kSlow = 700'000;
  static std::atomic<bool> quick{true};
  if (bytes > kLarge) return 0;
  size_t at = 0;
  while (at + kHuge <= bytes && quick.load(std::memory_order_relaxed)) {
    const int64_t start = thread_cpu_ns();
    const bool done = madvise(begin + at, kHuge, MADV_HUGEPAGE) == 0 && populate_pages(begin + at, kHuge);
    if (!done || thread_cpu_ns() - start > kSlow) quick.store(false, std::memory_order_relaxed);
    if (done) at += kHuge;
  }
  return at;
}

// What may become huge pages begins where one can begin. `present` bytes of it are present.
std::byte* mapped(size_t bytes, size_t& present) {
  const size_t spare = bytes >= kHuge ? kHuge - kPage : 0;
  void* pages = mmap(nullptr, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(pages);
  if (spare == 0) return begin;
  const size_t before = (kHuge - reinterpret_cast<uintptr_t>(begin) % kHuge) % kHuge;
  if (before > 0) munmap(begin, before);
  if (before < spare) munmap(begin + before + bytes, spare - before);
  present = populate_huge(begin + before, bytes);
  return begin + before;
}

}  // namespace

void* map_pages(size_t bytes, bool soon) {
  {
    Reserve& kept = reserve();
    std::lock_guard lock(kept.mutex);
    if (bytes <= kept.bytes) {
      kept.bytes -= bytes;
      return std::exchange(kept.begin, kept.begin + bytes);
    }
  }
  size_t present = 0;
  std::byte* begin = mapped(bytes, present);
  if (begin && soon) prefault(begin + present, bytes - present);
  return begin;
}

void unmap_pages(void* begin, size_t bytes) { munmap(begin, bytes); }

void reserve_pages(size_t bytes) {
  Reserve& kept = reserve();
  std::lock_guard lock(kept.mutex);
  const size_t wanted = (bytes + kPage - 1) / kPage * kPage;
  if (wanted <= kept.bytes) return;
  if (kept.bytes > 0) munmap(kept.begin, kept.bytes);
  size_t present = 0;
  kept.begin = mapped(wanted, present);
  kept.bytes = kept.begin ? wanted : 0;
  if (kept.begin) prefault(kept.begin + present, kept.bytes - present);
}

}  // namespace isochron
