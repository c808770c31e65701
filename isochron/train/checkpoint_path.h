// Names of what is saved: "ckpt-{epoch:04d}-{val_loss:.2f}", as in Keras. In braces stand epoch (from 1), batch or a
// metric, each with a format if wanted; {{ and }} are braces.
#pragma once

#include <string>
#include <vector>

#include "isochron/nn/model.h"

namespace isochron {

// ValueError for a brace that is not closed, or a format that does not fit.
void check_checkpoint_path(const std::string& filepath);
// Whether it has a place for the batch, which is known only where saves come by steps.
bool names_batch(const std::string& filepath);
// The name of one; ValueError naming what there is for a name that is not there.
std::string checkpoint_path(const std::string& filepath, int epoch, int64_t batch, const Logs& logs);
// What there is on the disk under names of this form, in no order. Numbers stand where they would be filled in: a name
// with words there is another's.
std::vector<std::string> paths_like(const std::string& filepath);

}  // namespace isochron
