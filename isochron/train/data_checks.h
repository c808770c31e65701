// What data and options must satisfy before training starts; each rule throws its own error.
#pragma once

#include <map>

#include "isochron/train/training.h"

namespace isochron {

void check_batch_size(const char* what, int64_t batch_size);
void check_fit_options(const FitOptions& options);
// Equal numbers of rows, at least one.
void check_columns(const char* what, const Columns& columns);
// ValueError for a null among them, and for steps below 1.
void check_callbacks(const char* what, const std::vector<std::shared_ptr<Callback>>& callbacks);
void check_steps(const char* what, std::optional<int64_t> steps);
// One weight a row from its class (times the row's own weight, if any).
Tensor class_weights(const char* what, const Columns& columns, const std::map<int64_t, double>& weights);
// Cuts the last `fraction` of the rows off `columns` and returns them.
Columns split_off(const char* what, Columns& columns, double fraction);

}  // namespace isochron
