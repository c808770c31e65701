// The stages by name, for dataset.cpp; semantics in dataset.h.
#pragma once

#include "isochron/data/dataset.h"

namespace isochron::data {

StagePtr map_stage(StagePtr input, MapFunction f, std::string code, MapOptions options);
StagePtr shuffle_stage(StagePtr input, int64_t buffer_size, const ShuffleOptions& options);
StagePtr prefetch_stage(StagePtr input, int64_t buffer_size);

}  // namespace isochron::data
