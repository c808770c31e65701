// In-place changes of variables: when their bytes may be overwritten, and what becomes of those who hold the old ones.
#pragma once

#include "isochron/tensor/tensor.h"

namespace isochron {

// Bytes of the variable that may be overwritten: its own if nobody else can see them, a copy put in their place
// otherwise.
void* writable_bytes(TensorState& variable);
// The variable's bytes were overwritten: values built from the old ones can't be computed any more.
void bytes_overwritten(TensorState& variable);

// Gives a variable the value of a tensor of its spec, at once.
void overwrite(const Variable& variable, const Tensor& value);

}  // namespace isochron
