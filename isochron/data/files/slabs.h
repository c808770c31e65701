// Memory for arrays that are made one after the other and kept together: slices of large blocks.
//
//   Slabs slabs;
//   Storage rows = slabs.take(520'000);      // 64-byte aligned, present, contents undefined
//
// A block of many megabytes comes in pages of 2 MB, whose first touch costs a fifteenth of that of the small pages that
// an array of its own would get. A block lives as long as any slice of it, so this is for arrays that go together. What
// was never taken of the last block is given back in the end. Not thread-safe: a thread has its own.
#pragma once

#include "isochron/tensor/storage.h"

namespace isochron::data {

class Slabs {
 public:
  Slabs() = default;
  Slabs(const Slabs&) = delete;
  Slabs& operator=(const Slabs&) = delete;
  ~Slabs();
  Storage take(size_t bytes);

 private:
  Storage slab_;
  size_t used_ = 0;
};

// All pages of it at once: that is cheaper than a fault for each.
void make_present(const Storage& storage);

}  // namespace isochron::data
