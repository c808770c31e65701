// The one block of temporary memory that all plans share: they run one at a time, so the largest decides.
#pragma once

#include <cstddef>

namespace isochron {

// At least `bytes`, 64-byte aligned; contents undefined. Valid until a larger one is asked for: ask before every run.
// MemoryError naming the size when there is no room.
std::byte* workspace(size_t bytes);
size_t workspace_bytes();
// Gives the block back to the system.
void release_workspace();

}  // namespace isochron
