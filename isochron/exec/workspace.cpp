#include "isochron/exec/workspace.h"

#include <cstdlib>

#include "isochron/base/error.h"
#include "isochron/timeline/timeline.h"

namespace isochron {
namespace {
std::byte* block = nullptr;
size_t block_bytes = 0;
}  // namespace

std::byte* workspace(size_t bytes) {
  if (bytes <= block_bytes) return block;
  ScopedSpan span(Phase::allocate, "workspace");
  const size_t rounded = (bytes + 4095) / 4096 * 4096;
  release_workspace();
  block = static_cast<std::byte*>(std::aligned_alloc(4096, rounded));
  if (!block) fail<MemoryError>("workspace", "no memory for temporaries of {} bytes", bytes);
  block_bytes = rounded;
  return block;
}

size_t workspace_bytes() { return block_bytes; }

void release_workspace() {
  std::free(block);
  block = nullptr;
  block_bytes = 0;
}

}  // namespace isochron
