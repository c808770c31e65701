// NumPy's files: NPY (one array) and NPZ (a ZIP archive of them).
//
//   Tensor x = read_npy("images.npy");                        // mapped: nothing is read before it is touched
//   auto arrays = read_npz("mnist.npz");
//   Tensor train = arrays.at("x_train");
//   write_npy("out.npy", x);   write_npz("out.npz", {{"x", x}, {"y", y}});
//
// Little-endian arrays in C order, in dtypes we have, are used where the file is mapped; the file must not be cut
// shorter meanwhile (mapped_file.h). Fortran order, big-endian numbers and packed archives are converted into memory of
// their own. int8, int16 and uint16 become int32, uint32 becomes int64; NumPy knows no bfloat16 and keeps it as "V2".
// Other dtypes (strings, objects, complex, structured) and headers that do not fit their file throw FileError.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "isochron/tensor/tensor.h"

namespace isochron {

Tensor read_npy(const std::string& path);
void write_npy(const std::string& path, const Tensor& tensor);

// The arrays of an archive in its order, by name without ".npy".
class NpzArrays {
 public:
  // FileError naming the arrays there are when there is none of that name.
  const Tensor& at(const std::string& name) const;
  bool contains(const std::string& name) const;
  size_t size() const { return arrays_.size(); }
  auto begin() const { return arrays_.begin(); }
  auto end() const { return arrays_.end(); }

 private:
  friend NpzArrays read_npz(const std::string& path);
  std::string path_;
  std::vector<std::pair<std::string, Tensor>> arrays_;
};
NpzArrays read_npz(const std::string& path);

struct NpzOptions {
  bool compress = false;  // as numpy.savez_compressed
};
void write_npz(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& arrays,
               const NpzOptions& options = {});

}  // namespace isochron
