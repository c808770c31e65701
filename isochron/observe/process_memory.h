// Reading another process's memory while it runs: nothing is stopped, attached or written.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

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

// A value inside a block that was read.
template <class T, size_t N>
T field(const uint8_t (&block)[N], int offset) {
  T value{};
  if (offset >= 0 && offset + sizeof(T) <= N) std::memcpy(&value, block + offset, sizeof(T));
  return value;
}

}  // namespace isochron::observe
