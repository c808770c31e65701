// Bytes that are all zero, as Storage::allocate() gives them, but written only where the system has not done so.
#pragma once

#include "isochron/tensor/storage.h"

namespace isochron {

Storage zeroed_storage(size_t bytes);

}  // namespace isochron
