#include "isochron/exec/workspace.h"

#include <algorithm>

#include "isochron/base/error.h"
#include "isochron/base/prefault.h"
#include "isochron/timeline/timeline.h"

namespace isochron {
namespace {
std::byte* block = nullptr;
size_t block_bytes = 0;
int64_t uses = 0;

// After so many plans have run in it, the block is likely to stay.
constexpr int64_t kSettled = 12;
}  // namespace

std::byte* workspace(size_t bytes) {
  if (bytes <= block_bytes) {
    if (++uses == kSettled) merge_pages(block, block_bytes);
    return block;
  }
  ScopedSpan span(Phase::allocate, "workspace");
  // Batches whose lengths grow by a little each would give back and fault in all pages every time, and interrupt the
  // other threads for it. A block that would come present stays one that does.
  size_t roomy = block_bytes + block_bytes / 4;
  if (bytes <= kMostPresentBytes) roomy = std::min(roomy, kMostPresentBytes);
  roomy = std::max(roomy, bytes);
  release_workspace();
  for (const size_t wanted : {roomy, bytes}) {
    const size_t rounded = (wanted + 4095) / 4096 * 4096;
    block = static_cast<std::byte*>(map_pages(rounded, true));
    if (!block) continue;
    block_bytes = rounded;
    uses = 0;
    return block;
  }
  fail<MemoryError>("workspace", "no memory for temporaries of {} bytes", bytes);
}

size_t workspace_bytes() { return block_bytes; }

void release_workspace() {
  if (block) unmap_pages(block, block_bytes);
  block = nullptr;
  block_bytes = 0;
}

}  // namespace isochron
