#include "isochron/checkpoint/snapshot.h"

#include <sys/mman.h>

#include <cstring>

#include "isochron/base/crc32c.h"
#include "isochron/base/memory_info.h"
#include "isochron/base/prefault.h"
#include "isochron/base/threads.h"

namespace isochron {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kHugePage = size_t{2} << 20;
// Shares of the copy: small enough to spread evenly over the team, large enough to stream.
constexpr size_t kShare = size_t{1} << 20;

std::string header_of(const NamedTensors& tensors) {
  std::vector<std::pair<std::string, TensorSpec>> specs;
  for (const auto& [name, tensor] : tensors) specs.emplace_back(name, tensor.spec());
  return safetensors_header(specs);
}

size_t bytes_of(const Tensor& tensor) { return static_cast<size_t>(tensor.spec().bytes()); }

}  // namespace

Snapshot::~Snapshot() {
  if (memory_) munmap(memory_, room_);
}

int64_t Snapshot::bytes_of(const NamedTensors& tensors) {
  size_t bytes = header_of(tensors).size();
  for (const auto& [name, tensor] : tensors) bytes += isochron::bytes_of(tensor);
  return static_cast<int64_t>(bytes);
}

bool Snapshot::reserve(int64_t bytes) {
  const size_t wanted = (static_cast<size_t>(bytes) + kPage - 1) / kPage * kPage;
  if (wanted <= room_) return true;
  if (static_cast<double>(wanted - room_) > 0.9 * static_cast<double>(available_memory_bytes())) return false;
  if (memory_) munmap(memory_, room_);
  void* memory = mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memory_ = memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
  room_ = memory_ ? wanted : 0;
  used_ = 0;
  if (!memory_) return false;
  // In pieces: the kernel holds a lock meanwhile that other threads' allocations need.
  madvise(memory_, room_, MADV_HUGEPAGE);
  for (size_t at = 0; at < room_; at += kHugePage)
    if (!populate_pages(memory_ + at, std::min(kHugePage, room_ - at))) break;
  return true;
}

void Snapshot::take(const NamedTensors& tensors, bool with_checksum) {
  header_ = header_of(tensors);
  size_t bytes = header_.size();
  for (const auto& [name, tensor] : tensors) bytes += isochron::bytes_of(tensor);
  tensors_.clear();
  copied_ = bytes <= room_;
  if (!copied_) {
    tensors_ = tensors;
    return;
  }
  used_ = bytes;
  std::memcpy(memory_, header_.data(), header_.size());
  checksums_ = with_checksum;
  shares_.clear();
  std::byte* to = memory_ + header_.size();
  for (const auto& [name, tensor] : tensors) {
    const auto* from = static_cast<const std::byte*>(tensor.raw_data());
    const size_t all = isochron::bytes_of(tensor);
    tensors_.emplace_back(name, Tensor::from_storage(Storage::wrap(to, all, [] {}), tensor.spec()));
    for (size_t at = 0; at < all; at += kShare) shares_.push_back({to + at, from + at, std::min(kShare, all - at), 0});
    to += all;
  }
  ThreadTeam& team = ThreadTeam::global();
  const int threads = bytes > 4 * kShare ? team.size() : 1;
  team.parallel(threads, [&](int thread, int of) {
    for (size_t i = static_cast<size_t>(thread); i < shares_.size(); i += static_cast<size_t>(of)) {
      Share& share = shares_[i];
      std::memcpy(share.to, share.from, share.bytes);
      if (with_checksum) share.crc32c = crc32c({reinterpret_cast<const char*>(share.to), share.bytes});
    }
  });
}

StateImage Snapshot::image() const {
  if (copied_) {
    StateImage out{{{reinterpret_cast<const char*>(memory_), used_}}};
    if (!checksums_) return out;
    out.crc32c = crc32c(header_);
    for (const Share& share : shares_) out.crc32c = crc32c_joined(*out.crc32c, share.crc32c, share.bytes);
    return out;
  }
  StateImage out{{header_}};
  for (const auto& [name, tensor] : tensors_)
    out.pieces.emplace_back(static_cast<const char*>(tensor.raw_data()), isochron::bytes_of(tensor));
  return out;
}

NamedTensors Snapshot::views(const std::vector<std::pair<std::string, std::string>>& name_and_new_name) const {
  std::unordered_map<std::string, const Tensor*> by_name;
  for (const auto& [name, tensor] : tensors_) by_name[name] = &tensor;
  NamedTensors out;
  for (const auto& [name, new_name] : name_and_new_name) out.emplace_back(new_name, *by_name.at(name));
  return out;
}

}  // namespace isochron
