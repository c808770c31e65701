// Calls of operator new so far, in every thread of a test program that links counting_new.cpp.
#pragma once

#include <cstdint>

namespace isochron {
int64_t heap_allocations();
}
