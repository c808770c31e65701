// The plan that really runs: the user's stages in an order that gives the same elements for less work.
//
// - cast() goes into the batch above or below it: rows are converted while they are copied.
// - Maps that follow each other become one.
// - shuffle, take, skip and shard of indexed elements are calculations already and stay where they are.
#pragma once

#include <string>

#include "isochron/data/stage.h"

namespace isochron::data {

StagePtr optimized(const StagePtr& stage);

// One line a stage, the source last.
std::string plan_text(const Stage& stage);

}  // namespace isochron::data
