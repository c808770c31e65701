// What caches in memory of a pipeline will hold when full, as far as that can be known beforehand.
#pragma once

#include "isochron/data/stage.h"

namespace isochron::data {

int64_t cached_bytes(const Stage& stage);

}  // namespace isochron::data
