// Bytes that are not in memory before somebody asks for them: large weights, so that a model can be sized before any of
// it is allocated.
//
//   Storage bytes = deferred_storage(40'000'000'000, fill);    // addresses, and no memory
//   fill_deferred(bytes);                                      // before the first use: fills them, once
//
// Reading a tensor, running a plan and writing to a variable call fill_deferred(); it costs one comparison while
// nothing is deferred. Thread-safe.
#pragma once

#include <functional>

#include "isochron/tensor/storage.h"

namespace isochron {

// Zeroes until then where `fill` is empty. MemoryError when there are not even addresses.
Storage deferred_storage(size_t bytes, std::function<void(std::byte*)> fill);
// What the fill throws it throws, and the next call tries again.
void fill_deferred(const Storage& storage);
// False for bytes that are still to be filled.
bool is_present(const Storage& storage);

// Whether so many bytes more are worth deferring: together with the tensors alive they are too many to be taken before
// it is known that all of a model fits.
bool worth_deferring(size_t bytes);

}  // namespace isochron
