// HDF5 as Keras writes weights: groups of datasets, plain arrays of numbers.
//
//   NamedTensors all = read_hdf5("m.weights.h5");          // {"layers/dense/vars/0", kernel}, …
//   write_hdf5("m.weights.h5", {{"layers/dense/vars/0", kernel}});
//
// The part of the format that h5py writes by default: version-0 superblock, symbol-table groups, contiguous or compact
// datasets of integers, floats and booleans. Files of other kinds (libver="latest", chunks, compression, strings) are
// refused with what they hold. Our own reader and not the HDF5 library: a damaged file must give an error and never
// take the process down, and the library with what it loads would cost every start of a program that reads no weights.
#pragma once

#include "isochron/checkpoint/safetensors.h"

namespace isochron {

// Of a dataset, in bytes; longer ones are neither written nor read.
inline constexpr size_t kLongestHdf5Path = 4096;

// All datasets, by path, in the order of their names.
NamedTensors read_hdf5(const std::string& path);
// Appears complete or not at all. bfloat16 is written as float32: HDF5 has no name for it.
void write_hdf5(const std::string& path, const NamedTensors& datasets);

}  // namespace isochron
