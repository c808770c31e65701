// Memory that is present before it is written: another thread touches it while the caller goes on.
//
//   reserve_pages(2'500'000);                // when training is certain to come: compile()
//   void* moments = map_pages(401'408);      // later: out of the reserve, zeroed and, most likely, present
//
// The first touch of a page costs from a tenth of a microsecond to three (in nested virtual machines), which is most of
// what a first step costs beyond the later ones. prefault() never changes contents, so it does no harm when the memory
// is written or given back meanwhile. It is a hint: nothing happens for small blocks, on one CPU, or when too much is
// asked. All of it is thread-safe.
#pragma once

#include <cstddef>

namespace isochron {

void prefault(void* begin, size_t bytes);
// The same at once and in the calling thread, for whole pages around the range; false where the kernel does not.
bool populate_pages(void* begin, size_t bytes);

// Turns memory that will be walked over again and again into pages of 2 MB, where the kernel can and it is not made of
// them already: walks then miss far fewer translations. The other thread does it. A hint like prefault().
void merge_pages(void* begin, size_t bytes);

// The largest block that comes present.
inline constexpr size_t kMostPresentBytes = size_t{64} << 20;

// Zeroed memory in whole pages, to be given back by unmap_pages(); nullptr when there is none. `bytes` is a multiple of
// the page size, 4096. From 2 to 64 MB it comes present and in pages of 2 MB, as long as the system has them at hand;
// what does not is prefaulted when it is wanted `soon`.
void* map_pages(size_t bytes, bool soon = false);
void unmap_pages(void* begin, size_t bytes);
// The next map_pages() that fit into this much together take it from memory that is made present now. A reserve that
// is not used up stays; a new one adds what is missing.
void reserve_pages(size_t bytes);

}  // namespace isochron
