// std::cout << tensor << shape << dtype: as to_string() writes them.
#pragma once

#include <ostream>

#include "isochron/tensor/tensor.h"

namespace isochron {

inline std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << to_string(tensor); }
inline std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << to_string(shape); }
inline std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name_of(dtype); }

}  // namespace isochron
