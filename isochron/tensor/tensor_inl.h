// Templates of tensor.h.
#pragma once

#include <cstring>

namespace isochron {

template <ElementType T>
Tensor Tensor::from_span(std::span<const T> data, const Shape& shape) {
  if (static_cast<int64_t>(data.size()) != shape.elements())
    fail<ShapeError>("tensor", "shape {} has {} elements, got {}", shape, shape.elements(), data.size());
  const TensorSpec spec{dtype_of<T>(), shape};
  Storage bytes = Storage::allocate(static_cast<size_t>(spec.bytes()));
  if (!data.empty()) std::memcpy(bytes.data(), data.data(), data.size_bytes());
  return from_storage(std::move(bytes), spec);
}

template <ElementType T>
Tensor Tensor::from_buffer(std::vector<T> data, const Shape& shape) {
  if (static_cast<int64_t>(data.size()) != shape.elements())
    fail<ShapeError>("tensor", "shape {} has {} elements, got {}", shape, shape.elements(), data.size());
  return from_storage(Storage::wrap(std::move(data)), {dtype_of<T>(), shape});
}

template <class T>
T Tensor::item() const {
  if (elements() != 1) fail<ShapeError>("item", "needs exactly one element, got shape {}", shape());
  return visit_dtype(dtype(),
                     [&]<class From>(Type<From>) { return static_cast<T>(*static_cast<const From*>(raw_data())); });
}

template <class T>
T Tensor::item(std::initializer_list<int64_t> index) const {
  const int rank_here = rank();
  if (static_cast<int>(index.size()) != rank_here)
    fail<IndexError>("item", "needs {} indices for shape {}, got {}", rank_here, shape(), index.size());
  int64_t offset = 0;
  int axis = 0;
  for (int64_t i : index) {
    const int64_t extent = shape()[axis];
    if (i < -extent || i >= extent)
      fail<IndexError>("item", "index must be in [{}, {}) on axis {} of {}, got {}", -extent, extent, axis, shape(), i);
    offset = offset * extent + (i < 0 ? i + extent : i);
    ++axis;
  }
  return visit_dtype(
      dtype(), [&]<class From>(Type<From>) { return static_cast<T>(static_cast<const From*>(raw_data())[offset]); });
}

template <ElementType T>
const T* Tensor::data() const {
  if (dtype() != dtype_of<T>()) fail<DTypeError>("data", "the tensor holds {}, not {}", dtype(), dtype_of<T>());
  return static_cast<const T*>(raw_data());
}

template <class T>
std::vector<T> Tensor::to_vector() const {
  const void* bytes = raw_data();
  std::vector<T> out(static_cast<size_t>(elements()));
  visit_dtype(dtype(), [&]<class From>(Type<From>) {
    const From* from = static_cast<const From*>(bytes);
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>(from[i]);
  });
  return out;
}

}  // namespace isochron
