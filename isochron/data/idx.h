// IDX files, the format of MNIST: plain or gzipped, read whole and checked.
//
//   Tensor images = read_idx("train-images-idx3-ubyte.gz");   // uint8 (60000, 28, 28)
#pragma once

#include <string>

#include "isochron/tensor/tensor.h"

namespace isochron::data {

// FileError naming the path and what does not fit: magic number, element type, sizes against the bytes there are.
Tensor read_idx(const std::string& path);

struct Mnist {
  Tensor train_images, train_labels;  // uint8 (60000, 28, 28), (60000)
  Tensor test_images, test_labels;
};
// The four files by their usual names, gzipped or not.
Mnist read_mnist(const std::string& folder);

struct Digits {
  Tensor pixels;  // float32 (1797, 64), 0 … 16
  Tensor labels;  // int64 (1797)
};
// The UCI digits as comma-separated rows of 64 pixels and a label.
Digits read_digits(const std::string& path);

}  // namespace isochron::data
