// A file of weights in the format the end of its name tells: .safetensors, .npz or .weights.h5.
#pragma once

#include "isochron/checkpoint/safetensors.h"

namespace isochron {

enum class WeightsFormat { safetensors, npz, hdf5 };
// ValueError, in the name of `what`, for other endings.
WeightsFormat weights_format(const char* what, const std::string& path, bool hdf5 = true);

bool names_weights_file(const std::string& path);

// Complete or not at all. Names are the file's.
void write_weights_file(const std::string& path, const NamedTensors& weights);
NamedTensors read_weights_file(const std::string& path);

}  // namespace isochron
