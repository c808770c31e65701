// Reading another process's memory while it runs: nothing is stopped, attached or written.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace isochron::observe {

class ProcessMemory {
 public:
  explicit ProcessMemory(int pid) : pid_(pid) {}

  // False when the address is not mapped (any more) or the process may not be read.
  bool read(uint64_t address, void* into, size_t size) const {
    const iovec local{into, size}, remote{reinterpret_cast<void*>(address), size};
    return process_vm_readv(pid_, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
  }
  // As many bytes as are mapped there, from `address` on.
  size_t read_some(uint64_t address, void* into, size_t size) const {
    const iovec local{into, size};
    iovec remote[8];  // a transfer stops at the piece that is not mapped
    const size_t piece = (size + 7) / 8;
    int pieces = 0;
    for (size_t at = 0; at < size; at += piece)
      remote[pieces++] = {reinterpret_cast<void*>(address + at), std::min(piece, size - at)};
    const ssize_t got = process_vm_readv(pid_, &local, 1, remote, static_cast<unsigned long>(pieces), 0);
    return got > 0 ? static_cast<size_t>(got) : 0;
  }
  // Several pieces by one call; how many bytes could be read before the first one that is not mapped.
  size_t read_all(const iovec* local, const iovec* remote, size_t pieces) const {
    const ssize_t got = process_vm_readv(pid_, local, pieces, remote, pieces, 0);
    return got > 0 ? static_cast<size_t>(got) : 0;
  }
  template <class T>
  std::optional<T> get(uint64_t address) const {
    T value{};
    if (address == 0 || !read(address, &value, sizeof value)) return std::nullopt;
    return value;
  }
  uint64_t pointer(uint64_t address) const { return get<uint64_t>(address).value_or(0); }

 private:
  int pid_;
};

// The same by whole pages, each read once until renew(): a system call costs more than a page's copy, and what belongs
// together mostly lies together.
class PagedMemory {
 public:
  explicit PagedMemory(int pid) : memory_(pid) {}

  // What is read from now on is what the memory holds from now on. Pages that were read from since the last call will
  // mostly be read from again, so all of them are fetched at once.
  void renew() {
    size_t kept = 0;
    std::array<uint64_t, kMostPages> addresses;
    for (size_t i = 0; i < used_; ++i)
      if (std::exchange(pages_[i].touched, false)) addresses[kept++] = pages_[i].address;
    for (size_t i = 0; i < kept; ++i) pages_[i].address = addresses[i];
    std::array<iovec, kMostPages> local, remote;
    for (size_t i = 0; i < kept; ++i) {
      local[i] = {pages_[i].bytes.data(), kPage};
      remote[i] = {reinterpret_cast<void*>(addresses[i]), kPage};
    }
    used_ = kept ? memory_.read_all(local.data(), remote.data(), kept) / kPage : 0;  // up to one that is not there
  }
  // Pages that need not be asked for one by one.
  size_t fetched() const { return used_; }

  bool read(uint64_t address, void* into, size_t size) {
    if (size > kPage) return memory_.read(address, into, size);
    for (auto* to = static_cast<uint8_t*>(into); size > 0;) {
      const uint64_t at = address % kPage, count = std::min<uint64_t>(size, kPage - at);
      const uint8_t* bytes = page(address - at);
      if (!bytes) return false;
      std::memcpy(to, bytes + at, count);
      to += count, address += count, size -= count;
    }
    return true;
  }
  uint64_t pointer(uint64_t address) {
    uint64_t value = 0;
    return address && read(address, &value, sizeof value) ? value : 0;
  }

 private:
  static constexpr uint64_t kPage = 4096;
  static constexpr size_t kMostPages = 64;
  struct Page {
    uint64_t address;
    bool touched;
    std::array<uint8_t, kPage> bytes;
  };

  const uint8_t* page(uint64_t address) {
    for (size_t i = used_; i-- > 0;)
      if (pages_[i].address == address) {
        pages_[i].touched = true;
        return pages_[i].bytes.data();
      }
    if (used_ == kMostPages) used_ = 0;
    if (pages_.size() == used_) pages_.emplace_back();
    Page& fresh = pages_[used_];
    if (!memory_.read(address, fresh.bytes.data(), kPage)) return nullptr;
    fresh.address = address;
    fresh.touched = true;
    ++used_;
    return fresh.bytes.data();
  }

  ProcessMemory memory_;
  std::vector<Page> pages_;  // the first used_ of them hold something
  size_t used_ = 0;
};

// A value inside a block that was read.
template <class T, size_t N>
T field(const uint8_t (&block)[N], int offset) {
  T value{};
  if (offset >= 0 && offset + sizeof(T) <= N) std::memcpy(&value, block + offset, sizeof(T));
  return value;
}

}  // namespace isochron::observe
