#include "isochron/data/files/slabs.h"

#include <sys/mman.h>
#include <unistd.h>

#include "isochron/base/prefault.h"

namespace isochron::data {
namespace {

// What two threads have not filled yet is all that is taken too much.
constexpr size_t kSlab = size_t{4} << 20, kAlignment = 64;

uintptr_t page_bytes() {
  static const auto bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}
uintptr_t address(const Storage& storage, size_t offset) {
  return reinterpret_cast<uintptr_t>(storage.data()) + offset;
}

}  // namespace

void make_present(const Storage& storage) { populate_pages(storage.data(), storage.bytes()); }

Storage Slabs::take(size_t bytes) {
  const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (rounded > kSlab / 4) {  // it would leave much of a block unused
    Storage own = Storage::allocate(bytes);
    make_present(own);
    return own;
  }
  if (!slab_ || used_ + rounded > kSlab) {
    slab_ = Storage::allocate(kSlab);
    used_ = 0;
  }
  Storage slice = Storage::wrap(slab_.data() + used_, bytes, [slab = slab_] {});
  used_ += rounded;
  make_present(slice);
  return slice;
}

Slabs::~Slabs() {
  if (!slab_) return;
  const uintptr_t begin = (address(slab_, used_) + page_bytes() - 1) / page_bytes() * page_bytes();
  const uintptr_t end = address(slab_, kSlab) / page_bytes() * page_bytes();
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace isochron::data
