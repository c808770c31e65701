// Safetensors: named tensors in one file, a JSON header before their bytes.
//
//   write_safetensors("w.safetensors", {{"dense/kernel", kernel}, {"dense/bias", bias}}, {{"format", "pt"}});
//   SafetensorsFile file = read_safetensors("w.safetensors");     // mapped: nothing is read before it is touched
//   const Tensor& kernel = file.at("dense/kernel");
//
// A file is taken only if its header is sound: tensors lie one after the other without gaps or overlaps, sizes are
// those of shape and dtype, names are unique and all bytes are spoken for; FileError says what is wrong otherwise. I8,
// I16 and U16 become int32, U32 becomes int64; dtypes we have no room for (U64, F8) are refused.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "isochron/tensor/tensor.h"

namespace isochron {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

struct SafetensorsFile {
  NamedTensors tensors;  // in the order of their bytes
  std::map<std::string, std::string> metadata;
  // FileError naming what there is when there is none of that name.
  const Tensor& at(const std::string& name) const;
  std::string path;
};

SafetensorsFile read_safetensors(const std::string& path);
// Appears complete or not at all. ValueError for a name that is given twice or is "__metadata__".
void write_safetensors(const std::string& path, const NamedTensors& tensors,
                       const std::map<std::string, std::string>& metadata = {});

// The first bytes of a file of these tensors, length and padding included: their own bytes follow, in the same order.
std::string safetensors_header(const std::vector<std::pair<std::string, TensorSpec>>& tensors,
                               const std::map<std::string, std::string>& metadata = {});

}  // namespace isochron
