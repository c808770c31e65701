// Elements by number, walked in order: in the consumer's thread, or by threads that run ahead.
#pragma once

#include <memory>

#include "isochron/data/run.h"

namespace isochron::data {

// Walks a stage whose elements have numbers.
std::unique_ptr<Stream> walk(Run& run, const StagePtr& stage);

}  // namespace isochron::data
